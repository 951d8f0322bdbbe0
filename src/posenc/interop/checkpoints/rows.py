"""Which rows of a projection belong to rotated channels, and their order in each pairing."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from posenc.core.rotation import Pairing

Order = Literal["heads", "gated", "blocks", "groups", "codegen"]
"""How the heads of a projection follow each other:

heads    the heads of queries, or of keys
gated    for each head of queries, its channels and then as many of a gate (Qwen3-Next)
blocks   all queries, all keys, all values (Phi-3)
groups   for each head of keys its queries, the key and the value (GPT-NeoX, Falcon, InternLM2)
codegen  four blocks, each with its queries, values and keys
"""


@dataclass(frozen=True)
class Heads:
    """The sizes of one layer's attention.

    queries, keys  numbers of heads
    dim            channels of a head
    rotary_dim     channels of a head that rotate
    trailing       whether they are the last ones
    """

    queries: int
    keys: int
    dim: int
    rotary_dim: int
    trailing: bool = False


@dataclass(frozen=True)
class Rows:
    """The rows of a tensor that rotate: from each of `starts`, `width` rows.

    count  number of all rows
    """

    count: int
    starts: tuple[int, ...]
    width: int

    def index(self, to: Pairing) -> np.ndarray:
        """The old row of each new row.

        >>> Rows(6, (0,), 4).index("interleaved")
        array([0, 2, 1, 3, 4, 5])
        >>> Rows(6, (0,), 4).index("halves")
        array([0, 2, 1, 3, 4, 5])
        >>> Rows(8, (1,), 6).index("interleaved"), Rows(8, (1,), 6).index("halves")
        (array([0, 1, 4, 2, 5, 3, 6, 7]), array([0, 1, 3, 5, 2, 4, 6, 7]))
        """
        index, order = np.arange(self.count), order_of_channels(self.width, to)
        for start in self.starts:
            index[start : start + self.width] = start + order
        return index


def order_of_channels(width: int, to: Pairing) -> np.ndarray:
    """The old channel of each new channel: pairs (i, i + width/2) become (2i, 2i + 1), or back."""
    channels = np.arange(width)
    if to == "interleaved":
        return channels.reshape(2, -1).T.reshape(-1)
    return channels.reshape(-1, 2).T.reshape(-1)


def rows_of(order: Order, heads: Heads, *, role: Literal["q", "k"] = "q") -> Rows:
    """The rows of a projection whose heads are in this order; `role` says of what, if of one.

    >>> rows_of("groups", Heads(queries=4, keys=2, dim=8, rotary_dim=4))
    Rows(count=64, starts=(0, 8, 16, 32, 40, 48), width=4)
    """
    count, places = _place_heads(order, heads, role)
    first = heads.dim - heads.rotary_dim if heads.trailing else 0
    starts = tuple(place * heads.dim + first for place in places)
    return Rows(count * heads.dim, starts, heads.rotary_dim)


def _place_heads(order: Order, heads: Heads, role: str) -> tuple[int, Iterator[int] | range]:
    """The number of blocks of `heads.dim` rows, and which of them are queries or keys."""
    queries, keys = heads.queries, heads.keys
    match order:
        case "heads":
            count = queries if role == "q" else keys
            return count, range(count)
        case "gated":
            return 2 * queries, range(0, 2 * queries, 2)
        case "blocks":
            return queries + 2 * keys, range(queries + keys)
        case "groups":
            group = queries // keys + 2
            return keys * group, (i for i in range(keys * group) if i % group != group - 1)
        case "codegen":
            part = queries // 4
            return 3 * queries, (i for i in range(3 * queries) if i // part % 3 != 1)
