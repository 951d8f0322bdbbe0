"""Positions of tokens: consecutive, packed, padded, on a grid, drawn at random; and distances.

A position is a number (whole, fractional or negative) or, on a grid, one number per axis.
Positions are always an argument; nothing in posenc assumes that a sequence starts at 0.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from posenc.core import rules
from posenc.core.arrays import (
    Array,
    ArrayT,
    Positions,
    cast,
    clip,
    default_float,
    host,
    is_array,
    is_half,
    is_integer,
    library,
    namespace,
    send,
    whole_dtype,
    working,
)
from posenc.core.hints import hinted

LIMIT = 2**24
"""Positions are exact below this distance from 0: 16,777,216."""


@hinted("consecutive")
def consecutive(length: int, *, start: int = 0, like: ArrayT | None = None) -> ArrayT:
    """The positions start, start + 1, …, start + length - 1: (length,).

    length   number of positions, 0 .. 2^24
    start    the first position, such as the number of cached tokens
    like     an array whose library and device the result has; None: NumPy

    >>> consecutive(4, start=7)
    array([ 7,  8,  9, 10])
    """
    length = rules.whole("length", length, least=0, most=LIMIT)
    start = rules.whole("start", start, least=-LIMIT, most=LIMIT)
    return as_like(np.arange(start, start + length, dtype=np.int64), like)


@hinted("packed")
def packed(lengths: Sequence[int], *, like: ArrayT | None = None) -> ArrayT:
    """Positions of documents packed into one row, each starting again at 0: (sum of lengths,).

    lengths   tokens of each document, in order
    like      an array whose library and device the result has; None: NumPy

    >>> packed([3, 1, 2])
    array([0, 1, 2, 0, 0, 1])
    """
    if isinstance(lengths, str | bytes) or not isinstance(lengths, Iterable):
        raise TypeError(f"lengths must be whole numbers, one for each document; got {lengths!r}")
    sizes = [rules.whole("each of lengths", length, least=0, most=LIMIT) for length in lengths]
    if sum(sizes) > LIMIT:
        raise ValueError(f"lengths must add up to at most {LIMIT:,}; got {sum(sizes):,}")
    return as_like(np.concatenate([consecutive(size) for size in (0, *sizes)]), like)


@hinted("documents")
def documents(lengths: Sequence[int], *, like: ArrayT | None = None) -> ArrayT:
    """The index of each token's document in a packed row, to mask attention between documents.

    lengths   tokens of each document, in order; the result is (sum of lengths,)
    like      an array whose library and device the result has; None: NumPy

    >>> documents([3, 1, 2])
    array([0, 0, 0, 1, 2, 2])
    """
    packed(lengths)  # validates them
    sizes = np.array([int(length) for length in lengths], dtype=np.int64)
    return as_like(np.repeat(np.arange(len(sizes)), sizes), like)


@hinted("left_padded")
def left_padded(mask: ArrayT, /) -> ArrayT:
    """Positions of rows that are padded on the left: (batch, seq).

    mask   the attention mask, (batch, seq): true or nonzero at tokens, 0 at padding

    The first token of a row is at 0. So is its padding, which the mask hides.

    >>> left_padded(np.array([[0, 0, 1, 1], [1, 1, 1, 1]]))
    array([[0, 0, 0, 1],
           [0, 1, 2, 3]])
    """
    xp = namespace(mask=mask)
    if mask.ndim != 2:
        raise ValueError(f"mask must be (batch, seq); got shape {tuple(mask.shape)}")
    real = xp.astype(xp.astype(mask, xp.bool), whole_dtype(xp))
    return xp.clip(xp.cumulative_sum(real, axis=1) - 1, min=0)


def as_arrays(
    q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], *, like: ArrayT | None = None
) -> tuple[ArrayT, ArrayT]:
    """Positions of queries and keys as arrays of one library.

    q_pos, k_pos   arrays, or lists and ranges to be converted
    like           an array whose library lists are converted to; None: that of the other argument,
                   or NumPy

    >>> as_arrays([0, 1], np.array([2]))
    (array([0, 1]), array([2]))
    """
    first = next((array for array in (like, q_pos, k_pos) if is_array(array)), None)
    queries = q_pos if is_array(q_pos) else convert_list(q_pos, first, name="q_pos")
    keys = k_pos if is_array(k_pos) else convert_list(k_pos, first, name="k_pos")
    namespace(q_pos=queries, k_pos=keys)
    return queries, keys


@hinted("distances")
def distances(
    q_pos: Positions[ArrayT], k_pos: Positions[ArrayT], /, *, like: ArrayT | None = None
) -> ArrayT:
    """How far each key lies behind each query, q_pos - k_pos: (…, q, k).

    q_pos   positions of queries, (q,) or (batch, q)
    k_pos   positions of keys, (k,) or (batch, k); a single row broadcasts over the batch of q_pos,
            and the other way round
    like    an array whose library lists are converted to; None: NumPy, or that of the other

    >>> distances([2, 3], [0, 1, 2, 3])
    array([[ 2,  1,  0, -1],
           [ 3,  2,  1,  0]])
    """
    q_pos, k_pos = as_arrays(q_pos, k_pos, like=like)
    for name, positions in (("q_pos", q_pos), ("k_pos", k_pos)):
        check_numbers(name, positions)
        if positions.ndim < 1:
            raise ValueError(f"{name} must be (…, seq); got a single number")
    shared_rows(q_pos, k_pos)
    return _difference(q_pos[..., :, None], k_pos[..., None, :])


def shared_rows(q_pos: Array, k_pos: Array, *, axes: int | None = None) -> tuple[int, ...]:
    """The broadcast batch shape of two arrays of positions; raise an error if there is none.

    >>> shared_rows(np.zeros((1, 5)), np.zeros((2, 3)))
    (2,)
    """
    seq = -1 if axes is None else -2
    rows, others = tuple(q_pos.shape[:seq]), tuple(k_pos.shape[:seq])
    if not rows or not others:
        return rows or others
    if len(rows) != len(others) or any(
        a != b and 1 not in (a, b) for a, b in zip(rows, others, strict=False)
    ):
        raise ValueError(
            "q_pos and k_pos must have the same batch size; "
            f"got shapes {tuple(q_pos.shape)} and {tuple(k_pos.shape)}"
        )
    return tuple(b if a == 1 else a for a, b in zip(rows, others, strict=True))


@hinted("randomised")
def randomised(
    length: int, *, limit: int, rng: "np.random.Generator", like: ArrayT | None = None
) -> ArrayT:
    """Distinct random positions in ascending order, for training on all distances: (length,).

    Ruoss et al. (2023), "Randomized Positional Encodings": a sorted sample without replacement.

    length   number of positions, at most `limit`
    limit    positions are drawn from 0 .. limit - 1; the longest text to expect, at most 2^24
    rng      draws the sample
    like     an array whose library and device the result has; None: NumPy

    >>> randomised(4, limit=2048, rng=np.random.default_rng(0))
    array([ 552, 1046, 1303, 1739])
    """
    length = rules.whole("length", length, least=0, most=LIMIT)
    limit = rules.whole("limit", limit, least=1, most=LIMIT)
    rules.generator("rng", rng)
    if length > limit:
        raise ValueError(f"length must be at most limit; got length={length}, limit={limit}")
    return as_like(np.sort(rng.choice(limit, size=length, replace=False)), like)


@hinted("cape")
def cape(
    positions: Positions[ArrayT],
    /,
    *,
    rng: "np.random.Generator",
    global_shift: float = 0.0,
    local_shift: float = 0.0,
    scale: float = 1.0,
    centre: bool = True,
    axes: int | None = None,
) -> ArrayT:
    """Continuous augmented positions for training: p <- (p - mean + Delta + epsilon_p) * lambda.

    Likhomanenko et al. (2021), "CAPE". The defaults only centre, as at test time.

    positions      (seq,) or (batch, seq); with `axes`, (seq, axis) or (batch, seq, axis)
    rng            draws Delta, epsilon and lambda
    global_shift   Delta ~ U(-global_shift, global_shift), one for each row and axis
    local_shift    epsilon_p ~ U(-local_shift, local_shift), one for each token and axis
    scale          log lambda ~ U(-log scale, log scale), one for each row; at least 1
    centre         subtract the mean of each row first; False: p <- (p + Delta + epsilon_p) * lambda
    axes           numbers in a position; None: positions are plain numbers

    >>> cape(np.arange(3), rng=np.random.default_rng(0))
    array([-1.,  0.,  1.])
    """
    global_shift = rules.real("global_shift", global_shift, least=0, most=LIMIT)
    local_shift = rules.real("local_shift", local_shift, least=0, most=LIMIT)
    scale = rules.real("scale", scale, least=1, most=LIMIT)
    rules.flag("centre", centre)
    rules.generator("rng", rng)
    positions = as_positions(positions, axes=axes)
    xp = namespace(positions=positions)
    shape, seq = tuple(positions.shape), -1 if axes is None else -2
    row = (*shape[:seq], 1, *shape[seq:][1:])
    shift = rng.uniform(-global_shift, global_shift, row)
    shift = shift + rng.uniform(-local_shift, local_shift, shape)
    stretch = np.exp(rng.uniform(-np.log(scale), np.log(scale), (*shape[:seq], *[1] * -seq)))
    dtype = working(xp, default_float(positions)) if is_integer(positions) else positions.dtype
    moved = xp.astype(positions, dtype)
    if centre and shape[seq]:
        moved = moved - xp.mean(moved, axis=seq, keepdims=True)
    return (moved + send(shift, positions, dtype=dtype)) * send(stretch, positions, dtype=dtype)


def as_positions(
    positions: Positions[ArrayT], *, axes: int | None = None, like: ArrayT | None = None
) -> ArrayT:
    """Positions as an array of the right rank and dtype; raise an error if they cannot be that.

    positions   (seq,) or (batch, seq); with `axes`, (seq, axis) or (batch, seq, axis)
    axes        numbers in a position; None: positions are plain numbers
    like        an array whose library a list or range is converted to; None: NumPy
    """
    given = is_array(positions)
    array = positions if given else convert_list(positions, like)
    check_numbers("positions", array)
    shape, wanted = tuple(array.shape), "(seq,) or (batch, seq)"
    right = array.ndim in (1, 2)
    if axes is not None:
        wanted = f"(seq, {axes}) or (batch, seq, {axes})"
        right = array.ndim in (2, 3) and shape[-1] == axes
    if not right:
        raise ValueError(f"positions must be {wanted}; got shape {shape}")
    if given:  # a list was checked as it was converted
        finite(array)
    return array


def finite(positions: Array, *, name: str = "positions") -> None:
    """Raise an error if positions are not finite (where the host can read them)."""
    values = host(positions)
    if values is not None and values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        wrong = _first(name, values, ~np.isfinite(values))
        raise ValueError(f"{name} must be finite; got {wrong}")


def check_numbers(name: str, positions: Array) -> None:
    """Raise an error unless positions are whole numbers, float32 or float64."""
    if isinstance(positions, np.ndarray) and positions.dtype.kind in "iu":
        return
    half, xp = is_half(positions.dtype), namespace(**{name: positions})
    try:
        right = xp.isdtype(positions.dtype, ("integral", "real floating"))
    except TypeError:  # dtypes that NumPy cannot classify: text, objects, ml_dtypes
        right = False
    if half or not right:
        why = " (16 bits cannot tell neighbours apart: bfloat16 has 769 values below 4,096)"
        raise TypeError(
            f"{name} must be whole numbers, float32 or float64; "
            f"got {positions.dtype} of {library(positions)}{why if half else ''}"
        )


def exact(positions: Array, *, name: str = "positions") -> Array:
    """Return positions; raise an error unless |p| < LIMIT (where the host can read them)."""
    values = host(positions)
    if values is not None and values.size and not _within(values):
        outside = ~(np.abs(values.astype(np.float64)) < LIMIT)
        raise ValueError(
            f"{name} must lie between -{LIMIT:,} and {LIMIT:,}, where they are exact; "
            f"got {_first(name, values, outside)}"
        )
    return positions


def _within(values: np.ndarray) -> bool:
    return bool(values.max() < LIMIT and values.min() > -LIMIT)


def _first(name: str, values: np.ndarray, wrong: np.ndarray) -> str:
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    place = f"[{', '.join(map(str, index))}]" if index else ""
    return f"{name}{place}={values[index]}"


def convert_list(
    positions: Positions[Array] | float, like: Array | None, *, name: str = "positions"
) -> Array:
    """A number, a list or a range as an array of the library of `like`."""
    try:
        values = np.asarray(positions)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name} must be numbers; got {positions!r}") from error
    if values.size == 0 and values.dtype == np.float64:
        values = values.astype(np.int64)
    if values.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be numbers; got {positions!r}")
    finite(values, name=name)
    return as_like(exact(values, name=name), like)


def as_like(values: np.ndarray, like: Array | None) -> Array:
    """Host values as an array of the library of `like`, of its own integers and floats."""
    if like is None:
        return values
    xp = namespace(like=like)
    if xp.__name__ != "jax.numpy":
        return send(values, like)
    # JAX warns when it narrows a dtype, so convert to its own integers and floats beforehand.
    dtype = whole_dtype(xp) if values.dtype.kind in "iu" else default_float(like)
    return send(values, like, dtype=dtype)


def _difference(q: Array, k: Array) -> Array:
    """q - k, in wide signed integers: small and unsigned ones would wrap."""
    if not (is_integer(q) and is_integer(k)):
        return _widen(q) - _widen(k)
    xp = namespace(q=q, k=k)
    difference = _widen(q) - _widen(k)
    narrow = (xp.int8, xp.int16, xp.uint8, xp.uint16)
    if whole_dtype(xp) != xp.int32 or (q.dtype in narrow and k.dtype in narrow):
        return difference
    # JAX's widest integers have 32 bits and wrap too: larger differences are computed in float32
    # and clipped to the largest float below 2^31
    rounded = cast(q, xp.float32) - cast(k, xp.float32)
    far = cast(clip(rounded, least=128.0 - 2**31, most=2**31 - 128.0), xp.int32)
    return xp.where(abs(rounded) < 2**30, difference, far)


def _widen(positions: Array) -> Array:
    if not is_integer(positions):
        return positions
    return cast(positions, whole_dtype(namespace(positions=positions)))
