"""Vectors of tokens by their text."""

import numpy as np
import pytest

from posenc.views.embedding import embeddings


def test_a_token_has_its_vector_wherever_it_stands():
    one, other = embeddings(("dog", "bites", "man"), 16), embeddings(("man", "dog"), 16)
    assert np.array_equal(one[[2, 0]], other)
    assert not np.array_equal(one[0], one[1])
    assert np.array_equal(one[:, :8], embeddings(("dog", "bites", "man"), 8))


def test_vectors_are_standard_normal():
    drawn = embeddings(tuple(map(str, range(500))), 64)
    assert abs(drawn.mean()) < 4 / np.sqrt(drawn.size)
    assert drawn.std() == pytest.approx(1, abs=0.02)


def test_half_a_surrogate_pair_is_a_token_too():
    assert np.isfinite(embeddings(("\ud83d", ""), 4)).all()
