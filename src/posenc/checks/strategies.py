"""Hypothesis strategies for positions and shapes, as our own tests use them. Needs `hypothesis`."""

from typing import TypeAlias

import numpy as np
from hypothesis import strategies as st

from posenc.core.positions import LIMIT
from posenc.core.positions import packed as packed_positions

Arrays: TypeAlias = st.SearchStrategy[np.ndarray]


def positions(*, most: int = LIMIT - 1, fractions: bool = False, size: int = 40) -> Arrays:
    """Arrays (seq,) of positions: near 0, far away, negative, repeated, in any order."""
    whole = st.one_of(st.integers(-8, 8), st.integers(0, 5000), st.integers(-most, most))
    numbers: st.SearchStrategy[float] = whole
    if fractions:
        numbers = st.one_of(whole.map(float), st.floats(-float(most), float(most), width=32))
    return st.lists(numbers, min_size=1, max_size=size).map(np.array)


def sequences(*, most: int = LIMIT - 1, size: int = 40) -> Arrays:
    """Arrays (seq,) as models have them: consecutive from anywhere, packed, padded on the left."""
    lengths = st.integers(1, size)
    packed = st.lists(lengths, min_size=1, max_size=4).map(_pack)
    return st.one_of(
        st.builds(_consecutive, lengths, st.integers(0, most - size)),
        packed,
        st.builds(_pad_left, lengths, st.integers(0, size)),
    )


def shapes(
    *, dims: tuple[int, ...] = (2, 8, 64), heads: int = 4, batch: int = 3
) -> st.SearchStrategy[tuple[int, int, int]]:
    """Shapes (batch, heads, dim) of queries, the sequence left out."""
    return st.tuples(st.integers(1, batch), st.integers(1, heads), st.sampled_from(dims))


def _consecutive(length: int, start: int) -> np.ndarray:
    return np.arange(start, start + length)


def _pack(lengths: list[int]) -> np.ndarray:
    return packed_positions(lengths)


def _pad_left(length: int, padding: int) -> np.ndarray:
    return np.clip(np.arange(length + padding) - padding, 0, None)
