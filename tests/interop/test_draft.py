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
