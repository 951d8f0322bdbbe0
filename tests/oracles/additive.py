"""Slow, independent oracles for the encodings that are added to the embeddings.

Written from the papers' formulas with math, numpy and mpmath only, so that no bug can be shared
with the library. Results are float64 arrays.
"""

import math
from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

DIGITS = 50


def _exact(value: Any) -> mpmath.mpf:
    """The number as an mpmath number, with no rounding beyond that of its own type."""
    if isinstance(value, mpmath.mpf | int):
        return mpmath.mpf(value)
    return mpmath.mpf(float(value))


# Sinusoids ------------------------------------------------------------------------------------


def frequencies(dim: int, *, base: float, spacing: str) -> list[mpmath.mpf]:
    """Angular frequency of each of the ceil(dim / 2) sine-cosine pairs, to 50 digits.

    paper (Vaswani et al. 2017, 1706.03762): w_i = base^(-2i / dim).
    t2t (tensor2tensor): w_i = base^(-i / max(pairs - 1, 1)), so that the last is 1 / base.
    """
    pairs = (dim + 1) // 2
    with mpmath.workdps(DIGITS):
        if spacing == "paper":
            exponents = [mpmath.mpf(-2 * i) / dim for i in range(pairs)]
        elif spacing == "t2t":
            exponents = [mpmath.mpf(-i) / max(pairs - 1, 1) for i in range(pairs)]
        else:
            raise ValueError(f"unknown spacing: {spacing!r}")
        return [mpmath.power(_exact(base), exponent) for exponent in exponents]


