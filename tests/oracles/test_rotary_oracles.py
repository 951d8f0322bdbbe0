"""Pins the oracles of rotary.py to facts that do not come from them."""

import math
from itertools import product
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest

from .rotary import (
    axial,
    decay_bound,
    deepseek_softmax_factor,
    dynamic_ntk,
    interpolation,
    llama3,
    llama4,
    log_n,
    longrope,
    longrope_attention_factor,
    mean_cosine,
    ministral,
    mrope_axes_chunked,
    mrope_axes_interleaved,
    mrope_chunked,
    mrope_interleaved,
    ntk,
    ntk_base,
    plain,
    proportional,
    rotate,
    ssmax,
    xpos,
    yarn,
    yarn_attention_factor,
    yarn_mscale,
    yarn_range,
)

sin, cos, pi, ln = math.sin, math.cos, math.pi, math.log

EXACT = mpmath.mpf(10) ** -45
LLAMA2 = (128, 1e4, 16, 4096)
GPT_OSS = (64, 150000, 32, 4096)
DEEPSEEK = (64, 1e4, 40, 4096)
LLAMA31 = (128, 5e5, 8, 1, 4, 8192)


def numbers(values):
    return np.asarray(values, dtype=np.float64)


def close(actual, expected, tolerance=1e-14):
    np.testing.assert_allclose(numbers(actual), numbers(expected), rtol=0, atol=tolerance)


def near(actual, expected, rtol=1e-14):
    np.testing.assert_allclose(numbers(actual), numbers(expected), rtol=rtol, atol=0)


def same(actual, expected):
    """Equal to 45 digits."""
    with mpmath.workdps(50):
        assert len(actual) == len(expected)
        assert max(abs(a - b) for a, b in zip(actual, expected, strict=True)) < EXACT


def ratios(actual, expected):
    with mpmath.workdps(50):
        return [float(a / b) for a, b in zip(actual, expected, strict=True)]


def dot(a, b):
    with mpmath.workdps(50):
        return mpmath.fsum(x * y for x, y in zip(a, b, strict=True))


@pytest.fixture
def q(rng):
    return rng.standard_normal(16)


@pytest.fixture
def k():
    return np.random.default_rng(1).standard_normal(16)


# Frequencies ----------------------------------------------------------------------------------


def test_plain_powers_of_the_base():
    with mpmath.workdps(50):
        same(plain(8, 10000), [1, mpmath.mpf("0.1"), mpmath.mpf("0.01"), mpmath.mpf("0.001")])
    near(plain(4, 25.0), [1, 0.2])


def test_frequencies_have_fifty_digits():
    # 10^(-1/2) to 45 places, from its square.
    with mpmath.workdps(50):
        assert abs(plain(4, 10)[1] ** 2 * 10 - 1) < EXACT


@pytest.mark.parametrize("dim", [0, 3, -2])
def test_dim_must_be_even(dim):
    with pytest.raises(ValueError, match="dim must be even"):
        plain(dim, 10000)


def test_interpolation_divides_positions(q):
    same(
        rotate(q, 24, interpolation(16, 10000, 8)),
        rotate(q, 3, plain(16, 10000)),
    )


def test_ntk_bases_golden():
    close(ntk_base(128, 10000, 2), 20221.26, 5e-3)
    close(ntk_base(128, 10000, 4), 40889.94, 5e-3)


@pytest.mark.parametrize("factor", [2, 4, 32.5])
@pytest.mark.parametrize("dim", [4, 64, 128])
def test_ntk_keeps_the_first_and_interpolates_the_last(dim, factor):
    stretched, plainly = ntk(dim, 10000, factor), plain(dim, 10000)
    same(stretched[:1], [1])
    same(stretched[-1:], interpolation(dim, 10000, factor)[-1:])
    middle = ratios(stretched, plainly)
    assert middle == sorted(middle, reverse=True)


def test_dynamic_ntk_golden():
    # Factor 2 at twice the length is NTK by 3, not by 2; factor 1 is NTK by the plain ratio.
    near(1 / dynamic_ntk(128, 10000, 2, 2048, 4096)[1] ** 64, 30527.7, 2e-6)
    same(dynamic_ntk(128, 10000, 2, 2048, 4096), ntk(128, 10000, 3))
    same(dynamic_ntk(128, 10000, 1, 2048, 5120), ntk(128, 10000, 2.5))
    same(dynamic_ntk(128, 10000, 4, 2048, 2049), ntk(128, 10000, 1 + 4 / 2048))


