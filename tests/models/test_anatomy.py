"""Where positions come into a model."""

import pytest
import torch
import transformers

import posenc as pe
from posenc.models.anatomy import find_anatomy
from tests.models.architectures import SMALL, build


def make(name, **fields):
    config = transformers.AutoConfig.for_model(name, **fields)
    return transformers.AutoModel.from_config(config)


def test_the_rotary_module_the_layers_and_the_pairing_are_found():
    model = build("gemma3_text")
    found = find_anatomy(model)
    assert found.rotary is model.model.rotary_emb
    types = [(layer.number, layer.layer_type) for layer in found.layers]
    assert types == [(0, "sliding_attention"), (1, "full_attention")]
    assert [layer.attention for layer in found.layers] == [x.self_attn for x in model.model.layers]
    assert set(found.layouts) == {"sliding_attention", "full_attention"}
    assert found.pairing == "halves"
    assert found.encoding_of(found.layers[0]) == pe.RoPE(8, pairing="halves")


def test_the_text_model_is_taken_and_not_the_vision_tower():
    model = build("qwen2_vl")
    found = find_anatomy(model)
    assert found.owner is model.model.language_model
    assert found.layout_of(found.layers[0]).axes == 3


def test_latent_attention_has_interleaved_pairs_in_tables_of_halves():
    found = find_anatomy(build("deepseek_v3"))
    assert found.pairing == "interleaved"
    assert found.layouts[None].columns.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]


def test_stored_tables_are_found():
    found = find_anatomy(build("gptj").to(torch.bfloat16))
    assert found.name is None
    assert found.layouts[None].pairs == 2


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        (
            "gpt2",
            {"n_layer": 1, "n_embd": 32, "n_head": 4, "vocab_size": 64},
            "model must rotate its queries and keys, .* got gpt2, which has Learned, added to",
        ),
        (
            "bloom",
            {"n_layer": 1, "hidden_size": 32, "n_head": 4, "vocab_size": 64},
            "got bloom, which has ALiBi, added to the logits",
        ),
        (
            "roformer",
            SMALL | {"num_hidden_layers": 1},
            "a rotary module, or a table of sines and cosines .* got roformer, in which neither",
        ),
    ],
)
def test_models_that_cannot_be_swapped_are_refused(name, fields, message):
    with pytest.raises(ValueError, match=message):
        find_anatomy(make(name, **fields))


def test_two_rotary_modules_are_refused():
    model = build("llama")
    model.model.another = type(model.model.rotary_emb)(model.config)
    with pytest.raises(ValueError, match="one rotary module; got llama, which has 2: rotary_emb, "):
        find_anatomy(model)


def test_attention_that_takes_no_tables_is_refused():
    model = build("llama")
    for layer in model.model.layers:
        layer.self_attn = torch.nn.Identity()
    with pytest.raises(ValueError, match="as position_embeddings; got llama, which does not"):
        find_anatomy(model)
