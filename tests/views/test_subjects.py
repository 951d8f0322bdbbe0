"""What a reader names, with its parameters and what a config.json says of it."""

import json

import numpy as np

import posenc as pe
from posenc.views import view


def test_trained_parameters_are_shown_and_not_drawn():
    params = {"table": np.arange(12.0, dtype=np.float32).reshape(3, 4)}
    made = view(pe.Learned(3, 4), "heatmap", length=3, params=params)
    assert np.array_equal(made.panels[0].values, params["table"])
    assert made.notes == ()


def test_a_config_is_shown_with_its_trained_length(tmp_path):
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    made = view(tmp_path / "config.json", "wavelengths")
    assert made.title == "RoPE(16, pairing='halves'): wavelengths"
    assert [mark.name for mark in made.panels[0].marks] == ["trained length: 128"]


def test_a_config_keeps_its_notes_and_says_which_part_has_which(tmp_path):
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "t5", "num_heads": 8, "num_layers": 2}')
    seen = view(path, "bias", length=4)
    assert "T5Bias(8, bidirectional=True, scaled=False): encoder" in seen.notes
    assert "T5Bias(8, scaled=False): decoder" in seen.notes
    assert "layers 0-1 are in the encoder, 2-3 in the decoder" in seen.notes
    assert len(set(seen.notes)) == len(seen.notes)
    told = view(path, "bias", length=4, lang="ja").notes
    assert "T5Bias(8, scaled=False)：デコーダー" in told
