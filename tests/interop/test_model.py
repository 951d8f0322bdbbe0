"""What a model's positions print, and what its layers are called."""

import pytest

import posenc as pe
from posenc.i18n import translate as told_in
from posenc.interop.model import label_groups
from tests.interop.configs import LLAMA, model


def test_a_notebook_shows_a_short_table_with_everything_escaped():
    html = pe.read_config(model("smollm3", 8))._repr_html_()
    assert html.startswith("<b>smollm3</b>: 8 layers, trained length 4,096<table>")
    assert "<tr><td>3, 7</td><td><code>NoPE()</code></td>" in html
    assert "<ul><li>" in html
    name = "<script>&"
    html = pe.read_config(model(name, rope_theta=1e4), pairing="halves")._repr_html_()
    assert "<b>&lt;script&gt;&amp;</b>" in html
    assert name not in html
    many = model("granite_swa", 40, layer_rope_theta=[1e4 + i for i in range(40)])
    html = pe.read_config(many)._repr_html_()
    assert "and 28 more" in html
    assert html.count("<tr>") == 1 + 12 + 1
    assert len(html) < 8_000


GEMMA3 = {
    "model_type": "gemma3_text",
    "hidden_size": 64,
    "num_attention_heads": 4,
    "num_hidden_layers": 6,
    "head_dim": 16,
    "layer_types": ["sliding_attention"] * 5 + ["full_attention"],
}

T5 = {"model_type": "t5", "num_heads": 8, "num_layers": 2}


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        (LLAMA, [None]),
        (T5, ["encoder", "decoder"]),
        (T5 | {"is_encoder_decoder": False}, [None]),
        (GEMMA3, ["local layers", "global layers"]),
        (
            LLAMA
            | {
                "model_type": "smollm3",
                "rope_theta": 5e6,
                "num_hidden_layers": 4,
                "no_rope_layers": [1, 1, 1, 0],
            },
            ["layers 0-2", "layers 3"],
        ),
    ],
)
def test_each_encoding_is_said_to_be_of_a_part_of_the_model(config, parts):
    assert [part for _, part in label_groups(pe.read_config(config))] == parts


def test_notes_are_told_in_other_languages():
    roberta = {
        "model_type": "roberta",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "max_position_embeddings": 514,
    }
    note = pe.read_config(roberta).notes[0]
    assert note == "the first token has position 2: add 2 to positions"
    assert told_in(note, "zh-Hans") == "第一个 token 的位置是 2：位置须加上 2"