@pytest.mark.parametrize("length", [1, 2047, 2048])
def test_dynamic_ntk_starts_beyond_the_length(length):
    assert dynamic_ntk(128, 10000, 2, 2048, length) == plain(128, 10000)


def test_yarn_range_golden():
    assert yarn_range(128, 1e4, 4096) == (20, 46)
    assert yarn_range(64, 150000, 4096) == (8, 18)
    close(yarn_range(64, 150000, 4096, truncate=False), [8.093, 17.398], 5e-4)


def test_yarn_range_is_where_the_turns_are():
    low, high = yarn_range(128, 1e4, 4096, truncate=False)
    for index, turns in ((low, 32), (high, 1)):
        near(4096 * 1e4 ** (-2 * float(index) / 128) / (2 * pi), turns, 1e-13)


def test_yarn_range_is_clamped():
    # 4 / (2 pi) < 1 turn: both indices are negative, and only the lower is lifted to 0.
    low, high = yarn_range(8, 10000, 4)
    assert (low, high < 0) == (0, False)
    assert yarn_range(8, 10000, 4, truncate=False)[1] < 0
    # More than 32 turns in every pair: only the upper is lowered, to dim - 1 and not dim / 2 - 1.
    assert yarn_range(8, 10, 10**6) == (14, 7)


@pytest.mark.parametrize("truncate", [True, False])
@pytest.mark.parametrize("setting", [LLAMA2, GPT_OSS, DEEPSEEK])
def test_yarn_bands(setting, truncate):
    dim, base, factor, length = setting
    low, high = yarn_range(dim, base, length, truncate=truncate)
    share = ratios(yarn(*setting, truncate=truncate), plain(dim, base))
    for i, ratio in enumerate(share):
        if i <= low:
            assert ratio == 1
        elif i >= high:
            near(ratio, 1 / factor)
        else:
            slope = (i - float(low)) / (float(high) - float(low))
            near(ratio, 1 - slope * (1 - 1 / factor), 1e-13)


def test_yarn_middle_golden():
    # (20, 46): pair 33 is half way, pair 21 one step of 26.
    share = ratios(yarn(*LLAMA2), plain(128, 1e4))
    near(share[33], (1 + 1 / 16) / 2)
    near(share[21], 1 - 15 / 16 / 26)


def test_yarn_equal_bounds_make_a_steep_ramp():
    # One turn is at pair 1.9995 for both betas; the ramp from there takes 0.001, so pair 2 is
    # half way.
    length = 2 * pi * 10**1.9995
    low, high = yarn_range(8, 10000, length, 1, 1, truncate=False)
    assert low == high
    share = ratios(yarn(8, 10000, 4, length, 1, 1, truncate=False), plain(8, 10000))
    near(share, [1, 1, 0.625, 0.25], 1e-11)


def test_yarn_ramp_of_the_paper():
    # r = L w / (2 pi); g = (r - 1) / 31 for 1 < r < 32.
    dim, base, factor, length = LLAMA2
    omegas = [float(w) for w in plain(dim, base)]
    expected = []
    for omega in omegas:
        turns = length * omega / (2 * pi)
        share = 0 if turns < 1 else 1 if turns > 32 else (turns - 1) / 31
        expected.append((1 - share) * omega / factor + share * omega)
    near(yarn(*LLAMA2, ramp="rotations"), expected, 1e-13)
    assert yarn(*LLAMA2, ramp="rotations", truncate=False) == yarn(*LLAMA2, ramp="rotations")


@pytest.mark.parametrize(
    ("setting", "truncate", "index", "ratio"),
    [
        (LLAMA2, True, 38, 3.04),
        (GPT_OSS, True, 16, 4.28),
        (GPT_OSS, False, 15, 3.68),
        (DEEPSEEK, True, 20, 4.28),
    ],
)
def test_the_two_ramps_differ_golden(setting, truncate, index, ratio):
    apart = ratios(yarn(*setting, truncate=truncate), yarn(*setting, ramp="rotations"))
    assert apart.index(max(apart)) == index
    close(max(apart), ratio, 5e-3)


def test_truncation_changes_gpt_oss_golden():
    apart = ratios(yarn(*GPT_OSS), yarn(*GPT_OSS, truncate=False))
    close(max(apart), 1.76, 5e-3)


