"""The view `maps`: its numbers, recomputed in float64 with plain NumPy."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.views import view


def test_maps():
    made = view("AxialSinusoidal(8)", "maps", length=5, channels=[0, 5])
    first, second = made.panels
    assert np.allclose(first.values, np.sin(np.arange(5))[:, None] * np.ones(5), atol=1e-15)
    assert np.allclose(second.values, np.cos(np.arange(5)) * np.ones((5, 1)), atol=1e-15)
    turned = view(pe.AxialRoPE.split(8), "maps", length=5, channels=[3]).panels[0]
    assert np.allclose(turned.values, np.arange(5) * 0.01 * np.ones((5, 1)), atol=1e-15)
    assert (turned.colours, turned.limit) == ("cyclic", math.pi)


def test_maps_choose_channels_of_either_axis():
    titles = [panel.title for panel in view("mrope", "maps").panels]
    assert all(title.startswith("pair ") for title in titles)
    pairs = [int(title.split()[1]) for title in titles]
    assert any(8 <= pair < 20 for pair in pairs)
    assert any(20 <= pair < 32 for pair in pairs)
    assert not any(pair < 8 for pair in pairs)  # they follow time, which stays at 0


@pytest.mark.parametrize(
    ("encoding", "note"),
    [
        ("mrope", "pairs 0–7 follow axis 0"),
        ("AxialSinusoidal(12, axes=3)", "dimensions 0–3 follow axis 0"),
    ],
)
def test_maps_say_what_one_picture_does_not_show(encoding, note):
    said = f"{note}, which is the same everywhere in one picture"
    assert view(encoding, "maps", length=4).notes == (said,)
    assert view("axial-rope", "maps", length=4).notes == ()


def test_maps_of_fourier_features_have_coordinates_from_0_to_1():
    made = view("fourier-features", "maps", length=4, channels=[0])
    matrix = pe.FourierFeatures(64).init(np.random.default_rng(0))["matrix"].astype(float)
    points = (np.stack(np.mgrid[:4, :4], axis=-1) + 0.5) / 4
    assert np.allclose(made.panels[0].values, np.cos(2 * np.pi * points @ matrix[:, 0]), atol=1e-6)
    assert made.notes == ("coordinates from 0 to 1", "parameters drawn at random, seed 0")
