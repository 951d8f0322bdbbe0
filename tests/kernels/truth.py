"""What the operators must compute, in float64 NumPy and from the formula alone."""

import numpy as np
import torch

UNIT = {
    torch.float64: 2.0**-53,
    torch.float32: 2.0**-24,
    torch.float16: 2.0**-11,
    torch.bfloat16: 2.0**-8,
}
TINY = {
    torch.float64: 0.0,
    torch.float32: 2.0**-149,
    torch.float16: 2.0**-25,
    torch.bfloat16: 2.0**-134,
}
"""Half of the smallest step of a dtype, which a result near 0 is rounded by."""


def angles(positions, frequencies, axis=None):
    """The angle of each pair: (…, seq, pair)."""
    p = positions.numpy().astype(np.float64)
    at = p[..., None] if axis is None else p[..., axis.numpy()]
    return at * frequencies.numpy()


def beside(table, x):
    """(batch, seq, pair) with axes for the heads of x."""
    if table.ndim < 3:
        return table
    return table.reshape(table.shape[0], *(1,) * (x.ndim - 3), *table.shape[1:])


def rotate(x, positions, frequencies, axis, scale, halves, start, back):
    """The rotated x in float64, and how far a right result in the dtype of x may be from it.

    Each of the two products has three roundings and a table entry's; an angle below 2^27 is off by
    2^-53 of itself.
    """
    turn = beside(angles(positions, frequencies, axis), x) * (-1 if back else 1)
    c, s = scale * np.cos(turn), scale * np.sin(turn)
    wide = x.double().numpy()
    width = 2 * len(frequencies)
    part = wide[..., start : start + width]
    half = width // 2
    a, b = (part[..., :half], part[..., half:]) if halves else (part[..., 0::2], part[..., 1::2])
    first, second = a * c - b * s, a * s + b * c
    size = scale * (np.abs(a) + np.abs(b)) * np.ones_like(c)
    working = min(UNIT[x.dtype], 2.0**-24)
    off = size * (4 * working + np.abs(turn) * 2.0**-52)
    out, bound = wide.copy(), np.zeros_like(wide)
    for into, (one, other) in ((out, (first, second)), (bound, (off, off))):
        put = into[..., start : start + width]
        if halves:
            put[..., :half], put[..., half:] = one, other
        else:
            put[..., 0::2], put[..., 1::2] = one, other
    return out, bound + rounding(out, bound, x.dtype)


def add_waves(x, positions, frequencies, factor, halves):
    """factor x + e(p) in float64, and its bound."""
    turn = beside(angles(positions, frequencies), x)
    dim = x.shape[-1]
    s, c = np.sin(turn), np.cos(turn)[..., : dim // 2]
    if halves:
        waves, turns = np.concatenate([s, c], axis=-1), np.concatenate([turn, turn], axis=-1)
    else:
        waves = np.empty((*turn.shape[:-1], dim))
        waves[..., 0::2], waves[..., 1::2] = s, c
        turns = np.repeat(turn, 2, axis=-1)
    wide = factor * x.double().numpy()
    out = wide + waves
    working = min(UNIT[x.dtype], 2.0**-24)
    off = (np.abs(wide) + 1) * 4 * working + np.abs(turns[..., :dim]) * 2.0**-52
    return out, off + rounding(out, off, x.dtype)


def rounding(out, bound, dtype):
    """One rounding to a half; what a dtype underflows by."""
    half = UNIT[dtype] if dtype in (torch.float16, torch.bfloat16) else 0.0
    return half * (np.abs(out) + bound) + TINY[dtype]
