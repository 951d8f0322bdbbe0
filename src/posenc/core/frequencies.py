"""Frequencies, in radians per position: float64 on the host, correctly rounded.

A rounding error in a frequency grows with the position, so these are computed with 40 digits and
rounded once: at position 2^24 that leaves an angle within 1e-9.
"""

import math
from decimal import Decimal, localcontext

import numpy as np

from posenc.core import rules
from posenc.i18n import translatable


def geometric(dim: int, /, *, base: float = 10_000.0) -> np.ndarray:
    """Frequencies of Vaswani et al. (2017): w_i = base^(-2i/dim), i = 0 .. ceil(dim/2) - 1.

    dim    channels, at least 1
    base   at least 1; the larger, the longer the wavelengths

    >>> geometric(4)
    array([1.  , 0.01])
    """
    dim = rules.dim("dim", dim)
    return _powers(base, Decimal(-2) / dim, count=(dim + 1) // 2)


def geometric_to_base(dim: int, /, *, base: float = 10_000.0) -> np.ndarray:
    """Frequencies of tensor2tensor and fairseq: from 1 to 1/base inclusive, w_i = base^(-i/(n-1)).

    There are n = ceil(dim/2) frequencies; the last one in the paper is base^(-(dim-2)/dim) instead.

    dim    channels, at least 1
    base   at least 1; the larger, the longer the wavelengths

    >>> geometric_to_base(4)
    array([1.e+00, 1.e-04])
    """
    dim = rules.dim("dim", dim)
    count = (dim + 1) // 2
    return _powers(base, Decimal(-1) / max(count - 1, 1), count=count)


def _powers(base: float, exponent: Decimal, *, count: int) -> np.ndarray:
    """base^(exponent * i) for i = 0 .. count - 1, each rounded once."""
    base = rules.real("base", base, least=1)
    with localcontext() as context:
        context.prec = 40
        ratio = Decimal(base) ** exponent
        return np.array([float(ratio**i) for i in range(count)])


def interpolate(w: np.ndarray, /, *, factor: float) -> np.ndarray:
    """Position interpolation: w_i / factor, as if every position were divided by `factor`.

    Chen et al. (2023), "Extending Context Window of Large Language Models via Position
    Interpolation"; Hugging Face calls it linear.
    """
    return w / float(factor)


def ntk(dim: int, /, *, base: float, factor: float) -> np.ndarray:
    """NTK-aware: base * factor^(dim/(dim-2)), so that the slowest wave is stretched by factor.

    The fastest wave keeps its length. bloc97 (2023).

    >>> (ntk(8, base=10_000.0, factor=2.0) / geometric(8)).round(4)
    array([1.    , 0.7937, 0.63  , 0.5   ])
    """
    return geometric(dim, base=ntk_base(dim, base=base, factor=factor))


def ntk_base(dim: int, /, *, base: float, factor: float) -> float:
    """The base of NTK: base * factor^(dim/(dim-2)).

    >>> round(ntk_base(128, base=10_000.0, factor=2.0), 2)
    20221.26
    """
    if rules.dim("dim", dim) < 4:
        raise translatable(
            ValueError,
            "NTK needs two pairs to spread its factor over, dim >= 4; got dim={dim}",
            dim=dim,
        )
    return base * float(factor) ** (dim / (dim - 2))


def by_parts(w: np.ndarray, keep: np.ndarray, /, *, factor: float) -> np.ndarray:
    """Between w_i / factor (keep 0) and w_i (keep 1): theta' = (1 - gamma) theta / s + gamma theta.

    Peng et al. (2023), "YaRN", eq. 20.
    """
    return (1 - keep) * w / float(factor) + keep * w


def ramp_over_rotations(
    w: np.ndarray, /, *, original_length: float, slow: float, fast: float
) -> np.ndarray:
    """The blend for `by_parts`: 0 up to `slow` turns in the original length, 1 from `fast` on.

    gamma(r) = (r - slow) / (fast - slow) for r = L w / 2 pi turns: "YaRN", eq. 18, and Llama 3.

    >>> ramp_over_rotations(geometric(8), original_length=4096, slow=1.0, fast=32.0).round(3)
    array([1.   , 1.   , 0.178, 0.   ])
    """
    turns = original_length * w / (2 * np.pi)
    if slow == fast:  # Llama 4 Scout: a step
        return np.where(turns > fast, 1.0, 0.0)
    return np.clip((turns - slow) / (fast - slow), 0, 1)


def ramp_over_dims(
    dim: int,
    /,
    *,
    base: float,
    original_length: float,
    slow: float,
    fast: float,
    truncate: bool,
) -> np.ndarray:
    """The blend for `by_parts` in all implementations of YaRN: linear in the index of the pair.

    The pair that makes r turns in the original length has index dim ln(L / 2 pi r) / (2 ln base).
    Between the indices for `fast` and `slow`, rounded outwards with `truncate`, gamma falls from 1
    to 0.

    >>> ramp_over_dims(
    ...     8, base=10_000.0, original_length=4096, slow=1.0, fast=32.0, truncate=True
    ... ).round(3)
    array([1. , 1. , 0.5, 0. ])
    """

    def index(turns: float) -> float:
        return dim * math.log(original_length / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = index(fast), index(slow)
    if truncate:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)  # not dim / 2 - 1: as published
    width = high - low if high != low else 0.001
    return 1 - np.clip((np.arange(dim // 2) - low) / width, 0, 1)


def proportional(dim: int, /, *, base: float, share: float) -> np.ndarray:
    """p-RoPE: the fastest `share` of the pairs keep their frequency, the others have 0.

    Barbero et al. (2024), "Round and Round We Go! What makes Rotary Positional Encodings useful?".
    The exponents are those of the whole dim, unlike in a partial rotation.

    >>> proportional(8, base=10_000.0, share=0.5)
    array([1. , 0.1, 0. , 0. ])
    """
    w = geometric(dim, base=base)
    return np.where(np.arange(len(w)) < math.floor(share * dim / 2), w, 0.0)


def wavelengths(frequencies: np.ndarray) -> np.ndarray:
    """Positions per turn, 2 pi / |w|; infinite where nothing turns.

    >>> wavelengths(np.array([1.0, 0.0])).round(2)
    array([6.28,  inf])
    """
    w = np.abs(frequencies)
    return np.divide(2 * np.pi, w, out=np.full(w.shape, np.inf), where=w != 0)
