"""One number: factors in brackets, sums written out, letters before numbers."""

import numpy as np
import pytest

from posenc.explanation import maths
from posenc.explanation.place import Place, bracket, dot_product, substitution, summands_step
from posenc.i18n import translator


@pytest.mark.parametrize(("value", "text"), [(-2.0, "(-2)"), (2.0, "2"), ("w", "w")])
def test_negative_factors_are_in_brackets(value, text):
    assert maths.text(bracket(value)) == text


def test_a_dot_product_is_written_out():
    told = dot_product(np.array([1.0, -2.0]), np.array([3.0, 4.0]))
    assert maths.text(told) == "1 · 3 + (-2) · 4"


def test_letters_come_first_and_numbers_last():
    at = Place(3, 2, 0.5, {"w": np.float32([1, 2])}, translator("ja"))
    between = summands_step("parts", "…", ("k", "x"), np.array([7.0]), first=1)
    steps = substitution("…", ("a", "b"), ("a", 0.5), at=at, between=(between,))
    assert [step.name for step in steps] == ["formula", "parts", "numbers"]
    assert steps[1].table.rows == ((1, 7.0),)
    assert steps[-1].words != "Substituting the numbers:"  # it is in the reader's language
    assert at.weights["w"].dtype == np.float64
