"""The gate: how far a result is from the truth."""

import math

import pytest
import torch

from posenc.bench.case import Bound, Case, Entry, Setup


def error_of(made, truth, bound):
    return Entry(int, lambda: [(torch.tensor(m), torch.tensor(truth)) for m in made], bound).error()


def test_the_error_is_the_largest_difference_in_float64():
    error = error_of([[1.0, 2.0], [1.0, 2.5]], [1.0, 2.25], Bound(0.5))
    assert (error.largest, error.part) == (0.25, 0.5)
    assert error.is_within


def test_a_bound_may_grow_with_the_truth():
    assert error_of([[4.5]], [4.0], Bound(0.0, 0.125)).part == 1.0
    assert error_of([[4.5]], [4.0], Bound(0.0, 0.125)).is_within
    assert not error_of([[4.5]], [-4.0], Bound(0.25, 0.0625)).is_within


@pytest.mark.parametrize("made", [[[math.nan], [1.0]], [[1.0], [math.nan]]])
def test_nan_is_not_within_any_bound(made):
    assert not error_of(made, [1.0], Bound(100.0)).is_within


def test_a_copy_has_no_error():
    assert Entry(int).error() is None


def test_a_result_of_another_shape_is_not_broadcast():
    with pytest.raises(ValueError, match="a result has shape"):
        error_of([[[1.0, 1.0]]], [1.0, 1.0], Bound(1.0))


def test_cases_of_one_family_differ_in_their_size():
    def build(_):
        return Setup({})

    assert Case("prefill-512", "prefill", "", build, size=512).family == "prefill"
    assert Case("decode", "decode", "", build).family == "decode"
