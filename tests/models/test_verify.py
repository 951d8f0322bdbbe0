"""What `verify` measures, and that it can say no."""

import pytest
import torch

import posenc as pe
from tests.models.architectures import build


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", ["llama", "deepseek_v3", "qwen2_vl", "gptj", "modernbert"])
def test_what_a_model_has_is_proved(name, dtype):
    model = build(name, dtype=dtype)
    model.train()
    report = pe.models.verify(pe.models.swap(model, pe.read_config(model.config)))
    assert report.ok, str(report)
    places = [row.where for row in report.rows]
    ways = ["model"] if name == "modernbert" else ["model", "model"]
    assert places == ["layer 0", "layer 1", *ways]
    assert model.training
    assert all(row.bound > 0 for row in report.rows)


def test_a_bias_and_a_temperature_are_proved():
    model = pe.models.swap(build("gemma2"), pe.FIRE(4))
    report = pe.models.verify(model)
    assert report.ok, str(report)
    assert [row.what for row in report.rows[:2]] == ["output of attention"] * 2
    model = pe.models.swap(build("llama"), pe.Tempered(pe.RoPE(8), pe.LogN(4)))
    report = pe.models.verify(model)
    assert report.ok, str(report)
    what = [row.what for row in report.rows[:2]]
    assert what == ["rotated queries and keys", "output of attention"]


def test_nothing_is_proved_to_be_nothing():
    report = pe.models.verify(pe.models.swap(build("llama"), pe.NoPE()))
    assert report.ok
    assert report.rows[0].what == "queries and keys, not rotated"


def test_tables_that_are_wrong_are_found():
    model = pe.models.swap(build("llama"), pe.RoPE(8))
    model.model.rotary_emb.encodings[0].frequencies *= 1.0001
    failed = pe.models.verify(model).failed
    assert [row.where for row in failed] == ["layer 0", "layer 1"]


def test_positions_that_depend_on_the_cache_are_found(monkeypatch):
    """A model that does not count the tokens in its cache."""
    model = pe.models.swap(build("llama"), pe.RoPE(8))
    tables = model.model.rotary_emb.encodings[0]
    count = tables.forward
    monkeypatch.setattr(tables, "forward", lambda x, p: count(x, p if p.shape[1] > 1 else 0 * p))
    assert [row.what for row in pe.models.verify(model).failed] == ["token by token"]


def test_a_layer_whose_rotation_is_not_seen_is_not_proved(monkeypatch):
    model = pe.models.swap(build("llama"), pe.RoPE(8))
    monkeypatch.setattr("posenc.models.recording._is_rotation", lambda name, value: False)
    failed = pe.models.verify(model).failed
    assert [row.what for row in failed] == ["its rotation was not seen"] * 2


def test_notes_say_what_stays():
    model = build("deepseek_v3")
    report = pe.models.verify(pe.models.swap(model, pe.read_config(model.config)))
    assert report.notes == (
        "pairs of channels are those of the model, interleaved",
        "the model multiplies its products by 0.324119, 1.29648 of 1 / sqrt(16), which stays",
    )


def test_a_model_with_its_own_encoding_is_refused():
    with pytest.raises(ValueError, match="model must have been swapped; got one that has its own"):
        pe.models.verify(build("llama"))
