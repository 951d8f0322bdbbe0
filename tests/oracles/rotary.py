"""Slow, independent oracles for rotary encodings: frequencies, rotations, temperatures, axes.

Written from the papers' formulas and the reference implementations with numpy and mpmath only,
so that no bug can be shared with the library. Results are mpmath numbers of 50 digits, in lists:
a frequency list holds w_i in radians per position, i = 0 .. dim / 2 - 1, where dim is the number
of rotated channels. Floats are taken at their exact binary value.
"""

from collections.abc import Sequence
from typing import Any

import mpmath
import numpy as np

Number = mpmath.mpf
Positions = Sequence[Sequence[Any]] | np.ndarray

DIGITS = 50


def _exact(value: Any) -> Number:
    """The number as an mpmath number, with no rounding beyond that of its own type."""
    if isinstance(value, mpmath.mpf | int):
        return mpmath.mpf(value)
    if isinstance(value, np.integer):
        return mpmath.mpf(int(value))
    return mpmath.mpf(float(value))


def _pairs(dim: int) -> int:
    if dim < 2 or dim % 2:
        raise ValueError("dim must be even and positive")
    return dim // 2


# Frequencies ----------------------------------------------------------------------------------


def plain(dim: int, base: Any) -> list[Number]:
    """Frequencies of RoPE (Su et al. 2021, 2104.09864): w_i = base^(-2i / dim)."""
    with mpmath.workdps(DIGITS):
        return [mpmath.power(_exact(base), mpmath.mpf(-2 * i) / dim) for i in range(_pairs(dim))]


def interpolation(dim: int, base: Any, factor: Any) -> list[Number]:
    """Position interpolation (Chen et al. 2023, 2306.15595; kaiokendev): w_i / factor."""
    with mpmath.workdps(DIGITS):
        return [omega / _exact(factor) for omega in plain(dim, base)]


def ntk_base(dim: int, base: Any, factor: Any) -> Number:
    """The base of NTK-aware scaling (bloc97 2023): base * factor^(dim / (dim - 2))."""
    with mpmath.workdps(DIGITS):
        return _exact(base) * mpmath.power(_exact(factor), mpmath.mpf(dim) / (dim - 2))


def ntk(dim: int, base: Any, factor: Any) -> list[Number]:
    """NTK-aware scaling (bloc97 2023): plain RoPE on ntk_base.

    The first frequency stays 1, the last is exactly that of interpolation by the same factor.
    """
    return plain(dim, ntk_base(dim, base, factor))


def dynamic_ntk(
    dim: int, base: Any, factor: Any, original_length: int, length: int
) -> list[Number]:
    """Dynamic NTK (emozilla 2023; jquesnelle/yarn, Hugging Face "dynamic").

    NTK-aware scaling by factor * length / original_length - (factor - 1) when length is beyond
    original_length, plain RoPE up to it. length counts positions: the last one plus 1.
    """
    if length <= original_length:
        return plain(dim, base)
    with mpmath.workdps(DIGITS):
        stretch = _exact(factor) * length / original_length - (_exact(factor) - 1)
    return ntk(dim, base, stretch)


def yarn_range(
    dim: int,
    base: Any,
    original_length: Any,
    beta_fast: Any = 32,
    beta_slow: Any = 1,
    truncate: bool = True,
) -> tuple[Number, Number]:
    """First and last pair index of the blended band of YaRN, as the implementations have it.

    The pair that turns r times within original_length has the (fractional) index
    dim * ln(original_length / (2 pi r)) / (2 ln base); low is that of beta_fast rounded down,
    high that of beta_slow rounded up (neither is rounded unless truncate), then low is at least
    0 and high at most dim - 1. That dim - 1 is twice as large as it should be is theirs.
    """
    with mpmath.workdps(DIGITS):

        def index(rotations: Any) -> Number:
            turns = _exact(original_length) / (2 * mpmath.pi * _exact(rotations))
            return dim * mpmath.log(turns) / (2 * mpmath.log(_exact(base)))

        low, high = index(beta_fast), index(beta_slow)
        if truncate:
            low, high = mpmath.floor(low), mpmath.ceil(high)
        return max(low, mpmath.mpf(0)), min(high, mpmath.mpf(dim - 1))


