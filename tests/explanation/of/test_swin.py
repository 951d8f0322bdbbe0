"""Swin: the row of a displacement, and the logarithms of the second version, recomputed."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.cell import cell
from posenc.explanation.maths import to_json
from tests.explanation.evaluating import computed, sides
from tests.explanation.reading import values_in


def test_the_row_of_a_displacement():
    encoding = pe.SwinBias(2, (7, 5))
    table = encoding.init(np.random.default_rng(3))["table"]
    told = cell(encoding, (6, 1), (2, 3), {"table": table}, head=1)
    line = (4 + 7 - 1) * (2 * 5 - 1) + (-2 + 5 - 1)
    assert f"row {line} of the table" in told.steps[0].words
    assert values_in(told.steps[-1].formulas[0])[-1] == line
    assert told.truth == table[line, 1]


def test_the_logarithms_of_the_second_version():
    encoding = pe.SwinV2Bias(2, (8, 8), pretrained_window=(4, 5), hidden=3)
    params = encoding.init(np.random.default_rng(3))
    told = cell(encoding, (6, 1), (2, 3), params, head=1)
    steps = {step.name: step for step in told.steps}
    t = [math.log2(1 + 8 * 4 / 3) / 3, -math.log2(1 + 8 * 2 / 4) / 3]
    shown = [values_in(formula)[-1] for formula in steps["logarithms"].formulas]
    assert shown == pytest.approx(t)
    for formula in steps["logarithms"].formulas:
        _, numbers, value = sides(to_json(formula))
        assert computed(numbers) == pytest.approx(computed(value))
    hidden = np.maximum(params["w1"] @ np.array(t) + params["b1"], 0)
    value = 16 / (1 + math.exp(-(params["w2"][1] @ hidden)))
    assert told.truth == pytest.approx(value, rel=1e-6)
