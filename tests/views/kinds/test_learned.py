"""The view `learned`: its numbers, recomputed in float64 with plain NumPy."""

import numpy as np

import posenc as pe
from posenc.views import view
from tests.views.formulas import cosines, sinusoids


def test_learned_beside_sinusoidal():
    table, alike, waves, waves_alike = view("learned", "learned", length=6, dim=8).panels
    drawn = pe.Learned(512, 8).init(np.random.default_rng(0))["table"][:6].astype(float)
    assert np.allclose(table.values, drawn, atol=1e-9)
    assert np.allclose(alike.values, cosines(drawn), atol=1e-7)
    assert np.allclose(waves.values, sinusoids(6, 8), atol=1e-15)
    assert np.allclose(waves_alike.values, cosines(sinusoids(6, 8)), atol=1e-14)
    assert alike.title == "Learned(512, 8): similarity of positions"
    assert waves_alike.title == "Sinusoidal(8): similarity of positions"
