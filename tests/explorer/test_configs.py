"""A config.json is read as the library reads it, and nothing in it is left out silently."""

import json

import pytest

import posenc as pe
from posenc.i18n import LANGUAGES
from posenc.i18n import translate as told_in
from posenc.names.resolve import evaluate_encoding

ROPE = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2}


CONFIGS = [
    {"model_type": "llama", **ROPE, "rope_theta": 5e5},
    {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128},
    {"model_type": "t5", "num_layers": 2, "num_heads": 4, "d_model": 64},
    {"model_type": "bloom", "n_head": 4, "n_layer": 2, "hidden_size": 64},
    {
        "model_type": "qwen2",
        **ROPE,
        "rope_theta": 1e6,
        "rope_scaling": {
            "type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 2048,
        },
    },
    {"model_type": "llava", "text_config": {"model_type": "llama", **ROPE}},
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config["model_type"])
def test_a_config_is_what_the_library_reads(client, config):
    told = client.post("/api/v1/config", config)
    assert told.status == 200
    layers = list(dict.fromkeys(pe.read_config(config).layers))
    assert told.json["model_type"] == config["model_type"]
    assert [evaluate_encoding(expression) for expression in told.json["expressions"]] == layers


SWIN = {
    "model_type": "swin",
    "num_heads": [2, 4, 8, 16, 32],
    "depths": [1, 1, 1, 1, 1],
    "window_size": 7,
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_config_of_five_encodings_says_that_four_are_shown(client, lang):
    body = json.dumps(SWIN).encode()
    told = client.ask("POST", b"/api/v1/config", f"lang={lang}".encode(), body=body).json
    assert len(told["expressions"]) == 4
    assert "5" in told["notes"][0]
    assert "4" in told["notes"][0]
    four = SWIN | {"num_heads": [2, 4, 8, 16], "depths": [1] * 4}
    body = json.dumps(four).encode()
    again = client.ask("POST", b"/api/v1/config", f"lang={lang}".encode(), body=body).json
    assert again["notes"] == [told_in(note, lang) for note in pe.read_config(four).notes]


@pytest.mark.parametrize(
    ("lang", "parts", "note"),
    [
        ("en", ["encoder", "decoder"], "layers 0-1 are in the encoder, 2-3 in the decoder"),
        ("zh-Hant", ["編碼器", "解碼器"], "第 0-1 層屬於編碼器，第 2-3 層屬於解碼器"),
    ],
)
def test_a_config_keeps_its_notes_and_says_which_part_has_which(client, lang, parts, note):
    body = json.dumps({"model_type": "t5", "num_heads": 8, "num_layers": 2}).encode()
    told = client.ask("POST", b"/api/v1/config", f"lang={lang}".encode(), body=body).json
    assert told["parts"] == parts
    assert note in told["notes"]


@pytest.mark.parametrize("name", ["roberta", "opt"])
def test_a_config_says_that_positions_start_at_2(client, name):
    config = {
        "model_type": name,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "max_position_embeddings": 514,
    }
    told = client.post("/api/v1/config", config).json
    assert "the first token has position 2: add 2 to positions" in told["notes"]
    assert told["parts"] == [None]
