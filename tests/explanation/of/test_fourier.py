"""Fourier features: the angle along a direction, and the sum of a small network, recomputed."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.cell import cell
from tests.explanation.reading import columns, values_in


@pytest.mark.parametrize("channel", [1, 5])
def test_an_angle_along_a_random_direction(channel):
    encoding = pe.FourierFeatures.sam(8)
    matrix = encoding.init(np.random.default_rng(3))["matrix"].astype(float)
    told = cell(encoding, (0.25, 0.75), channel, {"matrix": matrix})
    v = 2 * np.array([0.25, 0.75]) - 1  # SAM's coordinates are centred
    angle = 2 * math.pi * v @ matrix[:, channel % 4]
    *_, shown, value = values_in(told.steps[-1].formulas[-1])
    assert shown == pytest.approx(angle)
    assert value == pytest.approx((math.sin if channel < 4 else math.cos)(angle), abs=1e-12)
    assert "mapped from 0 .. 1" in told.steps[0].words


def test_a_learned_network_is_the_sum_of_its_units():
    encoding = pe.LearnedFourier(4, features=6, hidden=5)
    params = encoding.init(np.random.default_rng(3))
    steps = {step.name: step for step in cell(encoding, (3, 5), 2, params).steps}
    _, x, units, weights, products = columns(steps["hidden"]).values()
    inner = [math.sqrt(2 / math.pi) * (each + 0.044715 * each**3) for each in x]
    assert units == pytest.approx(np.multiply(x, 1 + np.tanh(inner)) / 2)
    assert weights == pytest.approx(params["w_2"][:, 2])
    assert products == pytest.approx(np.multiply(units, weights))
    total = sum(products) + params["b_2"][2]
    assert values_in(steps["numbers"].formulas[-1])[-1] == pytest.approx(total, rel=1e-6)
