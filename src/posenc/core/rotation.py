"""Rotations: exact cosines and sines at any position, and the rotation of pairs of channels.

`position * frequency` in float32 is off by 0.9 radians at 2^24. Here angles are computed in
float64, with errors below 2e-9. Without float64 (JAX by default) a rotation is the product of two
entries of tables built in float64, p = hi * 4096 + lo, which is as accurate as float32 allows.
"""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from posenc.core import rules
from posenc.core.arrays import (
    Array,
    Dtype,
    cast,
    has_float64,
    host,
    is_floating,
    is_integer,
    is_plain_tensor,
    is_torch,
    namespace,
    send,
    working,
)
from posenc.core.positions import LIMIT, exact

Pairing = Literal["interleaved", "halves"]
Rotated = Literal["leading", "trailing"]

BLOCK = 4096
"""Rows of each of the two tables; BLOCK * BLOCK = LIMIT."""


@dataclass(frozen=True, eq=False)
class Waves:
    """Angles in proportion to positions: pair i is turned by p[axis_i] w_i and scaled.

    frequencies   w_i in radians per position, (pair,), float64
    axis          the axis of positions that each pair follows, (pair,), int64; None: positions are
                  plain numbers
    scale         factor on cosines and sines
    """

    frequencies: np.ndarray
    axis: np.ndarray | None = None
    scale: float = 1.0

    def cos_sin(self, positions: Array, *, dtype: Dtype) -> tuple[Array, Array]:
        """scale cos and scale sin of each angle: two arrays (…, pair).

        positions   (…), or (…, axis) if pairs follow axes; |p| < 2^24
        dtype       floating dtype of the result
        """
        if self.axis is None:
            return cos_sin(positions, self.frequencies, dtype=dtype, scale=self.scale)
        parts = [
            cos_sin(
                positions[..., axis],
                self.frequencies[self.axis == axis],
                dtype=dtype,
                scale=self.scale,
            )
            for axis in range(positions.shape[-1])
        ]
        xp = namespace(positions=positions)
        in_order = np.argsort(np.argsort(self.axis, kind="stable"), kind="stable")
        order = send(in_order, positions)
        cos, sin = (
            xp.take(xp.concat([part[i] for part in parts], axis=-1), order, axis=-1) for i in (0, 1)
        )
        return cos, sin


def cos_sin(
    positions: Array, frequencies: np.ndarray, *, dtype: Dtype, scale: float = 1.0
) -> tuple[Array, Array]:
    """scale cos(p w_i) and scale sin(p w_i): two arrays (…, pair).

    positions     (…), whole or fractional, |p| < 2^24
    frequencies   w_i in radians per position, (pair,), float64
    dtype         floating dtype of the result
    scale         factor on both

    >>> cos, sin = cos_sin(np.array([0, 16_777_215]), np.array([1.0]), dtype=np.float32)
    >>> cos.tolist(), sin.tolist()
    ([[1.0], [-0.31757646799087524]], [[0.0], [-0.9482326507568359]])
    """
    xp = namespace(positions=exact(positions))
    if has_float64(positions):
        angles = _invalidate_far(xp.astype(positions, xp.float64))[..., None] * send(
            frequencies, positions
        )
        cos, sin = xp.cos(angles), xp.sin(angles)
        if scale != 1:
            cos, sin = scale * cos, scale * sin
        return _round(cos, dtype), _round(sin, dtype)
    values = host(positions)
    if values is not None:
        cos, sin = cos_sin(values, frequencies, dtype=np.float64, scale=scale)
        return tuple(_round(send(part, positions, dtype=xp.float32), dtype) for part in (cos, sin))
    cos, sin = _from_tables(positions, frequencies, scale)
    return _round(cos, dtype), _round(sin, dtype)


def _invalidate_far(positions: Array) -> Array:
    """Positions that the host could not check: past the limit they become NaN, never a guess."""
    if host(positions) is not None:
        return positions
    xp = namespace(positions=positions)
    return xp.where(xp.abs(positions) < LIMIT, positions, xp.nan)


def _round(values: Array, dtype: Dtype) -> Array:
    """Round to `dtype`, to a half by way of float32: halves are the rounded float32 values."""
    return cast(cast(values, working(namespace(values=values), dtype)), dtype)


