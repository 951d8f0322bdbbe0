"""The benchmark of a small GPT with each kind of encoding."""

import pytest

from posenc.bench import models
from posenc.bench.case import Request

pytestmark = pytest.mark.usefixtures("small")


@pytest.mark.parametrize("make", [models.train, models.generate])
def test_every_encoding_is_checked_and_runs_beside_the_hand_written_model(make):
    entries = make(Request()).entries
    names = ["RoPE", "ALiBi", "NoPE", "T5", "FIRE", "Transformer-XL"]
    assert list(entries) == [models.HAND, *(f"posenc, {name}" for name in names)]
    for entry in entries.values():
        for _ in range(5):  # beyond the steps after which a decoder starts again
            entry.run()
        assert entry.error().is_within  # of the model as it was, whatever it has learned


def test_a_model_that_rotates_by_other_positions_is_rejected(monkeypatch):
    made = models.make_models()
    wrong = models.make_encodings() | {"RoPE": models.RoPE(8, base=9_000.0, pairing="halves")}
    monkeypatch.setattr(models, "make_encodings", lambda: wrong)
    other = models.make_models()
    assert models.enter(made, lambda model: int).entries["posenc, RoPE"].error().is_within
    assert not models.enter(other, lambda model: int).entries["posenc, RoPE"].error().is_within
