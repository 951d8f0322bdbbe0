"""The benchmark of a model whose encoding was swapped."""

import pytest

import posenc as pe
from posenc.bench import swaps
from posenc.bench.case import Request

pytestmark = pytest.mark.usefixtures("small")


def test_every_swapped_model_is_checked_and_runs_beside_the_model_as_it_was():
    entries = swaps.generate(Request()).entries
    names = ["RoPE", "NoPE", "ALiBi", "T5"]
    assert list(entries) == [swaps.OWN, *(f"posenc, {name}" for name in names)]
    assert [entry.ours for entry in entries.values()] == [False, *[True] * 4]
    for entry in entries.values():
        for _ in range(5):  # beyond the steps after which it starts again
            entry.run()
        assert entry.error().is_within


def test_a_model_with_another_rotation_is_rejected(monkeypatch):
    monkeypatch.setattr(swaps, "RoPE", lambda dim: pe.RoPE(dim, base=9_000.0))
    entries = swaps.generate(Request()).entries
    assert not entries["posenc, RoPE"].error().is_within


def test_without_transformers_nothing_is_timed(monkeypatch):
    monkeypatch.setattr(swaps, "find_spec", lambda name: None)
    setup = swaps.generate(Request())
    assert setup.entries == {}
    assert setup.missing == {swaps.OWN: "transformers is not installed"}
