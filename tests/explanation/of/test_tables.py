"""Clipped distances and the table's rows."""

import numpy as np
import pytest

import posenc as pe
from tests.explanation.reading import matrix


def test_clipped_distances():
    explained = pe.explain(pe.ClippedBias(1, 2), length=5)
    behind = np.subtract.outer(np.arange(5), np.arange(5))
    assert np.array_equal(matrix(explained["distances"]), behind)
    assert np.array_equal(matrix(explained["rows"]), np.clip(behind, -2, 2) + 2)
    drawn = np.random.default_rng(0).normal(scale=0.02, size=(5, 1)).astype(np.float32)
    assert matrix(explained["bias-1"]) == pytest.approx(drawn[np.clip(behind, -2, 2) + 2, 0])
