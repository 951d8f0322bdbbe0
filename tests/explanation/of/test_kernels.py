"""KERPLE and Sandwich recomputed by their formulas."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.explanation.cell import cell
from tests.explanation.reading import columns, values_in


@pytest.mark.parametrize(
    ("kernel", "formula"),
    [("log", lambda r1, r2: -r1 * math.log(1 + 7 * r2)), ("power", lambda r1, r2: -r1 * 7**r2)],
)
def test_a_kernel_of_the_distance(kernel, formula):
    params = {"r1": np.array([0.5, 0.001]), "r2": np.array([0.75, 0.25])}
    for head, (r1, r2) in enumerate([(0.5, 0.75), (0.01, 0.25)]):  # r1 is at least 0.01
        told = cell(pe.KERPLE(2, kernel=kernel), 9, 2, params, head=head)
        numbers = values_in(told.steps[-1].formulas[-1])
        assert numbers[-1] == pytest.approx(formula(r1, r2), rel=1e-12)
        assert all(any(each == pytest.approx(r) for each in numbers) for r in (r1, r2))


def test_sandwich_adds_cosines_up():
    steps = {step.name: step for step in cell(pe.Sandwich(4, features=6), 9, 2, head=2).steps}
    numbers, w, cosines = columns(steps["cosines"]).values()
    assert numbers == [1, 2, 3]
    assert w == pytest.approx([10_000 ** (-k / 3) for k in numbers])
    assert cosines == pytest.approx(np.cos(7 * np.array(w)))
    value = sum(cosines) / (8 * 3 / 4)
    assert values_in(steps["numbers"].formulas[-1])[-1] == pytest.approx(value)