def _from_tables(positions: Array, frequencies: np.ndarray, scale: float) -> tuple[Array, Array]:
    """Angle addition over the coarse and the fine table; a fraction is a third, small rotation."""
    xp = namespace(positions=positions)
    whole = positions if is_integer(positions) else xp.round(positions)
    if whole.dtype == xp.uint32:  # beyond int32 it would come back as a negative number
        whole = xp.where(whole < LIMIT, whole, LIMIT)
    index = xp.abs(xp.astype(whole, xp.int32))
    index = xp.where((index >= 0) & (index < LIMIT), index, LIMIT)  # past the end: NaN, no wrap
    coarse, fine = (send(table, positions) for table in _tables(frequencies.tobytes()))
    coarse, fine = _rows(coarse, index // BLOCK), _rows(fine, index % BLOCK)
    main = _product(coarse[0], fine[0])
    rest = _sum(_product(coarse[1], _sum(*fine)), _product(coarse[0], fine[1]))
    sign = xp.where(whole < 0, -1.0, 1.0)[..., None]
    main, rest = (main[0], sign * main[1]), (rest[0], sign * rest[1])
    if not is_integer(positions):
        small = (positions - whole)[..., None] * send(frequencies, positions, dtype=xp.float32)
        turn = xp.cos(small), xp.sin(small)
        main, rest = _product(main, turn), _product(rest, turn)
    if scale != 1:  # what float32 leaves of the scale goes with the small rest
        high = float(np.float32(scale))
        rest = _sum(_times(high, rest), _times(scale - high, main))
        main = _times(high, main)
    return _sum(main, rest)


@lru_cache(maxsize=8)
def _tables(frequencies: bytes) -> tuple[np.ndarray, np.ndarray]:
    """The coarse and the fine table, each float32 (head or tail, cos or sin, BLOCK, pair)."""
    angles = np.arange(BLOCK)[:, None] * np.frombuffer(frequencies)
    return _split(BLOCK * angles), _split(angles)


def _split(angles: np.ndarray) -> np.ndarray:
    """Heads of 12 bits, whose products and their sums float32 holds without rounding; and tails."""
    values = np.stack([np.cos(angles), np.sin(angles)])
    heads = np.trunc(values * 2**12) / 2**12
    return np.stack([heads, values - heads]).astype(np.float32)


def _rows(table: Array, index: Array) -> list[tuple[Array, Array]]:
    """The rows `index` (…) of a table: heads of cos and sin (…, pair), then their tails."""
    xp = namespace(table=table)
    flat, shape = xp.reshape(index, (-1,)), (*index.shape, table.shape[-1])
    parts = [xp.reshape(xp.take(table[i, j], flat, axis=0), shape) for i in (0, 1) for j in (0, 1)]
    return [(parts[0], parts[1]), (parts[2], parts[3])]


def _product(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    """cos(a + b), sin(a + b) of two rotations."""
    (cos_a, sin_a), (cos_b, sin_b) = a, b
    return cos_a * cos_b - sin_a * sin_b, sin_a * cos_b + cos_a * sin_b


def _times(factor: float, a: tuple[Array, Array]) -> tuple[Array, Array]:
    return factor * a[0], factor * a[1]


def _sum(a: tuple[Array, Array], b: tuple[Array, Array]) -> tuple[Array, Array]:
    return a[0] + b[0], a[1] + b[1]


RUN = 256
"""Block size for consecutive positions: each block is the first one rotated by its offset."""


def sin_cos(positions: Array, frequencies: np.ndarray, *, dtype: Dtype) -> Array:
    """sin(p w_i) and cos(p w_i) side by side: (…, pair, 2).

    positions     (…), whole or fractional, |p| < 2^24
    frequencies   w_i in radians per position, (pair,), float64
    dtype         floating dtype of the result

    Dense whole positions that the host can read (a sequence, documents, a batch) are looked up in
    one table built by angle addition in float64, which takes one complex multiplication per entry
    instead of a sine and a cosine.

    >>> sin_cos(np.array([0, 1]), np.array([1.0]), dtype=np.float64).round(4).tolist()
    [[[0.0, 1.0]], [[0.8415, 0.5403]]]
    """
    xp = namespace(positions=positions)
    values = host(exact(positions))
    if values is None or values.dtype.kind not in "iu" or values.size < 4 * RUN:
        cos, sin = cos_sin(positions, frequencies, dtype=dtype)
        return xp.stack([sin, cos], axis=-1)
    first, last = int(values.min()), int(values.max())
    if last - first >= values.size:
        cos, sin = cos_sin(positions, frequencies, dtype=dtype)
        return xp.stack([sin, cos], axis=-1)
    kind = np.float64 if dtype == xp.float64 else np.float32
    span = np.arange(first, last + 1)
    rows = _sin_cos_run(span, frequencies, dtype=kind)
    if not np.array_equal(values, span):
        rows = rows[values.astype(np.int64) - first]
    return cast(send(rows, positions), dtype)


def _sin_cos_run(run: np.ndarray, frequencies: np.ndarray, *, dtype: type) -> np.ndarray:
    """Phasors sin + i cos = i e^(-i p w): one block, rotated to the start of each block."""
    pairs = np.empty((len(run), len(frequencies), 2), dtype=dtype)
    phasors = pairs.view(np.result_type(dtype, np.complex64))[..., 0]
    angles = run[::RUN, None] * frequencies
    turns = np.cos(angles) - 1j * np.sin(angles)
    angles = np.arange(RUN)[:, None] * frequencies
    within = np.sin(angles) + 1j * np.cos(angles)
    workers = min(os.cpu_count() or 1, 8)

    def fill(worker: int) -> None:
        for block in range(worker, len(turns), workers):
            out = phasors[block * RUN : (block + 1) * RUN]
            np.multiply(turns[block], within[: len(out)], out=out, casting="same_kind")

    with ThreadPoolExecutor(workers) as pool:  # NumPy releases the GIL here
        list(pool.map(fill, range(workers)))
    return pairs


def rotate(
    x: Array,
    cos: Array,
    sin: Array,
    /,
    *,
    pairing: Pairing = "interleaved",
    rotated: Rotated | None = None,
    inverse: bool = False,
) -> Array:
    """Rotate each pair of channels of x: (a, b) -> (a cos - b sin, a sin + b cos).

    x          (…, dim), floating; 16-bit channels are rotated in float32 and rounded once
    cos, sin   of the angles, (…, pair), broadcasting over the leading axes of x
    pairing    "interleaved", channels 2i and 2i + 1, or "halves", i and i + pairs (see `RoPE`)
    rotated    None: all channels, dim = 2 pairs; "leading" or "trailing": only those 2 pairs
    inverse    rotate back

    >>> rotate(np.array([1.0, 0.0]), np.array([0.0]), np.array([1.0]))
    array([0., 1.])
    """
    rules.one_of("pairing", pairing, ("interleaved", "halves"))
    rules.flag("inverse", inverse)
    if rotated is not None:
        rules.one_of("rotated", rotated, ("leading", "trailing"))
    xp = namespace(x=x, cos=cos, sin=sin)
    if not is_floating(xp, x.dtype):
        raise TypeError(f"x must have a real floating dtype; got {x.dtype}")
    if is_plain_tensor(x) or not is_torch(x):  # under torch.compile, shapes are symbolic
        _broadcast(x, cos, sin)
    return rotate_pairs(x, cos, sin, pairing=pairing, rotated=rotated, inverse=inverse)


def rotate_pairs(
    x: Array, cos: Array, sin: Array, *, pairing: Pairing, rotated: Rotated | None, inverse: bool
) -> Array:
    """`rotate` for validated arguments."""
    width = 2 * cos.shape[-1]
    if x.shape[-1] != width and (rotated is None or x.shape[-1] < width):
        least = "" if rotated is None else "at least "
        raise ValueError(
            f"x must have {least}{width} channels, two for each angle; got {x.shape[-1]}"
        )
    wide = working(namespace(x=x), x.dtype)
    cos, sin = cast(cos, wide), cast(-sin if inverse else sin, wide)
    if is_plain_tensor(x, cos, sin) and not (cos.requires_grad or sin.requires_grad):
        from posenc.core.rotation_torch import turn

        return turn(x, cos, sin, pairing=pairing, trailing=rotated == "trailing")
    return _turn(x, cos, sin, pairing=pairing, trailing=rotated == "trailing")


def unscale(cos: Array, sin: Array) -> tuple[Array, Array]:
    """cos / r^2 and sin / r^2 with r^2 = cos^2 + sin^2, for the inverse of a rotation scaled by r.

    Only numbers near 1 are squared, so that nothing overflows or underflows float32.

    >>> cos, sin = unscale(np.array([3e-35], np.float32), np.array([4e-35], np.float32))
    >>> cos * np.float32(1e-34), sin * np.float32(1e-34)
    (array([1.2], dtype=float32), array([1.6], dtype=float32))
    """
    xp = namespace(cos=cos, sin=sin)
    larger = xp.where(abs(cos) > abs(sin), abs(cos), abs(sin))
    inverse = 1 / larger  # not two quotients: XLA rewrites x / a / a as x / (a * a)
    c, s = cos * inverse, sin * inverse
    square = c * c + s * s
    return c / square * inverse, s / square * inverse


def _broadcast(x: Array, cos: Array, sin: Array) -> None:
    """Raise an error unless cos and sin are (…, pair) and broadcast over the leading axes of x."""
    shapes = [tuple(array.shape) for array in (x, cos, sin)]
    fits = all(shapes) and shapes[1] == shapes[2]
    try:
        fits = fits and np.broadcast_shapes(shapes[0][:-1], shapes[1][:-1]) == shapes[0][:-1]
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            "cos and sin must be (…, pair) with leading axes that x (…, dim) has; "
            f"got shapes {shapes[1]}, {shapes[2]} and {shapes[0]}"
        )


def _turn(x: Array, cos: Array, sin: Array, *, pairing: Pairing, trailing: bool) -> Array:
    """The reference for `rotate`; rotation_torch does the same with less memory."""
    xp, pairs = namespace(x=x), cos.shape[-1]
    start = x.shape[-1] - 2 * pairs if trailing else 0
    part = cast(x[..., start : start + 2 * pairs], cos.dtype)
    if pairing == "interleaved":
        a, b = part[..., 0::2], part[..., 1::2]
        turned = xp.stack([a * cos - b * sin, a * sin + b * cos], axis=-1)
        turned = xp.reshape(turned, (*turned.shape[:-2], 2 * pairs))
    else:
        a, b = part[..., :pairs], part[..., pairs:]
        turned = xp.concat([a * cos - b * sin, a * sin + b * cos], axis=-1)
    turned = cast(turned, x.dtype)
    if x.shape[-1] == 2 * pairs:
        return turned
    kept = x[..., :start] if trailing else x[..., 2 * pairs :]
    return xp.concat([kept, turned] if trailing else [turned, kept], axis=-1)