def test_yarn_with_factor_one_is_plain():
    same(yarn(64, 10000, 1, 2048), plain(64, 10000))
    same(yarn(64, 10000, 1, 2048, ramp="rotations"), plain(64, 10000))


def test_unknown_ramp():
    with pytest.raises(ValueError, match="ramp"):
        yarn(*LLAMA2, ramp="linear")


def test_mscale_golden():
    close([yarn_mscale(s) for s in (16, 32, 40)], [1.277259, 1.346574, 1.368888], 5e-7)
    assert [yarn_mscale(s) for s in (0.25, 1)] == [1, 1]
    close(yarn_mscale(40, 0.707), 1 + 0.0707 * ln(40))


def test_yarn_attention_factor_rule():
    full = 0.1 * ln(40) + 1
    close(yarn_attention_factor(40), full)
    close(yarn_attention_factor(40, mscale=0.707), full)
    close(yarn_attention_factor(40, mscale_all_dim=0.707), full)
    close(yarn_attention_factor(40, mscale=0, mscale_all_dim=0.707), full)
    close(yarn_attention_factor(40, mscale=1, mscale_all_dim=1), 1)
    ratio = (0.2 * ln(40) + 1) / (0.05 * ln(40) + 1)
    close(yarn_attention_factor(40, mscale=2, mscale_all_dim=0.5), ratio)
    assert yarn_attention_factor(40, 2, 0.5, attention_factor=1.25) == 1.25
    assert yarn_attention_factor(40, attention_factor=0) == 0
    assert yarn_attention_factor(1) == yarn_attention_factor(0.5, 2, 0.5) == 1
    assert yarn_attention_factor(0.5, attention_factor=3) == 3


def test_deepseek_softmax_factor_golden():
    close(deepseek_softmax_factor(40, 1), 1.8739, 5e-5)
    assert deepseek_softmax_factor(40) == deepseek_softmax_factor(40, None) == 1
    assert deepseek_softmax_factor(1, 1) == 1


def test_llama3_golden():
    share = ratios(llama3(*LLAMA31), plain(128, 5e5))
    assert share[:29] == [1] * 29
    assert share[35:] == [0.125] * 29
    close(share[29:35], [0.828168, 0.643743, 0.493507, 0.371122, 0.271425, 0.190211], 5e-7)


@pytest.mark.parametrize("setting", [LLAMA31, (64, 5e5, 32, 1, 4, 8192), (128, 1e4, 4, 2, 9, 512)])
def test_llama3_is_the_ramp_of_the_yarn_paper(setting):
    dim, base, factor, low, high, length = setting
    by_parts = yarn(dim, base, factor, length, high, low, ramp="rotations")
    same(llama3(*setting), by_parts)
    assert min(ratios(llama3(*setting), yarn(dim, base, factor, length, high, low))) < 0.9


def test_llama3_without_a_band():
    # Llama 4 Scout: both bounds are one turn, so a step and no division by 0.
    scaled = ratios(llama3(128, 5e5, 16, 1, 1, 8192), plain(128, 5e5))
    turns = [8192 * 5e5 ** (-2 * i / 128) / (2 * pi) for i in range(64)]
    assert scaled == [1 if r > 1 else 1 / 16 for r in turns]
    assert scaled.count(1) == 35


def test_longrope_switches_beyond_the_length():
    short, long = [1, 1, 2, 4], [1, 2.5, 8, 16]
    for length, factors in ((1, short), (4096, short), (4097, long), (131072, long)):
        scaled = longrope(8, 10000, short, long, 4096, length)
        near(scaled, [w / f for w, f in zip((1, 0.1, 0.01, 0.001), factors, strict=True)])


def test_longrope_needs_a_factor_for_each_pair():
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        longrope(8, 10000, [1, 1, 1], [1, 1, 1], 4096, 1)


def test_longrope_attention_factor_golden():
    close(longrope_attention_factor(32, 4096), 1.190238, 5e-7)
    # 131072 = 2^17 and 4096 = 2^12.
    near(longrope_attention_factor(131072 / 4096, 4096) ** 2, 17 / 12)
    assert longrope_attention_factor(1, 4096) == longrope_attention_factor(0.5, 4096) == 1


