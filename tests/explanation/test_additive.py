"""Any additive encoding: its rows, and their sum with embeddings."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.explanation import maths
from tests.explanation.reading import matrix, values_in


@dataclass(frozen=True)
class Ramp(pe.Additive):
    """Falls by its channel for every position."""

    dim: int = 3

    def encode(self, positions, params=None, *, dtype=None):
        return -np.asarray(positions)[..., None] * np.arange(1.0, self.dim + 1)


def test_the_sum_has_the_numbers_of_the_last_row():
    explained = pe.explain(Ramp(), length=3)
    p = np.arange(3)[:, None]
    assert matrix(explained["encodings"]) == pytest.approx(-p * [1.0, 2.0, 3.0])
    x = (1 + p + np.arange(3)) / 10
    assert matrix(explained["addition"]) == pytest.approx(x - p * [1, 2, 3])
    (sum_of_two,) = explained["addition"].formulas
    assert values_in(sum_of_two) == pytest.approx([0.3, 2.0, -1.7])
    assert " − 2" in maths.text(sum_of_two)  # not + −2


def test_a_plane_of_a_grid_is_enough():
    explained = pe.explain(pe.AxialSinusoidal(12, axes=3), length=3)
    assert len(matrix(explained["encodings"])) == 9