def yarn(
    dim: int,
    base: Any,
    factor: Any,
    original_length: Any,
    beta_fast: Any = 32,
    beta_slow: Any = 1,
    ramp: str = "dim",
    truncate: bool = True,
) -> list[Number]:
    """YaRN frequencies (Peng et al. 2023, 2309.00071): (1 - g) w_i / factor + g w_i.

    rotations (the paper, eq. 17, 18, 20): r = original_length w_i / (2 pi), g is 0 below
    beta_slow, 1 above beta_fast and linear in r between; truncate means nothing here.
    dim (every implementation): g = 1 - clip((i - low) / (high - low), 0, 1), linear in the pair
    index over yarn_range; 0.001 is added to high where the two are equal.
    """
    if ramp not in ("dim", "rotations"):
        raise ValueError(f"unknown ramp: {ramp!r}")
    with mpmath.workdps(DIGITS):
        omegas = plain(dim, base)
        if ramp == "rotations":
            slow, fast = _exact(beta_slow), _exact(beta_fast)
            turns = [_exact(original_length) * omega / (2 * mpmath.pi) for omega in omegas]
            keep = [(r - slow) / (fast - slow) for r in turns]
        else:
            low, high = yarn_range(dim, base, original_length, beta_fast, beta_slow, truncate)
            if low == high:
                high += mpmath.mpf("0.001")
            keep = [1 - (i - low) / (high - low) for i in range(len(omegas))]
        keep = [min(max(g, mpmath.mpf(0)), mpmath.mpf(1)) for g in keep]
        pairs = zip(omegas, keep, strict=True)
        return [(1 - g) * omega / _exact(factor) + g * omega for omega, g in pairs]


def yarn_mscale(factor: Any, weight: Any = 1) -> Number:
    """0.1 * weight * ln(factor) + 1, and 1 for a factor of at most 1: YaRN's sqrt(1 / t).

    The weight is DeepSeek's; the paper (2309.00071, section 3.4) has none.
    """
    with mpmath.workdps(DIGITS):
        if factor <= 1:
            return mpmath.mpf(1)
        return _exact(weight) * mpmath.log(_exact(factor)) / 10 + 1


def yarn_attention_factor(
    factor: Any,
    mscale: Any = None,
    mscale_all_dim: Any = None,
    attention_factor: Any = None,
) -> Number:
    """What Hugging Face multiplies cos and sin by for "yarn" (so the logits by its square).

    In this order: attention_factor as given unless it is None (0 counts as given);
    yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all_dim) if both weights are there
    and neither is 0; else yarn_mscale(factor), so that one weight alone is ignored. For a factor
    of at most 1 the last two are both 1.
    """
    with mpmath.workdps(DIGITS):
        if attention_factor is not None:
            return _exact(attention_factor)
        if mscale and mscale_all_dim:
            return yarn_mscale(factor, mscale) / yarn_mscale(factor, mscale_all_dim)
        return yarn_mscale(factor)


def deepseek_softmax_factor(factor: Any, mscale_all_dim: Any = 0) -> Number:
    """What DeepSeek-V2 and V3 multiply 1 / sqrt(d) by: yarn_mscale(factor, mscale_all_dim)^2.

    This comes on top of the factor of cos and sin. A missing mscale_all_dim is 0, so 1.
    """
    with mpmath.workdps(DIGITS):
        return yarn_mscale(factor, mscale_all_dim or 0) ** 2


