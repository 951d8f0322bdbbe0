"""What is asked of an explanation, and what the answers of all encodings share."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core.mechanisms import Encoding, Params
from posenc.explanation.explanation import Cell, Step, Table
from posenc.i18n import Translate


@dataclass(frozen=True)
class Question:
    """Which encoding is explained, for how many tokens, at which position, in which language."""

    encoding: Encoding
    length: int
    position: int
    tokens: tuple[str, ...] | None
    params: Params
    t: Translate

    @property
    def names(self) -> tuple[str, ...]:
        """What stands before the row of each token: its position, and the token if there is one."""
        if self.tokens is None:
            return tuple(map(str, range(self.length)))
        return tuple(f"{token} {place}" for place, token in enumerate(self.tokens))


def table(columns: Sequence[str], *rows: Sequence[Any]) -> Table:
    """A table of plain Python values, whatever numbers they were."""
    return Table(tuple(columns), tuple(tuple(map(_plain, row)) for row in rows))


def matrix_table(
    corner: str, names: Sequence[str], values: np.ndarray, above: Sequence[str] | None = None
) -> Table:
    """A matrix with a name before each row, and a name or a number above each column."""
    columns = range(values.shape[1]) if above is None else above
    rows = ([name, *row] for name, row in zip(names, values, strict=True))
    return table((corner, *map(str, columns)), *rows)


def example_embeddings(tokens: int, dim: int) -> np.ndarray:
    """Embeddings that can be added in the head: 0.1, 0.2, … for the first, 0.2, 0.3, … next.

    >>> example_embeddings(2, 3).tolist()
    [[0.1, 0.2, 0.3], [0.2, 0.3, 0.4]]
    """
    return (1 + np.arange(tokens)[:, None] + np.arange(dim)) / 10


def example_vectors(dim: int, *, heads: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """A query and a key, (1, dim) or (heads, 1, dim): those of the tutorials' RoPE for dim 8."""
    legacy = np.random.RandomState(42)
    shape = (1, dim) if heads is None else (heads, 1, dim)
    return legacy.randn(*shape), legacy.randn(*shape)


def note(name: str, words: str) -> Step:
    """A step of words alone."""
    return Step(name, words)


def together(*sentences: str) -> str:
    """Sentences one after the other; those of Chinese and Japanese have no space between them.

    >>> together("One.", "Two."), together("一。", "二。")
    ('One. Two.', '一。二。')
    """
    return "".join(each if each.endswith("。") else f"{each} " for each in sentences).rstrip()


def _plain(cell: Any) -> Cell:
    return cell.item() if isinstance(cell, np.generic) else cell
