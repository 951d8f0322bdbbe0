"""The view `waves`: its numbers, recomputed in float64 with plain NumPy."""

import numpy as np
import pytest

import posenc as pe
from posenc.views import view


def test_waves_are_smooth_and_pass_through_the_positions():
    (panel,) = view("sinusoidal", "waves", length=5, dim=8, channels=[0, 3]).panels
    assert [line.name for line in panel.lines] == ["dimension 0", "dimension 3"]
    assert np.allclose(panel.lines[0].y, np.sin(panel.x), atol=1e-14)
    assert np.allclose(panel.lines[1].y, np.cos(panel.x * 0.1), atol=1e-14)
    assert set(range(5)) <= set(panel.x.tolist())


@pytest.mark.parametrize(("length", "points"), [(5, 16), (64, 16), (1_024, 4), (4_096, 1)])
def test_smooth_waves_have_fewer_points_between_many_positions(length, points):
    (panel,) = view("sinusoidal", "waves", length=length, dim=4, channels=[0]).panels
    assert len(panel.x) == points * (length - 1) + 1
    assert np.array_equal(panel.x[::points], np.arange(length))
    assert np.allclose(panel.lines[0].y, np.sin(panel.x), atol=1e-12)


def test_waves_of_a_table_are_at_whole_positions():
    (panel,) = view(pe.Learned(9, 4), "waves", length=9).panels
    table = pe.Learned(9, 4).init(np.random.default_rng(0))["table"]
    assert panel.x.tolist() == list(range(9))
    assert np.array_equal(panel.lines[0].y, table[:, 0])


@pytest.mark.parametrize("name", ["sinusoidal", "rope"])
@pytest.mark.parametrize("length", [4, 5, 12, 64, 500])
def test_waves_move_within_the_length_and_none_hides_another(name, length):
    (panel,) = view(name, "waves", length=length).panels
    lines = np.stack([line.y for line in panel.lines])
    assert 4 <= len(lines) <= 5
    assert np.ptp(lines, axis=1).min() >= 0.5
    for i in range(len(lines)):
        for j in range(i):
            assert np.abs(lines[i] - lines[j]).max() > 0.1


def test_waves_of_what_does_not_move_are_drawn_all_the_same():
    assert len(view("sinusoidal", "waves", length=1).panels[0].lines) == 5


def test_waves_of_a_rotation_are_its_cosines():
    (panel,) = view("rope", "waves", length=5, dim=8, channels=[1]).panels
    assert np.allclose(panel.lines[0].y, np.cos(panel.x * 0.1), atol=1e-14)
