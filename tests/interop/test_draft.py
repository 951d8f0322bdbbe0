"""A config that is being changed; what it writes is tested by tests/interop/test_write.py."""

import pytest

import posenc as pe
from posenc.interop.draft import Draft, rope_parts
from tests.interop.configs import LLAMA, model


@pytest.mark.parametrize(
    ("fields", "dialect"),
    [
        ({"rope_parameters": {"rope_type": "default"}}, "rope_parameters"),
        ({"rope_scaling": {"type": "linear", "factor": 2.0}}, "rope_scaling"),
        ({"rope_theta": 1e4}, "rope_scaling"),
        ({"transformers_version": "5.22.2"}, "rope_parameters"),
        ({}, "rope_scaling"),
    ],
)
def test_the_dialect_of_a_file(fields, dialect):
    assert Draft.of(LLAMA | fields, None).dialect == dialect


def test_layers_that_share_an_encoding_are_chosen():
    config = model("smollm3", 8)
    draft = Draft.of(config, None)
    assert draft.choose_layers(pe.read_config(config), None) == [0, 1, 2, 4, 5, 6]


def test_a_length_is_written_under_each_name():
    config = LLAMA | {"seq_length": 4096}
    Draft.of(config, None).set_length(9)
    assert (config["max_position_embeddings"], config["seq_length"]) == (9, 9)


def test_the_parts_of_a_rotation():
    scaling = pe.Interpolation(2.0)
    assert rope_parts(pe.RoPE(16, base=5e5, scaling=scaling)) == (5e5, scaling)
    rope = pe.AxialRoPE.mrope(16, sections=(4, 2, 2), base=1e6)
    assert rope_parts(pe.Tempered(rope, pe.LogN(2048))) == (1e6, None)


def test_an_encoder_and_a_decoder_are_changed_one_by_one():
    stacks = {"encoder": model("t5_gemma_module"), "decoder": model("t5_gemma_module")}
    with pytest.raises(ValueError, match="like must be the config of one stack; it has an enc"):
        Draft.of({"model_type": "t5gemma", **stacks}, None)


@pytest.mark.parametrize("dialect", ["rope_scaling", "rope_parameters"])
def test_the_base_of_dbrx_is_written_where_it_stands(dialect):
    config = {"model_type": "dbrx", "d_model": 64, "n_heads": 4, "n_layers": 2, "max_seq_len": 128}
    config |= {"attn_config": {"kv_n_heads": 2, "rope_theta": 500_000}}
    rope = pe.RoPE(16, base=2e6, pairing="halves")
    written = pe.to_config(rope, like=config, dialect=dialect)
    assert written["attn_config"] == {"kv_n_heads": 2, "rope_theta": 2e6}
    assert pe.from_config(written) == rope
    assert config["attn_config"]["rope_theta"] == 500_000


@pytest.mark.parametrize("name", ["rope_pct", "rope_percent", "rotary_emb_fraction"])
def test_a_share_is_written_under_the_name_of_the_file(name):
    config = model("stablelm", **{name: 0.25}, rope_theta=1e4)
    rope = pe.RoPE(16, rotary_dim=8, pairing="halves")
    assert pe.to_config(rope, like=config)[name] == 0.5