def llama3(
    dim: int,
    base: Any,
    factor: Any,
    low_freq_factor: Any,
    high_freq_factor: Any,
    original_length: Any,
) -> list[Number]:
    """Llama 3.1 frequencies (meta-llama/llama-models, apply_scaling).

    With the wavelength l = 2 pi / w: w where l < original_length / high_freq_factor, w / factor
    where l > original_length / low_freq_factor, and between them (1 - g) w / factor + g w,
    g = (original_length / l - low_freq_factor) / (high_freq_factor - low_freq_factor).
    """
    with mpmath.workdps(DIGITS):
        length = _exact(original_length)
        low, high = _exact(low_freq_factor), _exact(high_freq_factor)
        scaled = []
        for omega in plain(dim, base):
            wavelength = 2 * mpmath.pi / omega
            if wavelength < length / high:
                scaled.append(omega)
            elif wavelength > length / low:
                scaled.append(omega / _exact(factor))
            else:
                smooth = (length / wavelength - low) / (high - low)
                scaled.append((1 - smooth) * omega / _exact(factor) + smooth * omega)
        return scaled


def longrope(
    dim: int,
    base: Any,
    short_factor: Sequence[Any],
    long_factor: Sequence[Any],
    original_length: int,
    length: int,
) -> list[Number]:
    """LongRoPE (Ding et al. 2024, 2402.13753) as Phi-3 and Hugging Face have it.

    w_i / lambda_i with lambda the long factors if length is beyond original_length, else the
    short ones. The paper's un-interpolated first tokens are left out, as they are there.
    """
    factors = long_factor if length > original_length else short_factor
    with mpmath.workdps(DIGITS):
        pairs = zip(plain(dim, base), factors, strict=True)
        return [omega / _exact(scale) for omega, scale in pairs]


def longrope_attention_factor(factor: Any, original_length: Any) -> Number:
    """What Phi-3 multiplies cos and sin by: sqrt(1 + ln(factor) / ln(original_length)), or 1.

    factor is the ratio of the lengths, and at most 1 gives 1. Not in the paper; used with the
    short factors as well as with the long ones.
    """
    with mpmath.workdps(DIGITS):
        if factor <= 1:
            return mpmath.mpf(1)
        return mpmath.sqrt(1 + mpmath.log(_exact(factor)) / mpmath.log(_exact(original_length)))


