"""Towers for images and video are read as the axes of their patches."""

import pytest

import posenc as pe
from posenc.interop.conventions import TOWERS

SIZES = {"hidden_size": 64, "num_attention_heads": 2, "num_hidden_layers": 3}
QWEN = {"depth": 3, "num_heads": 2, "patch_size": 14}
READ = {
    "DINOv3": (
        {"model_type": "dinov3_vit", **SIZES, "rope_theta": 50.0, "patch_size": 16},
        pe.AxialRoPE.dinov3(32, base=50.0),
    ),
    "Qwen2-VL": ({"model_type": "qwen2_vl_vision", **QWEN, "embed_dim": 64, "hidden_size": 99},
                 pe.AxialRoPE.qwen2_vl_vision(32)),
    "Qwen2.5-VL of 2025, whose part has the type of the whole": (
        {"model_type": "qwen2_5_vl", **QWEN, "hidden_size": 64},
        pe.AxialRoPE.qwen2_vl_vision(32),
    ),
    "Pixtral": (
        {"model_type": "pixtral", **SIZES, "head_dim": 16, "rope_theta": 1e4, "patch_size": 16},
        pe.AxialRoPE.pixtral(16),
    ),
    "MiniMax-M3": (
        {"model_type": "minimax_m3_vl_vision", **SIZES, "patch_size": 14,
         "rope_parameters": {"rope_type": "axial", "rope_theta": 100.0}},
        pe.AxialRoPE.split(32, axes=3, base=100.0, pairing="halves", shares=(5, 5, 5)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", READ)
def test_is_read(name):
    config, expected = READ[name]
    found = pe.read_config(config)
    assert found.layers == (expected,) * 3
    assert found.heads == 2
    assert found.head_dim == expected.dim
    assert any("positions are" in note for note in found.notes)


def test_a_whole_model_is_its_text_and_says_what_else_it_has():
    whole = {"model_type": "qwen2_vl", "vision_config": READ["Qwen2-VL"][0]}
    whole["text_config"] = {"num_hidden_layers": 2, "hidden_size": 256, "num_attention_heads": 2}
    found = pe.read_config(whole)
    assert found.model_type == "qwen2_vl_text"
    assert "the text model is read; pass the object under vision_config to read that part" in (
        found.notes
    )


@pytest.mark.parametrize("name", TOWERS)
def test_every_tower_has_the_layers_of_its_class(name):
    found = pe.read_config({"model_type": name})
    assert len(found.layers) == TOWERS[name].sizes.layers
    assert isinstance(found.layers[0], pe.AxialRoPE)


BAD = [
    ({"rope_parameters": [1]}, "rope_parameters must be an object or null"),
    ({"rope_parameters": {"rope_type": "yarn"}}, "rope_type must be one of axial, default; got"),
    ({"rope_theta": 9.0, "rope_parameters": {"rope_theta": 8.0}}, "must agree; got rope_theta=9.0"),
    ({"rope_theta": 0.5}, "rope_theta must be"),
    ({"rope_theta": 10**400}, "rope_theta must be"),
    ({"num_attention_heads": 7}, "hidden_size must be a multiple of the number of heads; got"),
    ({"num_hidden_layers": 10**9}, "num_hidden_layers must be"),
    ({"hidden_size": 10**9}, "hidden_size must be"),
    ({"hidden_size": 6}, "dim must be"),
]  # fmt: skip


@pytest.mark.parametrize(("fields", "message"), BAD)
def test_a_bad_tower_is_a_sentence(fields, message):
    with pytest.raises((ValueError, TypeError), match="must") as caught:
        pe.read_config({"model_type": "dinov3_vit", **SIZES, **fields})
    assert message in str(caught.value)


def test_a_tower_is_not_written():
    config = READ["DINOv3"][0]
    with pytest.raises(ValueError, match="like must be the config of a rotary model"):
        pe.to_config(pe.AxialRoPE.dinov3(32, base=7.0), like=config)
