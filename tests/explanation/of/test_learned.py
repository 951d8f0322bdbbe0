"""A learned table: its rows, and the position after the last one."""

import numpy as np
import pytest

import posenc as pe
from tests.explanation.reading import matrix


def test_learned_ends_at_its_table():
    explained = pe.explain("learned", dim=4, length=3, seed=7)
    rows = np.random.default_rng(7).normal(scale=0.02, size=(3, 4)).astype(np.float32)
    assert matrix(explained["encodings"]) == pytest.approx(rows)
    assert explained["beyond"].words.startswith("Position 3 has no row")
    looked_up = pe.explain("learned", dim=4, length=3, seed=7, position=1)["lookup"]
    assert looked_up.words.startswith("Position 1 is looked up")
    assert matrix(looked_up) == pytest.approx(rows[1:2])
    beyond = pe.explain("learned", dim=4, length=3, position=9)["beyond"]
    assert beyond.words.startswith("Position 9 has no row")
    with pytest.raises(ValueError, match=r"0 .. 2; got position 3"):
        pe.Learned(3, 4).encode([3], {"table": rows})