def test_proportional_keeps_the_fast_pairs_of_the_full_dim():
    near(proportional(8, 10000, 0.5), [1, 0.1, 0, 0])
    near(proportional(8, 10000, 0.74), [1, 0.1, 0, 0])
    near(proportional(8, 10000, 0.75), [1, 0.1, 0.01, 0])
    assert proportional(8, 10000, 1) == plain(8, 10000)
    assert proportional(8, 10000, 0) == [0, 0, 0, 0]
    near(proportional(8, 10000, 0.5, factor=4), [0.25, 0.025, 0, 0])
    # 0.3 is a little less than 3 / 10, but its double product with 20 is 6.
    assert proportional(20, 10000, 0.3).index(0) == 3


def test_proportional_none_and_all(q):
    same(rotate(q, 1000, proportional(16, 1e6, 0)), [mpmath.mpf(float(x)) for x in q])
    same(rotate(q, 1000, proportional(16, 1e6, 1)), rotate(q, 1000, plain(16, 1e6)))


# Rotations ------------------------------------------------------------------------------------


def test_quarter_turns():
    quarter = mpmath.mpf("1.5707963267948966192313216916397514420985846996875529104874722961")
    close(rotate([1, 0, 0, 3], 1, [quarter, 2 * quarter]), [0, 1, 0, -3])
    close(rotate([1, 0, 0, 3], 1, [quarter, 2 * quarter], inverse=True), [0, -1, 0, -3])
    close(rotate([1, 2, 3, 4], 1, [quarter, 0], pairing="halves"), [-3, 2, 1, 4])
    close(rotate([1, 0], 2, [quarter], attention_factor=1.5), [-1.5, 0])


def test_rotation_by_hand():
    x = [0.5, -1.0, 2.0, 3.0]
    a, b = 3.0, 0.03
    expected = [
        0.5 * cos(a) + sin(a),
        0.5 * sin(a) - cos(a),
        2 * cos(b) - 3 * sin(b),
        2 * sin(b) + 3 * cos(b),
    ]
    close(rotate(x, 3, plain(4, 10000)), expected)
    expected = [
        0.5 * cos(a) - 2 * sin(a),
        -cos(b) - 3 * sin(b),
        0.5 * sin(a) + 2 * cos(a),
        -sin(b) + 3 * cos(b),
    ]
    close(rotate(x, 3, plain(4, 10000), "halves"), expected)


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
@pytest.mark.parametrize("position", [0, 1, 1.5, -7, 10**9])
def test_rotation_keeps_the_norm(q, position, pairing):
    turned = rotate(q, position, plain(16, 10000), pairing)
    close(dot(turned, turned), q @ q, 1e-13)
    doubled = rotate(q, position, plain(16, 10000), pairing, attention_factor=2)
    close(dot(doubled, doubled), 4 * (q @ q), 1e-13)


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_dot_product_depends_on_the_distance_alone(q, k, pairing):
    omegas = plain(16, 10000)
    products = [
        dot(rotate(q, m + 5, omegas, pairing), rotate(k, m, omegas, pairing))
        for m in (0, 1, 10, 100, 12345)
    ]
    same(products, products[:1] * 5)
    other = dot(rotate(q, 4, omegas, pairing), rotate(k, 0, omegas, pairing))
    assert abs(other - products[0]) > 1e-3


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_rotations_form_a_group(q, pairing):
    omegas = plain(16, 500)
    same(
        rotate(rotate(q, 11, omegas, pairing), 31, omegas, pairing),
        rotate(q, 42, omegas, pairing),
    )
    back = rotate(rotate(q, 11, omegas, pairing), 11, omegas, pairing, inverse=True)
    close(back, q, 1e-15)
    same(rotate(q, -11, omegas, pairing), rotate(q, 11, omegas, pairing, inverse=True))


def test_pairings_are_a_permutation_apart(q):
    order = [*range(0, 16, 2), *range(1, 16, 2)]
    omegas = plain(16, 10000)
    interleaved = rotate(q, 9, omegas)
    same(rotate(q[order], 9, omegas, "halves"), [interleaved[i] for i in order])


def test_rotation_at_a_huge_position():
    # sin and cos of 10^22, the textbook case of argument reduction.
    close(rotate([1, 0], 10**22, [1]), [0.5232147853951389, -0.8522008497671888], 1e-15)


def test_rotate_refuses():
    with pytest.raises(ValueError, match="two channels"):
        rotate([1, 2, 3], 1, [1])
    with pytest.raises(ValueError, match="pairing"):
        rotate([1, 2], 1, [1], pairing="neox")


