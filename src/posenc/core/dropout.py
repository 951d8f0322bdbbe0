"""Dropout of attention weights that is a function of a seed and of which pair a weight is for.

Whoever computes a weight finds out by itself whether it is dropped: in one matrix or in blocks, in
a forward pass or once more in a backward pass, in PyTorch or in JAX.
"""

from posenc.core.arrays import Array, Dtype, cast, is_torch, namespace
from posenc.core.attention_inputs import count

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
    state = _mix(cast(xp.reshape(seed, (1,)), word))
    for numbers in (count(batch, like=queries), count(heads, like=queries), queries):
        state = _mix(_lower(state[..., None] + cast(numbers, word)))
    drawn = _mix(_lower(state[0, ..., None] + _mix(cast(keys, word))))
    kept = drawn >= _constant(round(rate * 2**32), drawn)
    return cast(kept, dtype) * (1 / (1 - rate))


def _mix(x: Array) -> Array:
    x = x ^ (x >> 16)
    x = _lower(x * _constant(0x7FEB352D, x))
    x = x ^ (x >> 15)
    x = _lower(x * _constant(0x846CA68B, x))
    return x ^ (x >> 16)


def _constant(number: int, like: Array) -> Array:
    """A number as an array that JAX does not take for a signed one."""
    return number if is_torch(like) else namespace(like=like).asarray(number, dtype=like.dtype)


def _lower(x: Array) -> Array:
    """x modulo 2^32: in 64 bits a product may wrap, but not its lower half."""
    return x & WORD if is_torch(x) else x
