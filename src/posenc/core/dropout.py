"""Dropout of attention weights that is a function of a seed and of which pair a weight is for.

Whoever computes a weight finds out by itself whether it is dropped: in one matrix or in blocks, in
a forward pass or once more in a backward pass, in PyTorch or in JAX.
"""

from types import ModuleType

from posenc.core.arrays import Array, Dtype, cast, is_torch, namespace

WORD = 0xFFFFFFFF


def scale_kept(
    seed: Array, rate: float, *, batch: int, heads: int, queries: Array, keys: Array, dtype: Dtype
) -> Array:
    """0 where a weight is dropped, else 1 / (1 - rate): (batch, heads, q, k) of this dtype.

    seed      a whole number of 32 bits, as an array without axes
    rate      the probability that a weight is dropped, at least 0 and less than 1
    queries   the numbers of the queries in their text, (q,); of the keys, (k,)

    The numbers of the row, the head, the query and the key are mixed into the seed one after the
    other, by the 32-bit integer hash of Wellons (2018), "lowbias32", whose bits are fair coins.

    >>> import numpy as np
    >>> made = scale_kept(np.array(1), 0.25, batch=1, heads=1, queries=np.arange(3),
    ...                   keys=np.arange(4), dtype=np.float64)
    >>> made[0, 0].round(2)
    array([[1.33, 0.  , 1.33, 0.  ],
           [1.33, 1.33, 0.  , 1.33],
           [0.  , 1.33, 0.  , 0.  ]])
    """
    xp = namespace(seed=seed)
    # PyTorch's unsigned numbers cannot be multiplied; JAX has none of 64 bits by default
    word = xp.int64 if is_torch(seed) else xp.uint32
    rows, their_heads = (xp.arange(n, dtype=word, device=queries.device) for n in (batch, heads))
    state = _mix(xp, cast(xp.reshape(seed, (1,)), word))
    for numbers in (rows, their_heads, cast(queries, word)):
        state = _mix(xp, _lower(state[..., None] + numbers))
    drawn = _mix(xp, _lower(state[0, ..., None] + _mix(xp, cast(keys, word))))
    kept = drawn >= xp.asarray(round(rate * 2**32), dtype=word, device=queries.device)
    return cast(kept, dtype) * (1 / (1 - rate))


def _mix(xp: ModuleType, x: Array) -> Array:
    x = x ^ (x >> 16)
    x = _multiply(xp, x, 0x7FEB352D)
    x = x ^ (x >> 15)
    x = _multiply(xp, x, 0x846CA68B)
    return x ^ (x >> 16)


def _multiply(xp: ModuleType, x: Array, factor: int) -> Array:
    """The product modulo 2^32: in 64 bits the product may wrap, but not its lower half."""
    return _lower(x * xp.asarray(factor, dtype=x.dtype, device=x.device))


def _lower(x: Array) -> Array:
    return x & WORD if is_torch(x) else x
