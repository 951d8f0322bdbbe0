"""Swin: rows of displacements in a window, and the coordinates of the second version."""

import numpy as np
import pytest

import posenc as pe


def test_each_displacement_in_the_window_has_a_row_of_its_own():
    encoding = pe.SwinBias(1, (3, 4))
    dy, dx = np.meshgrid(np.arange(-2, 3), np.arange(-3, 4), indexing="ij")
    assert encoding.row_of(dy, dx).ravel().tolist() == list(range(encoding.rows))
    table = {"table": np.arange(35.0)[:, None]}
    assert encoding.bias([[2, 3]], [[0, 0], [2, 3]], table).tolist() == [[[34, 17]]]


@pytest.mark.parametrize(("q", "apart"), [([[3, 0]], 3), ([[0, -5]], 5)])
def test_what_leaves_the_window_is_refused(q, apart):
    table = pe.SwinBias(1, (3, 3)).init(np.random.default_rng(0))
    with pytest.raises(ValueError, match=f"less than 3 apart; got {apart}$"):
        pe.SwinBias(1, (3, 3)).bias(q, [[0, 0]], table)


def test_where_nobody_can_look_it_is_no_row_of_the_table():
    """(0, 3) would be the row of (1, -2) if it wrapped."""
    jax = pytest.importorskip("jax")
    table = {"table": jax.numpy.ones((25, 1))}
    biased = jax.jit(lambda q, k: pe.SwinBias(1, (3, 3)).bias(q, k, table))
    assert np.isnan(biased(jax.numpy.array([[0, 3]]), jax.numpy.array([[0, 0]]))).all()


def test_initial_values_are_those_of_the_paper(rng):
    assert abs(pe.SwinBias(8, (7, 7)).init(rng)["table"].std() - 0.02) < 1e-3


def test_a_larger_window_keeps_the_scale_of_training(rng):
    small = pe.SwinV2Bias(2, (8, 8), hidden=4)
    large = pe.SwinV2Bias(2, (16, 16), pretrained_window=(8, 8), hidden=4)
    params, p = small.init(rng), pe.grid(8, 8)
    assert np.array_equal(small.bias(p, p, params), large.bias(p, p, params))
    assert not np.array_equal(
        pe.SwinV2Bias(2, (16, 16), hidden=4).bias(p, p, params), large.bias(p, p, params)
    )
