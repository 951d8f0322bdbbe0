"""FIRE: the ratio and the sum over hidden units, recomputed."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.cell import cell
from tests.explanation.reading import columns, values_in


def test_fire_unit_by_unit():
    encoding = pe.FIRE(2, hidden=3)
    params = encoding.init(np.random.default_rng(3))
    steps = {step.name: step for step in cell(encoding, 700, 1, params, head=1).steps}
    x = math.log(1 + 0.1 * 699) / (math.log(1 + 0.1 * 700) + 1e-6)  # 700 is beyond L = 512
    assert values_in(steps["ratio"].formulas[0])[-1] == pytest.approx(x, rel=1e-6)
    inputs = params["w1"][:, 0] * x + params["b1"]
    *_, contributions = columns(steps["hidden"]).values()
    assert contributions == pytest.approx(np.maximum(inputs, 0) * params["w2"][1], rel=1e-5)
    total = sum(contributions) + params["b2"][1]
    assert values_in(steps["numbers"].formulas[0])[-1] == pytest.approx(total, rel=1e-5)
