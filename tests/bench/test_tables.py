"""The benchmark of sinusoidal tables."""

import numpy as np
import pytest

import posenc as pe
from posenc.bench import tables


def test_measures_every_way_and_its_error():
    result = tables.measure(rounds=1, length=2048, dim=16)
    rows = result["rows"]
    assert rows["straightforward, torch"]["ratio"] == 1.0
    assert rows["straightforward, torch"]["error"] > 1e-5
    assert rows["posenc, torch"]["error"] < 4e-8


def test_no_speed_is_reported_on_wrong_numbers(monkeypatch):
    right = pe.Sinusoidal.encode

    def wrong(self, positions, params=None, *, dtype=None):
        encoded = right(self, positions, params, dtype=dtype)
        return encoded + 1e-6 if dtype is np.float32 else encoded

    monkeypatch.setattr(pe.Sinusoidal, "encode", wrong)
    with pytest.raises(ArithmeticError, match=r"posenc, numpy: error 1e-06 is above 1.5e-07"):
        tables.measure(rounds=1, length=2048, dim=16)