def proportional(dim: int, base: Any, share: float, factor: Any = 1) -> list[Number]:
    """p-RoPE (Barbero et al. 2024, 2410.06205; Hugging Face "proportional").

    The first floor(share * dim / 2) frequencies of plain RoPE on the full dim (over factor),
    then zeros. The product is rounded to a double before the floor, as it is there.
    """
    rotated = int(share * dim // 2)
    with mpmath.workdps(DIGITS):
        omegas = interpolation(dim, base, factor)
        return [omega if i < rotated else mpmath.mpf(0) for i, omega in enumerate(omegas)]


# Rotations ------------------------------------------------------------------------------------


def rotate(
    x: Sequence[Any] | np.ndarray,
    position: Any,
    frequencies: Sequence[Any],
    pairing: str = "interleaved",
    inverse: bool = False,
    attention_factor: Any = 1,
) -> list[Number]:
    """The vector x turned to its position (Su et al. 2021, 2104.09864, eq. 15).

    Pair i is multiplied by [[cos a, -sin a], [sin a, cos a]], a = position * frequencies[i], or
    by its transpose if inverse, and by attention_factor either way. Pair i is channels 2i and
    2i + 1 (interleaved: RoFormer, GPT-J, Meta's Llama) or i and i + dim / 2 (halves: GPT-NeoX,
    Hugging Face's Llama).
    """
    half = len(frequencies)
    if len(x) != 2 * half:
        raise ValueError("x must have two channels for every frequency")
    if pairing == "interleaved":
        channels = [(2 * i, 2 * i + 1) for i in range(half)]
    elif pairing == "halves":
        channels = [(i, i + half) for i in range(half)]
    else:
        raise ValueError(f"unknown pairing: {pairing!r}")
    turned = [mpmath.mpf(0)] * len(x)
    with mpmath.workdps(DIGITS):
        for (first, second), omega in zip(channels, frequencies, strict=True):
            angle = _exact(position) * _exact(omega) * (-1 if inverse else 1)
            cosine = mpmath.cos(angle) * _exact(attention_factor)
            sine = mpmath.sin(angle) * _exact(attention_factor)
            a, b = _exact(x[first]), _exact(x[second])
            turned[first] = cosine * a - sine * b
            turned[second] = sine * a + cosine * b
    return turned


def xpos(
    x: Sequence[Any] | np.ndarray,
    position: Any,
    dim: int,
    base: Any,
    gamma: Any = 0.4,
    scale_base: Any = 512,
    centre: Any = 0,
    sign: int = 1,
    pairing: str = "interleaved",
) -> list[Number]:
    """xPos (Sun et al. 2022, 2212.10554): rotation times a decay, +1 for queries, -1 for keys.

    Pair i of RoPE times zeta_i^(sign * (position - centre) / scale_base),
    zeta_i = (2i / dim + gamma) / (1 + gamma). Only the exponent is centred, not the rotation.
    torchscale's centre is ceil(n / 2) for n keys: -n // 2 is (-n) // 2.
    """
    if sign not in (1, -1):
        raise ValueError("sign must be 1 or -1")
    half = _pairs(dim)
    with mpmath.workdps(DIGITS):
        turned = rotate(x, position, plain(dim, base), pairing)
        exponent = sign * (_exact(position) - _exact(centre)) / _exact(scale_base)
        for i in range(half):
            zeta = (mpmath.mpf(2 * i) / dim + _exact(gamma)) / (1 + _exact(gamma))
            first, second = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + half)
            turned[first] *= zeta**exponent
            turned[second] *= zeta**exponent
    return turned


# Kernels --------------------------------------------------------------------------------------


def mean_cosine(distance: Any, frequencies: Sequence[Any]) -> Number:
    """Mean over the pairs of cos(distance * w_i): R_m x . R_n x / |x|^2 for a flat spectrum x."""
    with mpmath.workdps(DIGITS):
        waves = [mpmath.cos(_exact(distance) * _exact(omega)) for omega in frequencies]
        return mpmath.fsum(waves) / len(waves)


def decay_bound(distance: Any, frequencies: Sequence[Any]) -> Number:
    """The curve of RoFormer's figure 2 (2104.09864, section 3.4.3): mean of |S_j|, j = 1 .. d/2.

    S_j is the sum of exp(1j * distance * w_i) over i = 0 .. j - 1.
    """
    with mpmath.workdps(DIGITS):
        total, lengths = mpmath.mpc(0), []
        for omega in frequencies:
            total += mpmath.expj(_exact(distance) * _exact(omega))
            lengths.append(abs(total))
        return mpmath.fsum(lengths) / len(lengths)


# Temperatures ---------------------------------------------------------------------------------


