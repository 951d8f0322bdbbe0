"""Pins the oracles of additive.py to facts that do not come from them."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
import torch
from torch.nn import functional

from .additive import (
    cape,
    detr_2d,
    frequencies,
    gaussian_fourier,
    learnable_fourier,
    mae_2d,
    resize_1d,
    resize_2d,
    sinusoidal,
)

sin, cos, pi = math.sin, math.cos, math.pi


def close(actual, expected, tolerance=1e-14):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance)


# Sinusoids ------------------------------------------------------------------------------------


def test_paper_row_golden():
    expected = [0.841471, 0.540302, 0.099833, 0.995004, 0.01, 0.99995, 0.001, 1.0]
    close(sinusoidal([1], 8), [expected], 6e-7)


def test_t2t_row_golden():
    expected = [0.841471, 0.046399, 0.002154, 0.0001, 0.540302, 0.998923, 0.999998, 1.0]
    close(sinusoidal([1], 8, layout="concat", spacing="t2t"), [expected], 6e-7)


def test_last_frequencies():
    assert float(frequencies(512, base=10000.0, spacing="paper")[-1]) == pytest.approx(
        1.0366e-4, abs=5e-9
    )
    assert float(frequencies(512, base=10000.0, spacing="t2t")[-1]) == 1e-4
    assert [float(f) for f in frequencies(2, base=7.0, spacing="t2t")] == [1.0]


def test_dot_product_kernel_golden():
    shifts = [0, 1, 2, 5, 10, 50, 100, 500, 1000]
    golden = [256, 249.1021, 231.7336, 189.5967, 173.7897, 131.0908, 111.9502, 67.2331, 44.9716]
    for start in (0, 37):
        table = sinusoidal([start + k for k in shifts], 512)
        close(table @ table[0], golden, 6e-5)


def test_huge_position_is_reduced_exactly():
    # sin and cos of 10^22, the textbook case of argument reduction.
    expected = [[-0.85220084976718880177, 0.52321478539513894550]]
    assert sinusoidal([10**22], 2).tolist() == expected


def test_frequencies_carry_enough_digits_for_huge_positions():
    # 2^(-2/4) = sqrt(1/2), reduced modulo 2 pi in decimal arithmetic.
    with localcontext(prec=60):
        two_pi = 2 * Decimal("3.14159265358979323846264338327950288419716939937510582097494459")
        angle = float(10**18 * Decimal("0.5").sqrt() % two_pi)
    close(sinusoidal([10**18], 4, base=2.0)[0, 2:], [sin(angle), cos(angle)], 1e-15)


def test_fractional_and_negative_positions():
    close(
        sinusoidal([0.5, -2.25], 4),
        [
            [sin(0.5), cos(0.5), sin(0.005), cos(0.005)],
            [-sin(2.25), cos(2.25), -sin(0.0225), cos(0.0225)],
        ],
    )


def test_numpy_positions_equal_python_positions():
    expected = sinusoidal([0, 3, 9], 6)
    for kind in (np.int64, np.float32, np.float64):
        assert (sinusoidal(np.array([0, 3, 9], kind), 6) == expected).all()


def test_odd_dim():
    # 32^(-2/5) = 1/4 and 32^(-4/5) = 1/16; the t2t exponents with 3 pairs are 0, 1/2, 1.
    first, second, third = 1.0, 0.25, 0.0625
    sines = [sin(first), sin(second), sin(third)]
    cosines = [cos(first), cos(second)]
    mixed = [sines[0], cosines[0], sines[1], cosines[1], sines[2]]
    close(sinusoidal([1], 5, base=32.0), [mixed])
    close(sinusoidal([1], 5, base=32.0, layout="concat"), [sines + cosines])
    close(sinusoidal([1], 5, base=16.0, spacing="t2t"), [mixed])


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="layout"):
        sinusoidal([1], 4, layout="mixed")
    with pytest.raises(ValueError, match="spacing"):
        sinusoidal([1], 4, spacing="fairseq")


def test_mae_column_comes_first():
    table = mae_2d(2, 3, 8)
    zero = [0, 0, 1, 1]
    one = [sin(1), sin(0.01), cos(1), cos(0.01)]
    two = [sin(2), sin(0.02), cos(2), cos(0.02)]
    close(table, [zero + zero, one + zero, two + zero, zero + one, one + one, two + one])


def test_detr_hand_values():
    table = detr_2d(2, 4, 8)
    assert table.shape == (8, 8)
    # Row 0 of 2 is just below pi, the last column just below 2 pi: only eps keeps the sines off 0.
    close(
        table[3],
        [
            pi * 5e-7,
            -1,
            sin(pi / 100),
            cos(pi / 100),
            -2 * pi * 2.5e-7,
            1,
            sin(2 * pi / 100),
            cos(2 * pi / 100),
        ],
        2e-8,
    )
    close(
        table[4],
        [
            -2 * pi * 5e-7,
            1,
            sin(2 * pi / 100),
            cos(2 * pi / 100),
            1,
            pi / 2 * 2.5e-7,
            sin(pi / 200),
            cos(pi / 200),
        ],
        4e-8,
    )


def test_detr_eps_and_temperature():
    table = detr_2d(1, 1, 8, temperature=16.0)
    close(table[0, 0], -2 * pi * 1e-6, 1e-11)
    close(table[0, 2:4], [1, pi / 2 * 1e-6], 1e-11)
    assert (table[0, :4] == table[0, 4:]).all()


# Fourier features -----------------------------------------------------------------------------


def test_gaussian_fourier_hand_values():
    points = np.array([[0.25, 1.0], [0.5, 0.125]])
    matrix = np.array([[1.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    # Turns: row 0 -> 1/4, 3/2, 1; row 1 -> 1/2, 9/8, 1/8.
    half = math.sqrt(0.5)
    cosines, sines = [[0, -1, 1], [-1, half, half]], [[1, 0, 0], [0, half, half]]
    close(gaussian_fourier(points, matrix, centred=False), np.hstack([cosines, sines]))
    close(
        gaussian_fourier(points, matrix, order="sin-cos", centred=False),
        np.hstack([sines, cosines]),
    )


def test_gaussian_fourier_centred_hand_values():
    # 2c - 1 is (1/2, -1), hence -1/8 and 1/4 of a turn.
    points, matrix = np.array([[0.75, 0.0]]), np.array([[0.25, 0.0], [0.25, -0.25]])
    half = math.sqrt(0.5)
    sam = gaussian_fourier(points, matrix, order="sin-cos", centred=True)
    close(sam, [[-half, 1, half, 0]])


def test_gaussian_fourier_kernel_is_stationary():
    random = np.random.default_rng(0)
    matrix, points = random.normal(size=(3, 8)), random.random((2, 3))
    first, second = gaussian_fourier(points, matrix, centred=False)
    expected = np.cos(2 * pi * (points[0] - points[1]) @ matrix).sum()
    close(first @ second, expected, 1e-12)


def test_learnable_fourier_features_by_an_mlp_that_passes_them_on():
    # GELU is the identity far above 0, so a large bias shows the features themselves.
    w_r = np.array([[pi / 2, 0.0], [0.0, pi]])
    eye, bias = np.eye(4), np.full(4, 64.0)
    for form in ("erf", "tanh"):
        points = np.array([[0.0, 0.0], [1.0, 1.0]])
        table = learnable_fourier(points, w_r, eye, bias, eye, -bias, gelu=form)
        close(table, [[0.5, 0.5, 0, 0], [0, -0.5, 0.5, 0]], 1e-13)


@pytest.mark.parametrize(
    ("form", "expected"), [("erf", 0.8413447460685429), ("tanh", 0.8411919906082768)]
)
def test_gelu_at_one(form, expected):
    one = np.ones((1, 1))
    table = learnable_fourier(one, one, np.zeros((2, 1)), np.ones(1), one, np.zeros(1), gelu=form)
    close(table, [[expected]])


@pytest.mark.parametrize(("form", "approximate"), [("erf", "none"), ("tanh", "tanh")])
def test_learnable_fourier_against_torch(form, approximate):
    random = np.random.default_rng(1)
    points, w_r, w_1, b_1, w_2, b_2 = (
        random.normal(size=shape) for shape in [(5, 3), (4, 3), (8, 6), 6, (6, 7), 7]
    )
    angles = torch.tensor(points) @ torch.tensor(w_r).T
    waves = torch.cat([angles.cos(), angles.sin()], -1) * 8**-0.5
    middle = functional.linear(waves, torch.tensor(w_1).T, torch.tensor(b_1))
    middle = functional.gelu(middle, approximate=approximate)
    expected = functional.linear(middle, torch.tensor(w_2).T, torch.tensor(b_2))
    close(learnable_fourier(points, w_r, w_1, b_1, w_2, b_2, gelu=form), expected, 1e-13)


# Resizing -------------------------------------------------------------------------------------


def test_resize_1d_hand_values():
    close(resize_1d(np.array([[0.0], [1.0]]), 4), [[0], [0.25], [0.75], [1]])
    close(resize_1d(np.array([[0.0], [1.0], [4.0], [9.0]]), 2), [[0.5], [6.5]])


@pytest.mark.parametrize(("old", "new"), [(7, 7), (7, 16), (16, 7), (5, 3), (1, 4), (4, 1), (2, 9)])
def test_resize_1d_against_torch(old, new):
    table = np.random.default_rng(2).normal(size=(old, 3))
    expected = functional.interpolate(
        torch.tensor(table).T[None], size=new, mode="linear", align_corners=False
    )
    close(resize_1d(table, new), expected[0].T)


@pytest.mark.parametrize(
    ("antialias", "weights"),
    [
        (False, [-0.03515625, -0.10546875, 0.26171875, 0.87890625]),
        (True, [-0.0234375, -0.0703125, 0.2265625, 0.8671875]),
    ],
)
def test_resize_2d_cubic_kernel_by_hand(antialias, weights):
    # A unit impulse doubled in width shows the kernel at 1.75, 1.25, 0.75, 0.25 on each side.
    impulse = np.zeros((8, 1))
    impulse[4] = 1.0
    wide = resize_2d(impulse, (1, 8), (1, 16), antialias=antialias)[:, 0]
    close(wide, [0] * 5 + weights + weights[::-1] + [0] * 3)
    tall = resize_2d(impulse, (8, 1), (16, 1), antialias=antialias)[:, 0]
    assert (wide == tall).all()


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ((4, 4), (4, 4)),
        ((14, 14), (24, 24)),
        ((14, 14), (7, 7)),
        ((5, 8), (9, 3)),
        ((6, 3), (4, 11)),
        ((2, 1), (5, 4)),
        ((9, 7), (1, 1)),
    ],
)
def test_resize_2d_against_torch(old, new, antialias):
    table = np.random.default_rng(3).normal(size=(old[0] * old[1], 2))
    image = torch.tensor(table).reshape(1, *old, 2).permute(0, 3, 1, 2)
    expected = functional.interpolate(
        image, size=new, mode="bicubic", align_corners=False, antialias=antialias
    )
    expected = expected.permute(0, 2, 3, 1).reshape(-1, 2)
    close(resize_2d(table, old, new, antialias=antialias), expected, 1e-13)


# Augmented positions --------------------------------------------------------------------------


def test_cape_hand_values():
    draws = {"global_shift": 0.5, "local_shifts": [0.1, -0.1, 0, 0.2], "log_scale": math.log(2)}
    close(cape([0, 1, 2, 3], **draws), [-1.8, -0.2, 2, 4.4])
    close(cape([0, 1, 2, 3], **draws, normalise=False), [1.2, 2.8, 5, 7.4])


def test_cape_at_test_time_only_centres():
    still = {"global_shift": 0.0, "local_shifts": [0.0] * 3, "log_scale": 0.0}
    assert cape([10, 11, 15], **still).tolist() == [-2, -1, 3]
    assert cape([10, 11, 15], **still, normalise=False).tolist() == [10, 11, 15]
