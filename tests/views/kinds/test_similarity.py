"""The view `similarity`: its numbers, recomputed in float64 with plain NumPy."""

import numpy as np
import pytest

from posenc.views import view
from tests.views.formulas import cosines, frequencies, sinusoids


def test_similarity():
    matrix, kernel = view("sinusoidal", "similarity", length=12, dim=16).panels
    expected = cosines(sinusoids(12, 16))
    assert np.allclose(matrix.values, expected, atol=1e-14)
    assert matrix.limit == pytest.approx(1.0)
    by_distance = [np.mean([expected[i + d, i] for i in range(12 - d)]) for d in range(12)]
    assert np.allclose(kernel.lines[0].y, by_distance, atol=1e-14)
    assert (matrix.unit, kernel.y_axis.name) == ("similarity", "")  # they stand side by side


def test_similarity_of_a_rotation_is_the_mean_cosine():
    matrix, kernel = view("rope", "similarity", length=12, dim=16).panels
    distance = np.arange(12)[:, None] - np.arange(12)
    expected = np.cos(distance[..., None] * frequencies(16)).mean(axis=-1)
    assert np.allclose(matrix.values, expected, atol=1e-13)
    assert np.allclose(kernel.lines[0].y, expected[:, 0], atol=1e-13)


def test_similarity_on_a_grid_is_with_the_point_in_the_middle():
    added, turned = view(["AxialSinusoidal(8)", "axial-rope"], "similarity", length=4).panels
    rows = sinusoids(4, 4)
    parts = cosines(rows)[:, 2]
    expected = (parts[:, None] + parts[None, :]) / 2
    assert np.allclose(added.values, expected, atol=1e-14)
    assert turned.values[2, 2] == pytest.approx(1.0)
    assert added.limit == turned.limit
