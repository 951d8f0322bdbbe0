"""Texts that are shared out to several devices: which positions each of them has."""

import numpy as np

from posenc.core import rules
from posenc.core.arrays import ArrayT
from posenc.core.hints import hinted
from posenc.core.positions import LIMIT, as_like

MOST_RANKS = 2**16


@hinted("sharded")
def sharded(
    length: int, *, rank: int, world: int, zigzag: bool = True, like: ArrayT | None = None
) -> ArrayT:
    """The positions of a text that one rank of a context-parallel group has: (length / world,).

    They are the indices of its tokens too: positions that do not simply count (packed, padded, 3-D)
    are shared out by `positions[…, sharded(…)]`.

    length   tokens of the whole text, a multiple of 2 world if zigzag, else of world
    rank     whose positions, 0 .. world - 1
    world    number of ranks
    zigzag   of 2 world chunks, rank r has number r and number 2 world - 1 - r, so that all have the
             same work in causal attention (Llama 3, ring attention); False: one chunk each
    like     an array whose library and device the result has; None: NumPy

    >>> [sharded(8, rank=r, world=2).tolist() for r in (0, 1)]
    [[0, 1, 6, 7], [2, 3, 4, 5]]
    >>> sharded(8, rank=1, world=2, zigzag=False)
    array([4, 5, 6, 7])
    """
    length = rules.whole("length", length, least=0, most=LIMIT)
    world = rules.whole("world", world, least=1, most=MOST_RANKS)
    rank = rules.whole("rank", rank, least=0, most=world - 1)
    rules.flag("zigzag", zigzag)
    chunks = 2 * world if zigzag else world
    if length % chunks:
        parts = "2 * world" if zigzag else "world"
        padded = length + -length % chunks
        raise ValueError(
            f"length must be a multiple of {parts} = {chunks}, so that all ranks have as many "
            f"tokens; got length={length}, which padding makes {padded}"
        )
    mine = [rank, chunks - 1 - rank] if zigzag else [rank]
    text = np.arange(length, dtype=np.int64).reshape(chunks, length // chunks)
    return as_like(text[mine].reshape(-1), like)
