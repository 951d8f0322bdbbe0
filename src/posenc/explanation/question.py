"""What is asked of an explanation, and the parts that the answers of all encodings share."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core.encoding import Encoding
from posenc.core.grids import grid
from posenc.explanation.explanation import Entry, Table
from posenc.i18n import Translate


@dataclass(frozen=True)
class Question:
    """Which encoding is explained, for how many tokens, at which position, in which language."""

    encoding: Encoding
    length: int
    position: int
    tokens: tuple[str, ...] | None
    params: Mapping[str, np.ndarray]
    t: Translate

    @property
    def names(self) -> tuple[str, ...]:
        """The label of each token's row: its position, preceded by the token if there is one."""
        if self.tokens is None:
            return tuple(map(str, range(self.length)))
        return tuple(f"{token} {place}" for place, token in enumerate(self.tokens))

    def positions(self, side: int = 2) -> tuple[np.ndarray, tuple[str, ...]]:
        """The positions of a table's rows and their labels: those of the tokens.

        Where a position has several axes, the points of a grid `side` wide along each of them.
        """
        if self.encoding.axes is None:
            return np.arange(self.length), self.names
        points = np.asarray(grid(*([side] * self.encoding.axes)))
        return points, tuple(str(tuple(point.tolist())) for point in points)


def table(columns: Sequence[str], *rows: Sequence[object]) -> Table:
    """A table of plain Python values, made from any kind of numbers."""
    return Table(tuple(columns), tuple(tuple(map(_to_entry, row)) for row in rows))


def number_rows(*columns: Iterable[object], first: int = 0) -> Iterator[tuple[object, ...]]:
    """The rows of a table from its columns, with a number before each."""
    return ((number, *row) for number, row in enumerate(zip(*columns, strict=True), start=first))


def matrix_table(
    corner: str, names: Sequence[str], values: np.ndarray, above: Sequence[str] | None = None
) -> Table:
    """A matrix with a label before each row, and a label or a number above each column."""
    columns = range(values.shape[1]) if above is None else above
    rows = ([name, *row] for name, row in zip(names, values, strict=True))
    return table((corner, *map(str, columns)), *rows)


def example_embeddings(tokens: int, dim: int) -> np.ndarray:
    """Embeddings that are easy to add by hand: 0.1, 0.2, … for the first, 0.2, 0.3, … next.

    >>> example_embeddings(2, 3).tolist()
    [[0.1, 0.2, 0.3], [0.2, 0.3, 0.4]]
    """
    return (1 + np.arange(tokens)[:, None] + np.arange(dim)) / 10


def example_vectors(dim: int) -> tuple[np.ndarray, np.ndarray]:
    """A query and a key, (1, dim) each: for dim 8, those of the tutorials' RoPE."""
    legacy = np.random.RandomState(42)
    return legacy.randn(1, dim), legacy.randn(1, dim)


def join_sentences(*sentences: str) -> str:
    """Sentences one after the other; Chinese and Japanese have no space between them.

    >>> join_sentences("One.", "Two."), join_sentences("一。", "二。")
    ('One. Two.', '一。二。')
    """
    return "".join(each if each.endswith("。") else f"{each} " for each in sentences).rstrip()


def _to_entry(value: Any) -> Entry:
    return value.item() if isinstance(value, np.generic) else value