def sinusoidal(
    positions: Sequence[Any] | npt.NDArray[Any],
    dim: int,
    *,
    base: float = 10000.0,
    layout: str = "interleaved",
    spacing: str = "paper",
) -> Array:
    """Sines and cosines of position times frequency, shape (n, dim).

    interleaved (Vaswani et al. 2017, 1706.03762): sin(p w_i) at 2i, cos(p w_i) at 2i + 1.
    concat (tensor2tensor, fairseq): every sine, then every cosine.
    With an odd dim the last sine has no cosine.
    """
    if layout not in ("interleaved", "concat"):
        raise ValueError(f"unknown layout: {layout!r}")
    omegas = frequencies(dim, base=base, spacing=spacing)
    table = np.empty((len(positions), dim))
    with mpmath.workdps(DIGITS):
        for row, position in enumerate(positions):
            angles = [_exact(position) * omega for omega in omegas]
            sines = [float(mpmath.sin(angle)) for angle in angles]
            cosines = [float(mpmath.cos(angle)) for angle in angles[: dim // 2]]
            if layout == "interleaved":
                table[row, 0::2] = sines
                table[row, 1::2] = cosines
            else:
                table[row] = sines + cosines
    return table


def mae_2d(height: int, width: int, dim: int) -> Array:
    """2-D sin-cos table of MAE (He et al. 2021, 2111.06377), shape (height * width, dim).

    Patches run row by row. The first dim / 2 channels encode the COLUMN, the last dim / 2 the
    row; each half is [sin(p w_k) | cos(p w_k)], w_k = 10000^(-k / (dim / 4)), p = 0, 1, 2, ...
    """
    if dim % 4:
        raise ValueError("dim must be a multiple of 4")
    rows = sinusoidal(range(height), dim // 2, layout="concat")
    columns = sinusoidal(range(width), dim // 2, layout="concat")
    return np.array([[*columns[x], *rows[y]] for y in range(height) for x in range(width)])


def detr_2d(height: int, width: int, dim: int, *, temperature: float = 10000.0) -> Array:
    """Normalised 2-D sine table of DETR (Carion et al. 2020, 2005.12872), no padded pixels.

    Shape (height * width, dim), row by row. The first dim / 2 channels encode y, the last
    dim / 2 encode x. Pixel k = 1..size of an axis has angle 2 pi k / (size + 1e-6), times
    temperature^(-2i / (dim / 2)); sine and cosine alternate.
    """
    if dim % 4:
        raise ValueError("dim must be a multiple of 4")

    def axis(size: int) -> Array:
        with mpmath.workdps(DIGITS):
            last = size + mpmath.mpf("1e-6")
            angles = [2 * mpmath.pi * k / last for k in range(1, size + 1)]
        return sinusoidal(angles, dim // 2, base=temperature)

    ys, xs = axis(height), axis(width)
    return np.array([[*ys[y], *xs[x]] for y in range(height) for x in range(width)])


# Fourier features -----------------------------------------------------------------------------


def gaussian_fourier(
    coordinates: Array, matrix: Array, *, order: str = "cos-sin", centred: bool
) -> Array:
    """Fourier features of the projected coordinates, shape (n, dim).

    coordinates is (n, axes), matrix is (axes, dim / 2); u = c @ matrix, or (2c - 1) @ matrix if
    centred, and the features are [cos 2 pi u | sin 2 pi u] ("cos-sin") or the halves swapped.
    Tancik et al. 2020 (2006.10739) write cos-sin, not centred; Segment Anything
    (PositionEmbeddingRandom, coordinates x, y in [0, 1]) uses sin-cos, centred.
    """
    if order not in ("cos-sin", "sin-cos"):
        raise ValueError(f"unknown order: {order!r}")
    axes, half = matrix.shape
    table = np.empty((len(coordinates), 2 * half))
    with mpmath.workdps(DIGITS):
        for row, point in enumerate(coordinates):
            values = [_exact(c) for c in point]
            if centred:
                values = [2 * c - 1 for c in values]
            for j in range(half):
                turns = sum(values[a] * _exact(matrix[a, j]) for a in range(axes))
                cosine, sine = float(mpmath.cospi(2 * turns)), float(mpmath.sinpi(2 * turns))
                first, second = (cosine, sine) if order == "cos-sin" else (sine, cosine)
                table[row, j], table[row, half + j] = first, second
    return table


def _gelu(x: float, form: str) -> float:
    """x Phi(x), exactly (erf) or by the tanh approximation (Hendrycks & Gimpel, 1606.08415)."""
    if form == "erf":
        return 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))
    if form == "tanh":
        return 0.5 * x * (1.0 + math.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x**3)))
    raise ValueError(f"unknown gelu: {form!r}")


def learnable_fourier(
    coordinates: Array,
    w_r: Array,
    w_1: Array,
    b_1: Array,
    w_2: Array,
    b_2: Array,
    *,
    gelu: str = "erf",
) -> Array:
    """Learnable Fourier features and their MLP (Li et al. 2021, 2106.02795, one group).

    F = [cos(x W_r^T) | sin(x W_r^T)] / sqrt(features), with no 2 pi; PE = GELU(F W_1 + b_1) W_2
    + b_2. Shapes as in the paper: w_r (features / 2, axes), w_1 (features, hidden),
    w_2 (hidden, dim), so the weights of torch.nn.Linear have to be transposed for w_1 and w_2.
    """
    features, hidden = w_1.shape
    if 2 * len(w_r) != features or len(w_2) != hidden:
        raise ValueError("the shapes of the weights do not fit together")
    table = np.empty((len(coordinates), w_2.shape[1]))
    for row, point in enumerate(coordinates):
        angles = [math.fsum(w * c for w, c in zip(line, point, strict=True)) for line in w_r]
        waves = [math.cos(a) for a in angles] + [math.sin(a) for a in angles]
        scaled = np.array(waves) / math.sqrt(features)
        activated = np.array([_gelu(float(x), gelu) for x in scaled @ w_1 + b_1])
        table[row] = activated @ w_2 + b_2
    return table


# Resizing of a learned table ------------------------------------------------------------------


def _clamp(index: int, size: int) -> int:
    return min(max(index, 0), size - 1)


def _linear_weights(old: int, new: int) -> Array:
    """(new, old) matrix of linear resampling: half-pixel centres, edge values repeated."""
    weights = np.zeros((new, old))
    for i in range(new):
        source = (i + 0.5) * old / new - 0.5
        left = math.floor(source)
        weights[i, _clamp(left, old)] += 1.0 - (source - left)
        weights[i, _clamp(left + 1, old)] += source - left
    return weights


def _cubic(x: float, a: float) -> float:
    """Cubic convolution kernel of Keys (1981) with slope a at 1."""
    x = abs(x)
    if x < 1.0:
        return (a + 2.0) * x**3 - (a + 3.0) * x**2 + 1.0
    if x < 2.0:
        return a * (x**3 - 5.0 * x**2 + 8.0 * x - 4.0)
    return 0.0


def _bicubic_weights(old: int, new: int, *, antialias: bool) -> Array:
    """(new, old) matrix of cubic resampling along one axis, half-pixel centres.

    Plain: kernel a = -0.75, four taps, taps outside the table read its edge.
    Antialiased: kernel a = -0.5 widened by old / new when that shrinks the table, taps outside
    are dropped and the rest are divided by their sum.
    """
    weights = np.zeros((new, old))
    for i in range(new):
        source = (i + 0.5) * old / new - 0.5
        if antialias:
            stretch = max(old / new, 1.0)
            for j in range(old):
                weights[i, j] = _cubic((j - source) / stretch, -0.5)
            weights[i] /= weights[i].sum()
        else:
            left = math.floor(source)
            for j in range(left - 1, left + 3):
                weights[i, _clamp(j, old)] += _cubic(j - source, -0.75)
    return weights


def resize_1d(table: Array, new: int) -> Array:
    """Linear resize of an (old, dim) table to (new, dim).

    Same as torch F.interpolate(mode="linear", align_corners=False): row i is read at
    (i + 1/2) old / new - 1/2, and what lies outside the table takes the value of its edge.
    """
    return _linear_weights(len(table), new) @ table


def resize_2d(
    table: Array, old: tuple[int, int], new: tuple[int, int], *, antialias: bool
) -> Array:
    """Bicubic resize of a row-by-row (h * w, dim) table to (H * W, dim).

    Same as torch F.interpolate(mode="bicubic", align_corners=False) with that antialias flag.
    MAE and DeiT resize without antialiasing, timm with it.
    """
    dim = table.shape[1]
    grid = table.reshape(*old, dim)
    vertical = _bicubic_weights(old[0], new[0], antialias=antialias)
    horizontal = _bicubic_weights(old[1], new[1], antialias=antialias)
    return np.einsum("Yy,Xx,yxd->YXd", vertical, horizontal, grid).reshape(-1, dim)


# Augmented positions --------------------------------------------------------------------------


def cape(
    positions: Sequence[float] | Array,
    *,
    global_shift: float,
    local_shifts: Sequence[float] | Array,
    log_scale: float,
    normalise: bool = True,
) -> Array:
    """Positions of CAPE (Likhomanenko et al. 2021, 2106.03143) for given random draws.

    p' = (p - mean(p) + global_shift + local_shift_p) * exp(log_scale); the mean is left out
    unless normalise. At test time only the mean is subtracted, so all the draws are 0.
    """
    mean = math.fsum(positions) / len(positions) if normalise else 0.0
    scale = math.exp(log_scale)
    pairs = zip(positions, local_shifts, strict=True)
    return np.array([(p - mean + global_shift + local) * scale for p, local in pairs])