def llama4(p: int, floor_scale: int = 8192, scale: Any = 0.1) -> Number:
    """Factor of the query at position p in Llama 4's layers without RoPE (llama-models).

    1 + scale * ln(1 + floor((p + 1) / floor_scale)), p counted from 0.
    """
    with mpmath.workdps(DIGITS):
        return 1 + _exact(scale) * mpmath.log(1 + (p + 1) // floor_scale)


def ministral(p: int, beta: Any = 0.1, *, original_length: int) -> Number:
    """Factor of the query at position p in every layer of Ministral 3 and Mistral 4.

    1 + beta * ln(1 + floor(p / original_length)): Llama 4's without the + 1.
    """
    with mpmath.workdps(DIGITS):
        return 1 + _exact(beta) * mpmath.log(1 + p // original_length)


def log_n(p: int, length: Any) -> Number:
    """Su's factor of the query at position p: max(1, ln(p + 1) / ln(length)) (bojone/rerope)."""
    with mpmath.workdps(DIGITS):
        return max(mpmath.mpf(1), mpmath.log(p + 1) / mpmath.log(_exact(length)))


def ssmax(n: Any, s: Any) -> Number:
    """Factor of the logits over n keys: s ln n (Nakanishi 2025, 2501.19399).

    softmax(s ln n z)_i is n^(s z_i) / sum_j n^(s z_j). With a causal mask n is p + 1.
    """
    with mpmath.workdps(DIGITS):
        return _exact(s) * mpmath.log(_exact(n))


# Several axes ---------------------------------------------------------------------------------


def _angles(
    positions: Positions, axes: Sequence[int], frequencies: Sequence[Any]
) -> list[list[Number]]:
    """(n, pairs) table: coordinate axes[i] of each position times frequencies[i]."""
    with mpmath.workdps(DIGITS):
        pairs = list(zip(axes, frequencies, strict=True))
        return [[_exact(p[axis]) * _exact(omega) for axis, omega in pairs] for p in positions]


def axial(
    positions: Positions,
    pairs_per_axis: Sequence[int],
    frequencies: Sequence[Sequence[Any]],
    order: Sequence[int],
) -> list[list[Number]]:
    """Angles of an axial RoPE, (n, pairs): block a of the pairs follows axis order[a].

    positions is (n, axes). Axis x owns pairs_per_axis[x] pairs, whose frequencies are
    frequencies[x]; the blocks are laid side by side. RoPE-ViT (Heo et al. 2024, 2403.13298) and
    SAM 2 put x first, EVA-02, Pixtral, Qwen2-VL and DINOv3 put y first.
    """
    if [len(omegas) for omegas in frequencies] != list(pairs_per_axis):
        raise ValueError("pairs_per_axis and frequencies do not fit together")
    if sorted(order) != list(range(len(frequencies))):
        raise ValueError("order must name every axis once")
    axes = [axis for axis in order for _ in frequencies[axis]]
    return _angles(positions, axes, [omega for axis in order for omega in frequencies[axis]])


def mrope_axes_chunked(sections: Sequence[int]) -> list[int]:
    """Axis (0 time, 1 height, 2 width) of each pair in Qwen2-VL: sections[i] pairs for axis i % 3.

    The split(sections * 2) over the full head in older code is this, once for each half.
    """
    return [chunk % 3 for chunk, size in enumerate(sections) for _ in range(size)]


def mrope_axes_interleaved(sections: Sequence[int]) -> list[int]:
    """Axis of each pair in Qwen3-VL: height at 1, 4, 7, .. and width at 2, 5, 8, .., else time.

    Height stops before 3 * sections[1] and width before 3 * sections[2]; sections[0] counts only
    through the sum, so (16, 24, 24) would not give 24 pairs to height and width.
    """
    pairs = range(sum(sections))
    return [i % 3 if i % 3 and i < 3 * sections[i % 3] else 0 for i in pairs]


def mrope_chunked(positions: Positions, sections: Sequence[int], base: Any) -> list[list[Number]]:
    """Angles of M-RoPE (Qwen2-VL, Wang et al. 2024, 2409.12191), (n, sum(sections)).

    positions is (n, 3): time, height, width. Pair i of the dim = 2 sum(sections) channels has
    angle positions[axis_i] * base^(-2i / dim): the frequency goes on falling across the axes.
    """
    return _angles(positions, mrope_axes_chunked(sections), plain(2 * sum(sections), base))


def mrope_interleaved(
    positions: Positions, sections: Sequence[int], base: Any
) -> list[list[Number]]:
    """Angles of interleaved M-RoPE (Qwen3-VL; Huang et al. 2025, 2510.23095).

    As mrope_chunked, with the axes dealt out in turn so that each has high and low frequencies.
    """
    return _angles(positions, mrope_axes_interleaved(sections), plain(2 * sum(sections), base))
