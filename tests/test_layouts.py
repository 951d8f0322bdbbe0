"""Layouts: which axis each pair follows, and how fast it turns."""

import numpy as np
import pytest

import posenc as pe
from posenc.layouts import TYPICAL


@pytest.mark.parametrize("layout", TYPICAL, ids=str)
def test_every_pair_has_an_axis_and_a_frequency(layout):
    axis, w = layout.pairs(64)
    assert axis.shape == w.shape == (32,)
    assert set(axis.tolist()) == set(range(axis.max() + 1))
    assert (w > 0).all()


def test_a_block_has_the_frequencies_of_a_rope_of_its_size():
    axis, w = pe.Split(3, base=100.0, order=(2, 0, 1), shares=(1, 2, 3)).pairs(12)
    assert axis.tolist() == [2, 0, 0, 1, 1, 1]
    assert np.allclose(w, [1, 1, 100**-0.5, 1, 100 ** (-1 / 3), 100 ** (-2 / 3)])


@pytest.mark.parametrize("interleaved", [False, True])
def test_sections_are_counted_out_of_one_series(interleaved):
    axis, w = pe.Sections((11, 11, 10), interleaved=interleaved).pairs(64)
    assert np.bincount(axis).tolist() == [11, 11, 10]
    assert np.array_equal(w, pe.RoPE(64).frequencies())


def test_alternating_shares_one_series_out():
    w = pe.Alternating().pairs(16)[1]
    assert sorted(w.tolist(), reverse=True) == pe.RoPE(16).frequencies().tolist()


@pytest.mark.parametrize("layout", [pe.Alternating(), pe.Periods()], ids=str)
def test_two_axes_need_a_multiple_of_4(layout):
    with pytest.raises(ValueError, match="dim must be a multiple of 4, two channels for each axis"):
        layout.pairs(6)


@pytest.mark.parametrize("layout", [*TYPICAL, pe.SpaceThenTime((2, 3, 3))], ids=str)
def test_the_repr_reads_back(layout):
    assert eval(repr(layout), {name: getattr(pe, name) for name in pe.__all__}) == layout
