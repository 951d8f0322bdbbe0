import numpy as np
import pytest

import posenc as pe
from posenc.bench import attentions, rotations, tables
from posenc.bench.timing import interleaved


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


def test_rotations_are_measured_beside_a_copy():
    rows = rotations.measure(rounds=1, shape=(1, 2, 16, 8))["rows"]
    assert list(rows) == ["clone", "rotate, interleaved", "rotate, halves"]
    assert 0 < rows["rotate, halves"]["error"] < 2e-6


def test_attention_is_measured_beside_none_and_beside_a_dense_bias():
    rows = attentions.measure(rounds=1, shape=(1, 2, 300, 16))["rows"]
    assert next(iter(rows)) == "no bias, is_causal"
    assert {"ALiBi, attend, auto", "ALiBi, attend, folded", "T5, attend, auto"} < set(rows)
    assert all(0 < row["error"] < 1e-5 for row in rows.values())


def test_rounds_are_interleaved():
    calls = []
    interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2)
    assert "".join(calls) == "ababab"
