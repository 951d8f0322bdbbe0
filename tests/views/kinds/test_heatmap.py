"""The view `heatmap`: its numbers, recomputed in float64 with plain NumPy."""

import math

import numpy as np
import pytest

from posenc.views import view
from tests.views.formulas import frequencies, sinusoids

TOKENS = ("我", "爱", "学习", "AI")


def test_heatmap():
    (panel,) = view("sinusoidal", "heatmap", tokens="我 爱 学习 AI", dim=8).panels
    assert np.allclose(panel.values, sinusoids(4, 8), atol=1e-15)
    assert panel.rows.labels == TOKENS
    assert (panel.limit, panel.colours, panel.columns.name) == (1.0, "diverging", "dimension")


def test_heatmap_of_a_rotation_is_its_angles():
    (panel,) = view("rope", "heatmap", length=9, dim=8).panels
    turns = np.arange(9)[:, None] * frequencies(8)
    assert np.allclose(np.exp(1j * panel.values), np.exp(1j * turns), atol=1e-14)
    assert np.abs(panel.values).max() <= math.pi
    assert (panel.limit, panel.colours) == (math.pi, "cyclic")


@pytest.mark.parametrize("name", ["sinusoidal", "rope"])
def test_a_heatmap_of_channels_asked_for(name):
    (whole,) = view(name, "heatmap", length=5, dim=16).panels
    (some,) = view(name, "heatmap", length=5, dim=16, channels=[6, 1]).panels
    assert np.array_equal(some.values, whole.values[:, [6, 1]])
    assert some.columns.labels == ("6", "1")
