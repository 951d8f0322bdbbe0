"""The biases of transformers' attention against ours, to 1e-5; `make conformance` runs it."""

import importlib
import json

import pytest

pytest.importorskip("transformers", reason="transformers is not installed: make conformance")

import torch

import posenc as pe
from tests.conformance import bias_faults, biases, biases_page, page
from tests.conformance.biases import BOUND

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]

ROWS = {f"{row.name}, {row.compared}": row for row in biases.rows()}
every_row = pytest.mark.parametrize("row", ROWS.values(), ids=ROWS.keys())


@every_row
def test_attention_is_theirs(row: biases.Row) -> None:
    assert row.gap <= BOUND


@every_row
def test_a_mistake_is_seen(row: biases.Row) -> None:
    mistakes = row.wrong()
    assert mistakes
    assert min(mistakes.values()) > 1000 * BOUND, mistakes


@every_row
def test_what_was_caught_is_attention(row: biases.Row) -> None:
    """Probabilities sum to 1 and hide what is hidden; outputs lie within the values."""
    for layer in row.layers:
        if layer.v is not None:
            assert layer.theirs.abs().max() <= layer.v.abs().max() * (1 + 1e-6)
            continue
        sums = layer.theirs.sum(-1)
        real = sums if layer.real is None else sums.movedim(1, 0)[:, layer.real]
        assert (real - 1).abs().max() <= 1e-5
        hidden = layer.theirs.masked_fill(layer.seen, 0)
        hidden = hidden if layer.real is None else hidden.movedim(1, 0)[:, layer.real]
        assert hidden.max() <= 1e-40


@every_row
def test_from_config_gives_the_encoding_that_was_compared(row: biases.Row) -> None:
    for i, layer in enumerate(row.layers):
        assert pe.from_config(row.config, layer=row.start + i) == layer.ours.encoding


def test_twelve_heads_have_slopes_that_the_paper_s_sentence_does_not_give() -> None:
    for row in ROWS.values():
        heads = row.layers[0].ours.encoding.heads
        if isinstance(row.layers[0].ours.encoding, pe.ALiBi) and heads & (heads - 1):
            assert row.wrong()["slopes of the paper"] > 0.1


T5_SIZES = {"vocab_size": 64, "d_model": 16, "d_kv": 4, "d_ff": 16, "num_layers": 2, "num_heads": 4}
GLOBAL = {"encoder_attention_type": "transient-global"}
RELATIVES = [  # file and class in transformers.models, class of its config, fields, tables
    ("mt5.{}_mt5", "MT5Model", "MT5Config", T5_SIZES, 2),
    ("longt5.{}_longt5", "LongT5Model", "LongT5Config", T5_SIZES, 2),
    ("longt5.{}_longt5", "LongT5Model", "LongT5Config", T5_SIZES | GLOBAL, 2),
    (
        "switch_transformers.{}_switch_transformers",
        "SwitchTransformersModel",
        "SwitchTransformersConfig",
        T5_SIZES | {"num_decoder_layers": 2},
        2,
    ),
    (
        "pop2piano.{}_pop2piano",
        "Pop2PianoForConditionalGeneration",
        "Pop2PianoConfig",
        T5_SIZES,
        2,
    ),
    (
        "pix2struct.{}_pix2struct",
        "Pix2StructForConditionalGeneration",
        "Pix2StructConfig",
        {
            "text_config": {"num_layers": 2, "num_heads": 4, "hidden_size": 16, "d_kv": 4},
            "vision_config": {"num_hidden_layers": 1, "hidden_size": 16, "num_attention_heads": 4},
        },
        1,
    ),
    ("t5.{}_t5", "T5EncoderModel", "T5Config", T5_SIZES, 1),
    ("donut.{}_donut_swin", "DonutSwinModel", "DonutSwinConfig", biases.SWIN, 3),
    (
        "maskformer.{}_maskformer_swin",
        "MaskFormerSwinModel",
        "MaskFormerSwinConfig",
        biases.SWIN,
        3,
    ),
]


@pytest.mark.parametrize(("file", "kind", "config", "sizes", "tables"), RELATIVES)
def test_relatives_keep_their_tables_under_the_same_names(
    file: str, kind: str, config: str, sizes: dict[str, object], tables: int
) -> None:
    modules = (
        importlib.import_module(f"transformers.models.{file.format(part)}")
        for part in ("modeling", "configuration")
    )
    make, configure = (
        getattr(module, name) for module, name in zip(modules, (kind, config), strict=True)
    )
    model = make(configure(**sizes))
    weights = model.state_dict()
    layers = pe.from_state_dict(json.loads(model.config.to_json_string()), weights)
    taken = {params["table"].data_ptr() for _, params in layers}
    named = {
        value.data_ptr()
        for name, value in weights.items()
        if name.endswith((".relative_attention_bias.weight", "relative_position_bias_table"))
    }
    assert taken == named
    assert len(taken) == tables


def test_faults_are_still_there() -> None:
    """When one of these fails, they have mended it: take it off the page."""
    falcon = bias_faults.falcon_float32()
    assert falcon[2048][0] > 0.05
    assert falcon[2048][1] < 1e-8
    theirs, ours, alike = bias_faults.bloom(torch.bfloat16)[2048]
    assert theirs > 0.3
    assert ours < 1e-3
    assert alike > 8
    once, twice = bias_faults.falcon_eager()
    assert once > 0.1
    assert twice <= BOUND
    assert bias_faults.mpt_options() == (0.0, 0.0)
    assert "must match" in bias_faults.swin_small_map()
    assert bias_faults.swinv2_mask() == pytest.approx(-200)


def test_falcon_is_exact_up_to_256_and_not_beyond() -> None:
    """A position of 256 has 8 bits, 257 has 9; slopes of 12 heads have more from the start."""
    assert biases.falcon(8, 257).gap <= BOUND
    assert biases.falcon(8, 258).gap > 1000 * BOUND
    assert biases.falcon(12, 64).gap > 1000 * BOUND


def test_the_page_says_what_was_compared() -> None:
    written = page.PAGE.read_text(encoding="utf-8")
    for row in ROWS.values():
        assert f"| {row.name} | {row.compared} | " in written
    assert "## Attention with a bias" in written
    assert biases_page.shipped() in written
