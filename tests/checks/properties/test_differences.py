"""Numbers out of arrays."""

import numpy as np
import pytest

from posenc.checks.properties import differences
from posenc.checks.properties.differences import DistinctRows, max_difference, max_or_nan


def test_infinities_that_agree_are_no_difference():
    a = np.array([1.0, -np.inf, 3.0])
    assert max_difference(a, np.array([1.5, -np.inf, 3.0])) == 0.5
    assert max_difference(a, np.array([1.0, 2.0, 3.0])) == np.inf
    assert max_difference(a[:0], a[:0]) == 0


def test_a_nan_is_not_lost():
    assert np.isnan(max_difference(np.array([0.0, np.nan]), np.zeros(2)))
    assert np.isnan(max_or_nan([1.0, np.nan, 2.0]))
    assert max_or_nan([]) == 0


def test_differences_are_relative_to_the_largest_finite_entry():
    assert differences.scale_of(np.array([-8.0, np.inf, 3.0])) == 8
    assert differences.scale_of(np.array([0.25])) == 1


@pytest.mark.parametrize("width", [2, 4096])
def test_rows_are_counted_once_whatever_their_length_or_block(width):
    rows = np.zeros((5, width))
    rows[1, -1], rows[2, 0], rows[3, -1], rows[4, 0] = 1.0, 2.0, 1.0, -0.0
    assert (8 * width > differences.LONG) == (width == 4096)
    assert len(DistinctRows([rows[:2], rows[2:]])) == 3
    counted = DistinctRows([rows])
    counted.add(rows + 1)
    assert len(counted) == 6


def test_halves_hold_what_they_can():
    rows = np.array([[1 + 2.0**-9, 1 + 2.0**-7]])
    assert differences.round_to(rows, "float16").tolist() == rows.tolist()
    assert differences.round_to(rows, "bfloat16").tolist() == [[1.0, 1 + 2.0**-7]]
