"""The view `wavelengths`: its numbers, recomputed in float64 with plain NumPy."""

import numpy as np
import pytest

import posenc as pe
from posenc.views import view
from tests.views.formulas import frequencies


def test_wavelengths_with_lengths_marked():
    made = view(["sinusoidal", "rope"], "wavelengths", tokens="我 爱 学习 AI", dim=8, trained=512)
    by_dimension, by_pair = made.panels
    periods = 2 * np.pi / frequencies(8)
    assert np.allclose(by_dimension.lines[0].y, np.repeat(periods, 2), rtol=1e-14)
    assert np.allclose(by_pair.lines[0].y, periods, rtol=1e-14)
    assert by_pair.y_axis.log
    marks = [(mark.name, mark.y) for mark in by_pair.marks]
    assert marks == [("length: 4", 4.0), ("trained length: 512", 512.0)]
    assert (by_dimension.steps, by_pair.steps) == (True, False)


def test_wavelengths_of_one_encoding_do_not_name_it_twice():
    made = view("sinusoidal", "wavelengths", length=9)
    assert made.title == "Sinusoidal(64): wavelengths"
    assert [line.name for line in made.panels[0].lines] == ["wavelength"]


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        (pe.XPos(8), [2 * np.pi / frequencies(8)]),
        (
            pe.AxialRoPE.split(8),
            2 * np.pi / np.array([[1, 0.01, np.nan, np.nan], [np.nan, np.nan, 1, 0.01]]),
        ),
        (pe.RoPE(8, scaling=pe.Proportional(0.5)), [[2 * np.pi, 20 * np.pi, np.inf, np.inf]]),
        (pe.AxialRoPE.dinov3(8), [[1, 10, np.nan, np.nan], [np.nan, np.nan, 1, 10]]),
    ],
)
def test_wavelengths_of_any_rotation_are_measured(encoding, expected):
    (panel,) = view(encoding, "wavelengths").panels
    lines = np.array([line.y for line in panel.lines])
    assert np.allclose(lines, expected, rtol=1e-12, equal_nan=True)


def test_a_line_of_fewer_pairs_ends_where_they_end():
    short, long = view(["RoPE(4)", "RoPE(8)"], "wavelengths").panels[0].lines
    assert np.isnan(short.y).tolist() == [False, False, True, True]
    assert np.isfinite(long.y).all()


def test_wavelengths_that_depend_on_the_length():
    encoding = pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 100))
    (panel,) = view(encoding, "wavelengths", length=200).panels
    assert np.allclose(panel.lines[0].y, 2 * np.pi / frequencies(8, 10_000 * 3 ** (8 / 6)))
