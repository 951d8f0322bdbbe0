"""The view `sum`: its numbers, recomputed in float64 with plain NumPy."""

import math

import numpy as np

from posenc.views import view
from tests.views.formulas import sinusoids


def test_sum():
    x, encoding, made = view("sinusoidal", "sum", tokens="the dog bit the man", dim=8).panels
    assert np.allclose(encoding.values, sinusoids(5, 8), atol=1e-15)
    assert np.array_equal(x.values + encoding.values, made.values)
    assert np.array_equal(x.values[0], x.values[3])
    from posenc.views.embedding import embeddings

    drawn = embeddings(("the", "dog", "bit", "the", "man"), 8)
    assert np.allclose(x.values, drawn * math.sqrt(0.5))  # sin^2 + cos^2 = 1 in each pair
    assert not np.isclose(x.values[0], x.values[1]).any()
    assert not np.isclose(made.values[0], made.values[3]).all()
    assert (
        x.limit == encoding.limit == made.limit == np.abs(np.stack([x.values, made.values])).max()
    )
