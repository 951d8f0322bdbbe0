"""Tables by distance: rows, and the bias that is looked up."""

import numpy as np
import pytest

import posenc as pe
from posenc.encodings.tables import look_up, whole_distances
from tests.patient import check


def test_rows_become_heads():
    table = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    index = np.array([[0, 2], [1, 1], [2, 0]])
    assert look_up(table, index).tolist() == [
        [[1, 3], [2, 2], [3, 1]],
        [[10, 30], [20, 20], [30, 10]],
    ]
    assert look_up(table, np.stack([index, index[::-1]])).shape == (2, 2, 3, 2)


def test_fractions_have_no_row():
    like = np.zeros(1)
    assert whole_distances([4, 1], [2], like=like).tolist() == [[2], [-1]]
    with pytest.raises(TypeError, match="positions must be whole numbers to look up a bias; got"):
        whole_distances([0.5], [2], like=like)


def test_a_table_of_zeros_is_no_encoding():
    zero, p = {"table": np.zeros((9, 2))}, np.array([0, 5, 40, 700])
    assert np.array_equal(pe.ClippedBias(2, 4).bias(p, p, zero)[:1], pe.NoPE().bias(p, p))


@pytest.mark.parametrize("reach", [0, 1])
def test_one_row_for_all_distances_tells_no_order(reach):
    encoding = pe.ClippedBias(2, reach)
    assert encoding.traits.ordered == (reach > 0)
    assert check(encoding).ok