def test_xpos_scales_golden():
    # zeta_0 = 0.4 / 1.4 = 2 / 7 and zeta_1 = (0.5 + 0.4) / 1.4 = 9 / 14.
    for sign, centre, position in ((1, 0, 512), (-1, 1024, 512)):
        scaled = xpos([1, 0, 0, 1], position, 4, 10000, centre=centre, sign=sign)
        expected = [cos(512), sin(512), -sin(5.12), cos(5.12)]
        near(scaled, np.array(expected) * [2 / 7, 2 / 7, 9 / 14, 9 / 14], 1e-13)
    near(xpos([1, 0], 1024, 2, 10000, sign=-1), np.array([cos(1024), sin(1024)]) * 3.5**2, 1e-13)


def test_xpos_with_another_gamma_and_base():
    scaled = xpos([0, 1], 3, 2, 7, gamma=1, scale_base=1)
    near(scaled, [-sin(3) / 8, cos(3) / 8])
    near(xpos([1, 2, 0, 0], 1, 4, 25, 1, 1, pairing="halves")[:2], [cos(1) / 2, 1.5 * cos(0.2)])


def test_xpos_is_that_of_torchscale(rng):
    # (arange(0, d, 2) + 0.4 d) / (1.4 d) to the power (p + (-n) // 2) / 512, every two channels.
    n, dim = 9, 8
    x = rng.standard_normal((n, dim))
    zeta = (np.arange(0, dim, 2) + 0.4 * dim) / (1.4 * dim)
    powers = zeta ** (np.arange(-n // 2, n + -n // 2)[:, None] / 512)
    angles = np.arange(n)[:, None] / 10000 ** (np.arange(dim // 2) / (dim // 2))
    turned = (x[:, ::2] + 1j * x[:, 1::2]) * np.exp(1j * angles)
    for sign in (1, -1):
        expected = (turned * powers**sign).view(np.float64)
        actual = [xpos(row, p, dim, 10000, centre=5, sign=sign) for p, row in enumerate(x)]
        close(actual, expected)


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_xpos_product_decays_with_the_distance(q, k, pairing):
    def logit(m, n, centre):
        query = xpos(q, m, 16, 10000, centre=centre, sign=1, pairing=pairing)
        return dot(query, xpos(k, n, 16, 10000, centre=centre, sign=-1, pairing=pairing))

    same([logit(40, 7, 0), logit(140, 107, 64), logit(33, 0, 2)], [logit(33, 0, 0)] * 3)
    near(dot(xpos([1, 0], 700, 2, 1), xpos([1, 0], 188, 2, 1, sign=-1)), 2 / 7 * cos(512), 1e-12)


def test_xpos_centres_must_agree_golden():
    # Queries centred at 0 and keys at 2000 lose a factor of 0.0075 in the first pair.
    query = xpos([1, 0], 4000, 2, 1, centre=0)
    right, wrong = (dot(query, xpos([1, 0], 3990, 2, 1, centre=c, sign=-1)) for c in (0, 2000))
    close(wrong / right, 0.0075, 5e-5)


def test_xpos_without_decay_is_rope(q):
    turned = rotate(q, 77, plain(16, 10000))
    same(xpos(q, 77, 16, 10000, centre=77), turned)
    same(xpos(q, 77, 16, 10000, scale_base=math.inf), turned)
    with pytest.raises(ValueError, match="sign"):
        xpos(q, 77, 16, 10000, sign=0)


# Kernels --------------------------------------------------------------------------------------


def test_roformer_figure_2_golden():
    distances = [0, 1, 2, 5, 10, 20, 50, 100, 150, 200, 250]
    golden = [
        *(32.5, 31.5382, 28.956, 20.8454, 17.9541, 15.2424),
        *(12.6295, 10.2273, 7.5885, 7.2448, 6.5482),
    ]
    close([decay_bound(r, plain(128, 10000)) for r in distances], golden, 6e-5)
    close([decay_bound(r, plain(64, 10000)) for r in (50, 100)], [5.733, 7.465], 6e-4)


def test_kernel_golden():
    distances = [0, 1, 2, 5, 10, 50, 100, 1000, 10000]
    golden = [1, 0.9702, 0.8966, 0.7373, 0.6691, 0.5462, 0.4772, 0.159, -0.0279]
    close([mean_cosine(r, plain(128, 10000)) for r in distances], golden, 6e-5)


def test_kernel_is_the_product_of_a_vector_with_itself():
    omegas, ones = plain(128, 10000), [1] * 128
    at = [dot(rotate(ones, r + 3, omegas), rotate(ones, 3, omegas)) for r in (0, 1, 10, 100, 1000)]
    close(at, [128, 124.19, 85.64, 61.09, 20.36], 6e-3)


def test_bound_of_two_pairs_by_hand():
    # |1| and |1 + e^(i pi / 2)|.
    close(decay_bound(1, [0, pi / 2]), (1 + math.sqrt(2)) / 2)


# Temperatures ---------------------------------------------------------------------------------


def test_llama4_golden():
    assert llama4(0) == llama4(8190) == 1
    close([llama4(8191), llama4(131071)], [1.0693, 1.2833], 5e-5)
    close(llama4(1048575), 1.4860, 5e-5)
    close(llama4(29, floor_scale=10, scale=2), 1 + 2 * ln(4))


def test_ministral_has_no_plus_one():
    assert ministral(0, original_length=8192) == ministral(8191, original_length=8192) == 1
    close(ministral(8192, original_length=8192), 1 + 0.1 * ln(2))
    close(ministral(30, 2, original_length=10), 1 + 2 * ln(4))
    close(ministral(29, 2, original_length=10), 1 + 2 * ln(3))


def test_log_n():
    assert log_n(0, 4096) == log_n(4000, 4096) == log_n(4095, 4096) == 1
    assert log_n(4096, 4096) > 1
    close(log_n(2**24 - 1, 4096), 2)


def test_ssmax():
    close(ssmax(4096, 0.43), 0.43 * 12 * ln(2))
    assert ssmax(1, 5) == 0
    n, s, z = 5, 0.7, np.array([0.0, 1.0, -2.0, 3.0, 0.5])
    scaled = np.exp(float(ssmax(n, s)) * z)
    close(scaled / scaled.sum(), n ** (s * z) / (n ** (s * z)).sum())


# Several axes ---------------------------------------------------------------------------------


def test_axial_blocks():
    frequencies = [[1, 0.5, 0.25], [10, 20]]
    table = axial([(2, 3), (-1, 0.5)], [3, 2], frequencies, [0, 1])
    close(table, [[2, 1, 0.5, 30, 60], [-1, -0.5, -0.25, 5, 10]])
    table = axial([(2, 3), (-1, 0.5)], [3, 2], frequencies, [1, 0])
    close(table, [[30, 60, 2, 1, 0.5], [5, 10, -1, -0.5, -0.25]])


def test_axial_of_pixtral():
    # Height takes the even frequencies of the head, width the odd ones.
    omegas = plain(16, 10000)
    table = axial([(3, 5)], [4, 4], [omegas[::2], omegas[1::2]], [0, 1])
    expected = [3 * 10 ** (-i / 2) for i in (0, 2, 4, 6)] + [
        5 * 10 ** (-i / 2) for i in (1, 3, 5, 7)
    ]
    close(table, [expected])


def test_axial_on_one_axis_is_rope():
    table = axial([[7], [9]], [8], [plain(16, 10000)], [0])
    close(table, np.outer([7, 9], numbers(plain(16, 10000))))


def test_axial_refuses():
    with pytest.raises(ValueError, match="pairs_per_axis"):
        axial([(0, 0)], [2, 1], [[1], [1, 2]], [0, 1])
    with pytest.raises(ValueError, match="every axis"):
        axial([(0, 0)], [1, 1], [[1], [1]], [0, 0])


def test_mrope_axes_golden():
    chunked = mrope_axes_chunked([16, 24, 24])
    assert chunked == [0] * 16 + [1] * 24 + [2] * 24
    assert mrope_axes_chunked([1, 2, 1] * 2) == [0, 1, 1, 2] * 2
    letters = "".join("THW"[axis] for axis in mrope_axes_interleaved([24, 20, 20]))
    assert letters == "THW" * 20 + "TTTT"
    letters = "".join("THW"[axis] for axis in mrope_axes_interleaved([11, 11, 10]))
    assert letters == "THW" * 10 + "TH"
    # Sections that are not nearly even are not kept.
    uneven = mrope_axes_interleaved([16, 24, 24])
    assert [uneven.count(axis) for axis in range(3)] == [22, 21, 21]


@pytest.mark.parametrize("angles", [mrope_chunked, mrope_interleaved])
def test_mrope_of_text_is_rope(angles):
    close(angles([(5, 5, 5)], [24, 20, 20], 1e6), [5 * numbers(plain(128, 1e6))], 1e-13)


def test_mrope_angles_by_hand():
    positions = np.array([[1, 10, 100], [0, 2, 3]])
    expected = [[1, 1, 1, 0.1], [0, 0.2, 0.03, 0.003]]
    close(mrope_chunked(positions, [1, 1, 2], 10000), expected)
    expected = [[1, 1, 1, 0.001], [0, 0.2, 0.03, 0]]
    close(mrope_interleaved(positions, [2, 1, 1], 10000), expected)


# Hugging Face ---------------------------------------------------------------------------------
# Skipped where transformers is not installed. Its tables are float32: a few units of 2^-24 for
# each rounding, more for an exponent times ln(base).


@pytest.fixture
def rope_functions():
    return pytest.importorskip("transformers.modeling_rope_utils").ROPE_INIT_FUNCTIONS


def config(dim=128, maximum=4096, **parameters):
    """What the functions read: a configuration with one set of parameters."""
    return SimpleNamespace(
        head_dim=dim,
        hidden_size=dim,
        num_attention_heads=1,
        max_position_embeddings=maximum,
        rope_parameters=parameters,
        standardize_rope_params=lambda: None,
    )


def hugging_face(function, settings, **arguments):
    frequencies, factor = function(settings, **arguments)
    return frequencies.double().numpy(), factor


SINGLE = 3e-6


def test_hugging_face_linear(rope_functions):
    actual, factor = hugging_face(rope_functions["linear"], config(rope_theta=1e6, factor=8.0))
    near(actual, interpolation(128, 1e6, 8), SINGLE)
    assert factor == 1


@pytest.mark.parametrize("length", [100, 4096, 4097, 9000])
@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_hugging_face_dynamic(rope_functions, factor, length):
    settings = config(rope_theta=1e4, factor=factor)
    actual, _ = hugging_face(rope_functions["dynamic"], settings, seq_len=length)
    near(actual, dynamic_ntk(128, 1e4, factor, 4096, length), SINGLE)


@pytest.mark.parametrize("setting", [LLAMA2, GPT_OSS, DEEPSEEK, (8, 10, 4, 10**6), (8, 1e4, 4, 4)])
def test_hugging_face_yarn(rope_functions, setting):
    dim, base, factor, length = setting
    for fast, slow, truncate in product((32, 4), (1, 2, 4), (True, False)):
        settings = config(
            dim,
            rope_theta=base,
            factor=factor,
            original_max_position_embeddings=length,
            beta_fast=fast,
            beta_slow=slow,
            truncate=truncate,
        )
        actual, scale = hugging_face(rope_functions["yarn"], settings)
        near(actual, yarn(*setting, fast, slow, truncate=truncate), SINGLE)
        close(scale, yarn_mscale(factor))


def test_hugging_face_yarn_defaults(rope_functions):
    settings = config(rope_theta=1e4, factor=16, original_max_position_embeddings=4096)
    near(hugging_face(rope_functions["yarn"], settings)[0], yarn(*LLAMA2), SINGLE)


def test_hugging_face_yarn_attention_factor(rope_functions):
    weights = product((None, 0, 1.0), (None, 0, 0.707), (None, 0, 1.25), (0.5, 1.0, 40.0))
    for mscale, all_dim, given, factor in weights:
        settings = config(
            rope_theta=1e4,
            factor=factor,
            original_max_position_embeddings=4096,
            mscale=mscale,
            mscale_all_dim=all_dim,
            attention_factor=given,
        )
        _, scale = hugging_face(rope_functions["yarn"], settings)
        close(scale, yarn_attention_factor(factor, mscale, all_dim, given))


@pytest.mark.parametrize(
    "setting", [LLAMA31, (64, 5e5, 32, 1, 4, 8192), (128, 5e5, 16, 1, 1, 8192)]
)
def test_hugging_face_llama3(rope_functions, setting):
    dim, base, factor, low, high, length = setting
    settings = config(
        dim,
        rope_theta=base,
        factor=factor,
        low_freq_factor=low,
        high_freq_factor=high,
        original_max_position_embeddings=length,
    )
    actual, scale = hugging_face(rope_functions["llama3"], settings)
    near(actual, llama3(*setting), SINGLE)
    assert scale == 1


@pytest.mark.parametrize("length", [None, 4096, 4097])
def test_hugging_face_longrope(rope_functions, length):
    short, long = list(np.linspace(1, 2, 48)), list(np.linspace(1, 40, 48))
    settings = config(
        96,
        131072,
        rope_theta=1e4,
        short_factor=short,
        long_factor=long,
        original_max_position_embeddings=4096,
    )
    actual, scale = hugging_face(rope_functions["longrope"], settings, seq_len=length)
    near(actual, longrope(96, 1e4, short, long, 4096, length or 1), SINGLE)
    close(scale, longrope_attention_factor(32, 4096))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.3, 0.334, 0.75, 1.0])
@pytest.mark.parametrize("dim", [20, 200, 512])
def test_hugging_face_proportional(rope_functions, dim, share):
    settings = config(dim, rope_theta=1e6, partial_rotary_factor=share, factor=2.0)
    actual, _ = hugging_face(rope_functions["proportional"], settings)
    near(actual, proportional(dim, 1e6, share, 2), SINGLE)


def test_hugging_face_rotates_halves(q):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    torch = pytest.importorskip("torch")
    angles = torch.tensor(9 * numbers(plain(16, 10000))).repeat(2)[None, None]
    turned, back = (
        llama.apply_rotary_pos_emb(
            torch.tensor(q)[None, None, None], torch.ones(1, 1, 1, 16), angles.cos(), sine
        )[0].flatten()
        for sine in (angles.sin(), -angles.sin())
    )
    close(turned, rotate(q, 9, plain(16, 10000), "halves"))
    close(back, rotate(q, 9, plain(16, 10000), "halves", inverse=True))


def test_hugging_face_rotates_interleaved(q):
    llama = pytest.importorskip("transformers.models.llama4.modeling_llama4")
    torch = pytest.importorskip("torch")
    angles = torch.tensor(9 * numbers(plain(16, 10000)))[None, None]
    x = torch.tensor(q)[None, None, None].float()
    turned = llama.apply_rotary_emb(x, x, torch.polar(torch.ones_like(angles), angles))[0]
    close(turned.flatten(), rotate(q, 9, plain(16, 10000)), 2e-6)


def test_hugging_face_mrope():
    vl2 = pytest.importorskip("transformers.models.qwen2_vl.modeling_qwen2_vl")
    vl3 = pytest.importorskip("transformers.models.qwen3_vl.modeling_qwen3_vl")
    torch = pytest.importorskip("torch")
    positions = np.array([[3, 50, 700], [1000, 20, 4]])
    cases = [
        (vl2.Qwen2VLRotaryEmbedding, mrope_chunked, [16, 24, 24]),
        (vl3.Qwen3VLTextRotaryEmbedding, mrope_interleaved, [24, 20, 20]),
        (vl3.Qwen3VLTextRotaryEmbedding, mrope_interleaved, [16, 24, 24]),
    ]
    for module, angles, sections in cases:
        each = positions.T[:, None, :, None] * numbers(plain(128, 1e6))
        table = module.recomposition_frequencies(
            SimpleNamespace(mrope_section=sections), torch.tensor(each)
        )
        expected = numbers(angles(positions, sections, 1e6))
        near(table[0], np.concatenate([expected, expected], axis=-1), 1e-13)


def test_hugging_face_temperature():
    module = pytest.importorskip("transformers.models.ministral3.modeling_ministral3")
    torch = pytest.importorskip("torch")
    positions = [0, 16383, 16384, 16385, 50000, 10**6]
    scale = module.get_llama_4_attn_scale(torch.tensor([positions]), 0.1, 16384)
    close(scale.flatten(), [ministral(p, 0.1, original_length=16384) for p in positions], 1e-6)


@pytest.mark.parametrize("all_dim", [None, 0, 0.707, 1.0])
def test_hugging_face_softmax_factor(all_dim):
    module = pytest.importorskip("transformers.models.deepseek_v3.modeling_deepseek_v3")
    parameters = {"rope_type": "yarn", "factor": 40, "mscale_all_dim": all_dim}
    close(module.yarn_apply_mscale(parameters, 1.0), deepseek_softmax_factor(40, all_dim))
