"""Configs of real models, cut down to what tells positions, in the spellings of both versions."""

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.i18n import told as told_in
from posenc.interop.conventions import ABSOLUTE, ROTARY
from posenc.interop.defaults import SIZES
from posenc.interop.describe import MEANS, SCALINGS, compare, describe
from posenc.interop.model import label_groups
from tests.slow import slow

SIZE = {"hidden_size": 64, "num_attention_heads": 4, "max_position_embeddings": 4096}
LLAMA = {"model_type": "llama", "num_hidden_layers": 2, **SIZE}
LLAMA3 = {
    "rope_type": "llama3",
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 512,
}
YARN = {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024}


def model(name, layers=2, **fields):
    return {"model_type": name, "num_hidden_layers": layers, **SIZE, **fields}


def without(config, *names):
    return {name: value for name, value in config.items() if name not in names}


HALVES = {"pairing": "halves"}
SHARED = {  # a config, and the encoding that all its layers share
    "llama v4": (LLAMA | {"rope_theta": 5e5}, pe.RoPE(16, base=5e5, **HALVES)),
    "llama v5": (
        LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
        pe.RoPE(16, base=5e5, **HALVES),
    ),
    "llama without a word": (LLAMA, pe.RoPE(16, base=1e4, **HALVES)),
    "llama with a head_dim": (LLAMA | {"head_dim": 32}, pe.RoPE(32, **HALVES)),
    "llama of null": (LLAMA | {"rope_scaling": None, "head_dim": None}, pe.RoPE(16, **HALVES)),
    "llama 3": (
        LLAMA | {"rope_theta": 5e5, "rope_scaling": LLAMA3},
        pe.RoPE(16, base=5e5, scaling=pe.Llama3(8.0, 512), **HALVES),
    ),
    "llama 4 scout's scaling": (
        LLAMA | {"rope_scaling": LLAMA3 | {"low_freq_factor": 0.5, "high_freq_factor": 2.0}},
        pe.RoPE(16, scaling=pe.Llama3(8.0, 512, 0.5, 2.0), **HALVES),
    ),
    "linear": (
        LLAMA | {"rope_scaling": {"type": "linear", "factor": 2}},
        pe.RoPE(16, scaling=pe.Interpolation(2.0), **HALVES),
    ),
    "dynamic": (
        LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2.0}},
        pe.RoPE(16, scaling=pe.DynamicNTK(2.0, 4096), **HALVES),
    ),
    "hunyuan's dynamic": (
        model(
            "hunyuan_v1_dense",
            rope_scaling={"type": "dynamic", "alpha": 1000.0, "factor": 1.0, "beta_fast": 32},
        ),
        pe.RoPE(16, scaling=pe.NTK(1000.0), **HALVES),
    ),
    "qwen2 yarn": (
        model("qwen2", rope_theta=1e6, rope_scaling=YARN),
        pe.RoPE(16, base=1e6, scaling=pe.YaRN(4.0, 1024), **HALVES),
    ),
    "gpt_neox": (
        model("gpt_neox", rotary_pct=0.5, rotary_emb_base=25_000),
        pe.RoPE(16, base=25_000, rotary_dim=8, **HALVES),
    ),
    "gpt_neox's own share": (model("gpt_neox"), pe.RoPE(16, rotary_dim=4, **HALVES)),
    "phi": (
        model("phi", partial_rotary_factor=0.25),
        pe.RoPE(16, rotary_dim=4, **HALVES),
    ),
    "glm": (model("glm", head_dim=16), pe.RoPE(16, rotary_dim=8, pairing="interleaved")),
    "gptj": (
        {"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2, "rotary_dim": 8},
        pe.RoPE(16, rotary_dim=8, pairing="interleaved"),
    ),
    "phi3 longrope": (
        model(
            "phi3",
            original_max_position_embeddings=1024,
            rope_scaling={"type": "su", "short_factor": [1.0] * 8, "long_factor": [2.0] * 8},
        ),
        pe.RoPE(16, scaling=pe.LongRoPE((1.0,) * 8, (2.0,) * 8, 1024, factor=4.0), **HALVES),
    ),
    "phimoe": (
        model(
            "phimoe",
            rope_scaling={
                "type": "longrope",
                "short_factor": [1.0] * 8,
                "long_factor": [2.0] * 8,
                "original_max_position_embeddings": 1024,
                "short_mscale": 1.25,
                "long_mscale": 1.25,
            },
        ),
        pe.RoPE(
            16,
            base=1e6,
            scaling=pe.LongRoPE((1.0,) * 8, (2.0,) * 8, 1024, factor=4.0, attention_factor=1.25),
            **HALVES,
        ),
    ),
    "deepseek_v3": (
        model(
            "deepseek_v3",
            qk_nope_head_dim=16,
            qk_rope_head_dim=8,
            rope_theta=10_000,
            rope_scaling=YARN | {"factor": 40, "mscale": 1.0, "mscale_all_dim": 0.5},
        ),
        pe.RoPE(
            24,
            base=10_000,
            rotary_dim=8,
            rotated="trailing",
            scaling=pe.YaRN(40.0, 1024, mscale=1.0, mscale_all_dim=0.5),
        ),
    ),
    "deepseek_v3 by halves": (
        model("deepseek_v3", qk_nope_head_dim=16, qk_rope_head_dim=8, rope_interleave=False),
        pe.RoPE(24, rotary_dim=8, rotated="trailing", **HALVES),
    ),
    "gpt_oss": (
        model("gpt_oss", head_dim=64, rope_scaling=YARN | {"truncate": False}),
        pe.RoPE(64, base=150_000.0, scaling=pe.YaRN(4.0, 1024, truncate=False), **HALVES),
    ),
    "gpt_oss without a word": (
        model("gpt_oss"),
        pe.RoPE(64, base=150_000.0, scaling=pe.YaRN(32.0, 4096, truncate=False), **HALVES),
    ),
    "ministral3": (
        model(
            "ministral3",
            head_dim=16,
            rope_parameters=YARN
            | {"rope_type": "yarn", "rope_theta": 1e6, "llama_4_scaling_beta": 0.2},
        ),
        pe.Tempered(
            pe.RoPE(16, base=1e6, scaling=pe.YaRN(4.0, 1024), **HALVES),
            pe.MinistralTemperature(1024, 0.2),
        ),
    ),
    "mistral4": (
        model(
            "mistral4",
            qk_nope_head_dim=8,
            qk_rope_head_dim=8,
            rope_parameters=YARN
            | {"rope_theta": 1e4, "partial_rotary_factor": 0.5, "llama_4_scaling_beta": 0.1},
        ),
        pe.Tempered(
            pe.RoPE(16, base=1e4, rotary_dim=8, rotated="trailing", scaling=pe.YaRN(4.0, 1024)),
            pe.MinistralTemperature(1024, 0.1),
        ),
    ),
    "qwen2_vl, flat as in version 4": (
        model("qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]}),
        pe.AxialRoPE.mrope(16, sections=(2, 3, 3), base=1e6),
    ),
    "qwen2_vl, nested as in version 5": (
        {
            "model_type": "qwen2_vl",
            "text_config": model(
                "qwen2_vl_text",
                rope_parameters={
                    "rope_type": "default",
                    "rope_theta": 5e4,
                    "mrope_section": [2, 3, 3],
                },
            ),
        },
        pe.AxialRoPE.mrope(16, sections=(2, 3, 3), base=5e4),
    ),
    "qwen3_vl": (
        {
            "model_type": "qwen3_vl",
            "text_config": model(
                "qwen3_vl_text",
                head_dim=16,
                rope_scaling={
                    "mrope_interleaved": True,
                    "mrope_section": [4, 2, 2],
                    "rope_type": "default",
                },
            ),
        },
        pe.AxialRoPE.mrope(16, sections=(4, 2, 2), interleaved=True, base=5e5),
    ),
    "ernie4_5_vl_moe": (
        model("ernie4_5_vl_moe_text", rope_parameters={"mrope_section": [3, 3, 2]}),
        pe.AxialRoPE(
            16,
            (1, 2, 1, 2, 1, 2, 0, 0),
            tuple(pe.RoPE(16, base=5e5).frequencies().tolist()),
        ),
    ),
    "bert": (model("bert"), pe.Learned(4096, 64)),
    "electra": (model("electra", embedding_size=32), pe.Learned(4096, 32)),
    "gpt2": (
        {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 1024},
        pe.Learned(1024, 64),
    ),
    "opt": (model("opt"), pe.Learned(4098, 64)),
    "roberta": (model("roberta") | {"max_position_embeddings": 514}, pe.Learned(514, 64)),
    "vit": (model("vit", image_size=224, patch_size=16), pe.Learned(197, 64)),
    "marian": (
        {
            "model_type": "marian",
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 1,
            "max_position_embeddings": 512,
        },
        pe.Sinusoidal(64, layout="concat"),
    ),
    "m2m_100": (
        {
            "model_type": "m2m_100",
            "d_model": 64,
            "encoder_layers": 2,
            "decoder_layers": 1,
            "max_position_embeddings": 512,
        },
        pe.Sinusoidal(64, layout="concat", spacing="t2t"),
    ),
    "bloom": ({"model_type": "bloom", "n_head": 8, "n_layer": 2}, pe.ALiBi(8)),
    "mpt": (
        {"model_type": "mpt", "n_heads": 8, "n_layers": 2, "attn_config": {"alibi": True}},
        pe.ALiBi(8),
    ),
    "falcon with alibi": (model("falcon", alibi=True), pe.ALiBi.falcon(4, 16)),
    "jina": (model("bert", position_embedding_type="alibi"), pe.ALiBi(4)),
    "falcon": (model("falcon", alibi=False), pe.RoPE(16, **HALVES)),
    "esm with a table": (model("esm") | {"max_position_embeddings": 1026}, pe.Learned(1026, 64)),
    "esm": (model("esm", position_embedding_type="rotary"), pe.RoPE(16, **HALVES)),
    "granitemoehybrid": (model("granitemoehybrid"), pe.NoPE()),
    "jamba": (model("jamba"), pe.NoPE()),
}


@pytest.mark.parametrize("name", SHARED)
def test_the_encoding_that_all_layers_share(name):
    config, expected = SHARED[name]
    assert pe.from_config(config) == expected


def bases(config):
    layers = pe.read_config(config).layers
    return [getattr(layer, "base", None) for layer in layers]


SHARED_GEMMA = model("gemma3_text", 7, head_dim=16, sliding_window=512)


@pytest.mark.parametrize(
    "more",
    [
        {"rope_theta": 2e6, "rope_local_base_freq": 2e4, "sliding_window_pattern": 3},
        {
            "rope_theta": 2e6,
            "rope_local_base_freq": 2e4,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"] * 2
            + ["sliding_attention"],
        },
        {
            "sliding_window_pattern": 3,
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 2e4},
                "full_attention": {"rope_type": "default", "rope_theta": 2e6},
            },
        },
    ],
)
def test_gemma_3_alternates_two_bases(more):
    local, everywhere = 2e4, 2e6
    expected = [local, local, everywhere, local, local, everywhere, local]
    assert bases(SHARED_GEMMA | more) == expected


def test_gemma_3_scales_its_global_layers_only():
    scaled = {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}
    found = pe.read_config({"model_type": "gemma3", "text_config": SHARED_GEMMA | scaled})
    assert found.layers[5].scaling == pe.Interpolation(8.0)
    assert found.layers[5].base == 1e6
    assert found.layers[4] == pe.RoPE(16, pairing="halves")


def test_modernbert_starts_with_a_global_layer_and_scales_both():
    config = model("modernbert", 4, rope_scaling={"type": "linear", "factor": 2.0})
    assert bases(config) == [160_000.0, 1e4, 1e4, 160_000.0]
    assert pe.from_config(config, layer=1).scaling == pe.Interpolation(2.0)


def test_gemma_4_has_wide_heads_of_which_a_quarter_of_the_pairs_turns():
    found = pe.read_config(model("gemma4_text", 8, head_dim=16, global_head_dim=32))
    wide = pe.RoPE(32, base=1e6, pairing="halves", scaling=pe.Proportional(0.25))
    assert found.layers[5] == found.layers[7] == wide  # the last layer is global anyway
    assert found.layers[6] == pe.RoPE(16, pairing="halves")


@pytest.mark.parametrize(
    "fields", [{}, {"layer_types": ["sliding_attention"] * 8}, {"layer_types": ["local"] * 8}]
)
@pytest.mark.parametrize("name", ["gemma4_text", "gemma4_unified_text", "embedding_gemma2_text"])
def test_the_last_layer_of_gemma_4_is_global_whatever_the_file_says(name, fields):
    found = pe.read_config(model(name, 8, head_dim=16, global_head_dim=32, **fields))
    assert found.layers[7].dim == 32
    assert found.layers[6].dim == 16
    assert found.parts[7] == "full_attention"
    kind = fields.get("layer_types", [None])[-1]
    note = f"the last layer is global in {name}, though layer_types says {kind!r}"
    assert (note in found.notes) == bool(fields)


def test_llama_4_rotates_three_of_four_layers_and_tempers_the_fourth():
    text = without(model("llama4_text", 8, head_dim=16, rope_theta=5e5), "model_type")
    found = pe.read_config({"model_type": "llama4", "text_config": text})
    still = pe.Tempered(pe.NoPE(), pe.Llama4Temperature(8192.0, 0.1))
    assert found.layers == ((pe.RoPE(16, base=5e5),) * 3 + (still,)) * 2
    plain = text | {"attn_temperature_tuning": False, "no_rope_layers": [0] + [1] * 7}
    found = pe.read_config({"model_type": "llama4", "text_config": plain})
    assert found.layers == (pe.NoPE(),) + (pe.RoPE(16, base=5e5),) * 7


def test_no_rope_layers_are_those_with_rope():
    config = model("smollm3", 4, no_rope_layers=[1, 0, 1, 1])
    assert bases(config) == [2e6, None, 2e6, 2e6]
    assert bases(model("smollm3", 4, no_rope_layer_interval=2)) == [2e6, None, 2e6, None]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (model("cohere2", 5), [1e4] * 3 + [None, 1e4]),
        (model("cohere2", 5, sliding_window_pattern=2), [1e4, None, 1e4, None, 1e4]),
        (model("exaone4", 5, sliding_window_pattern="LLG"), [1e4, 1e4, None, 1e4, None]),
        (model("exaone4", 5, sliding_window=None), [1e4] * 5),
        (model("beam", 8), [1e4] * 5 + [None, 1e4, None]),
        (model("beam", 2, layer_types=["sliding_attention"] * 2), [1e4, 1e4]),
        (model("qwen3_next", 4, head_dim=16), [None] * 3 + [1e4]),
        (model("bamba", 3, attn_layer_indices=[1]), [None, 1e4, None]),
        (model("granite_swa", 3, layer_rope_theta=[1e4, 0, 5e5]), [1e4, None, 5e5]),
        (
            model("deepseek_v4", 2, head_dim=64, rope_theta=1e4, compress_rope_theta=16e4)
            | {"layer_types": ["sliding_attention", "compressed_sparse_attention"]},
            [1e4, 16e4],
        ),
        (
            model("deepseek_v4", 2, head_dim=64)
            | {"layer_types": ["sliding_attention", "compressed_sparse_attention"]}
            | {"rope_parameters": {"main": {"rope_theta": 3e4}, "compress": {"rope_theta": 7e4}}},
            [3e4, 7e4],
        ),
    ],
)
def test_layers_that_differ(config, expected):
    assert bases(config) == expected


def test_truncate_is_that_of_the_layer():
    """Transformers reads it from the outer dict, and so never finds it."""
    full = YARN | {"rope_theta": 5e5, "truncate": False}
    parameters = {"full_attention": full, "sliding_attention": {"rope_theta": 5e5}}
    types = ["full_attention", "sliding_attention"]
    found = pe.read_config(model("olmo3", layer_types=types, rope_parameters=parameters))
    assert found.layers[0].scaling == pe.YaRN(4.0, 1024, truncate=False)
    assert found.layers[0] != pe.RoPE(16, base=5e5, scaling=pe.YaRN(4.0, 1024), pairing="halves")
    assert found.layers[1].scaling is None


def test_a_layer_type_with_null_parameters_has_no_positions():
    parameters = {"full_attention": None, "sliding_attention": {"rope_theta": 1e4}}
    assert bases(model("beam", 6, head_dim=16, rope_parameters=parameters)) == [1e4] * 5 + [None]


def test_nanochat_turns_backwards():
    rope = pe.from_config(model("nanochat"))
    x = np.random.default_rng(0).normal(size=(3, 16))
    forwards = pe.RoPE(16, pairing="halves")
    assert np.allclose(rope.rotate(x, [1, 2, 3]), forwards.rotate(x, [-1, -2, -3]))
    assert not np.allclose(rope.rotate(x, [1, 2, 3]), forwards.rotate(x, [1, 2, 3]))


def test_whisper_has_sines_over_sound_and_a_table_over_text():
    config = {"model_type": "whisper", "d_model": 64, "encoder_layers": 2, "decoder_layers": 1}
    config |= {"max_source_positions": 1500, "max_target_positions": 448}
    sines = pe.Sinusoidal(64, layout="concat", spacing="t2t")
    assert pe.read_config(config).layers == (sines, sines, pe.Learned(448, 64))


def test_t5_looks_both_ways_in_its_encoder():
    config = {"model_type": "t5", "num_heads": 8, "num_layers": 2, "num_decoder_layers": 1}
    config |= {"relative_attention_num_buckets": 16}
    both = pe.T5Bias(8, buckets=16, bidirectional=True, scaled=False)
    back = pe.T5Bias(8, buckets=16, scaled=False)
    found = pe.read_config(config)
    assert found.layers == (both, both, back)
    assert "the layers of a stack share one table" in found.notes
    assert "layers 0-1 are in the encoder, 2-2 in the decoder" in found.notes
    assert pe.from_config(config | {"is_encoder_decoder": False}) == both
    assert pe.from_config(config | {"model_type": "pix2struct_text_model"}) == back
    long = config | {"model_type": "longt5", "encoder_attention_type": "transient-global"}
    assert "the separate table for block averages is not read" in (pe.read_config(long).notes)


SWIN = {"model_type": "swin", "image_size": 32, "patch_size": 2, "window_size": 4}
SWIN |= {"depths": [2, 1], "num_heads": [2, 4], "num_layers": 2}


def test_swin_has_the_heads_of_its_stages():
    found = pe.read_config(SWIN)
    first, second = (pe.SwinBias(heads, (4, 4)) for heads in (2, 4))
    assert found.layers == (first, first, second)
    assert (found.heads, found.trained_length) == (None, None)
    assert found.notes == ("positions are rows and columns within a window: grid(height, width)",)
    plain = pe.read_config({"model_type": "swin"})
    assert [layer.heads for layer in plain.layers] == [3] * 2 + [6] * 2 + [12] * 6 + [24] * 2
    assert {layer.window for layer in plain.layers} == {(7, 7)}
    assert not any("fails" in note for note in plain.notes)
    assert sum("is the default of swin" in note for note in plain.notes) == 5


def test_swin_keeps_its_window_where_the_map_is_smaller_and_says_that_it_fails():
    found = pe.read_config(SWIN | {"window_size": 9})
    assert found.layers[2] == pe.SwinBias(4, (9, 9))
    note = "the last feature map has side 8, smaller than the window: transformers fails there"
    assert note in found.notes
    rounded_up = pe.read_config(SWIN | {"window_size": 8, "image_size": [29, 40]})
    assert not any("fails" in note for note in rounded_up.notes)


def test_swin_v2_has_no_window_higher_than_its_map():
    config = SWIN | {"model_type": "swinv2", "window_size": 10}
    found = pe.read_config(config | {"pretrained_window_sizes": [6, 0, 0, 0]})
    first = pe.SwinV2Bias(2, (10, 10), pretrained_window=(6, 6))
    assert found.layers == (first, first, pe.SwinV2Bias(4, (8, 8)))
    assert any("cosine attention" in note for note in found.notes)
    assert pe.from_config(config | {"image_size": [16, 32]}, layer=2).window == (4, 4)


def test_trained_length_heads_and_head_dim():
    plain = pe.read_config(LLAMA)
    assert (plain.trained_length, plain.heads, plain.head_dim) == (4096, 4, 16)
    assert pe.read_config(LLAMA | {"rope_scaling": LLAMA3}).trained_length == 512
    assert pe.read_config(model("opt")).trained_length == 4096
    roberta = model("roberta") | {"max_position_embeddings": 514}
    assert pe.read_config(roberta).trained_length == 512
    assert pe.read_config({"model_type": "bloom", "n_head": 8, "n_layer": 2}).trained_length is None


def test_defaults_leave_notes_and_what_is_said_does_not():
    note = "base 10,000 is the default of llama; the file does not set it"
    assert pe.read_config(LLAMA).notes == (note,)
    assert pe.read_config(LLAMA | {"rope_theta": 10_000.0}).notes == ()
    nested = pe.read_config({"model_type": "llava", "text_config": {"model_type": "llama"}})
    assert len(nested.layers) == 32
    assert sum("is the default of llama" in note for note in nested.notes) == 5


def test_a_factor_that_is_not_the_ratio_is_a_note():
    yarn = YARN | {"factor": 8.0}
    found = pe.read_config(LLAMA | {"rope_theta": 1e4, "rope_scaling": yarn})
    assert found.notes == (
        "factor 8 differs from max_position_embeddings / original length = 4,096 / 1,024; "
        "the factor is used",
    )
    assert found.layers[0].scaling.factor == 8.0


def test_deepseek_s_softmax_factor_is_a_note():
    config, _ = SHARED["deepseek_v3"]
    assert any("multiplied by 1.4029" in note for note in pe.read_config(config).notes)


def test_an_unknown_model_needs_its_pairing():
    for pairing in ("interleaved", "halves"):
        encoding = pe.from_config(model("new", rope_theta=1e4), pairing=pairing)
        assert encoding == pe.RoPE(16, pairing=pairing)
    overruled = pe.read_config(LLAMA | {"rope_theta": 1e4}, pairing="interleaved")
    assert overruled.layers[0].pairing == "interleaved"
    assert overruled.notes == ("pairing interleaved as requested; llama uses halves",)


def test_paths_files_and_folders(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    assert pe.read_config(path) == pe.read_config(str(path)) == pe.read_config(tmp_path)
    assert pe.read_config(path) == pe.read_config(LLAMA)


def scaled(**more):
    return LLAMA | {"rope_scaling": more}


ERRORS = [
    (LLAMA | {"model_type": "lama"}, "model_type must be a known one, unless pairing "
     "('interleaved' or 'halves') is given; got model_type='lama'"),
    (without(LLAMA, "model_type"), "model_type must be a string; got model_type=None"),
    (scaled(rope_type="yern", factor=2.0), "rope_scaling.rope_type must be one of default, linear, "
     "dynamic, yarn, longrope, llama3, proportional, su, mrope; got rope_type='yern'"),
    (scaled(type="linear", rope_type="dynamic", factor=2.0),
     "rope_scaling.rope_type and type must agree; got rope_scaling.rope_type='dynamic', "
     "type='linear'"),
    (scaled(type="linear", factor=2.0, speed=3), "rope_scaling of type 'linear' must have no "
     "unknown keys; got 'speed'=3"),
    (scaled(type="linear", factor=2.0, low_freq_factor=3), "got 'low_freq_factor'=3"),
    (scaled(type="linear"), "rope_scaling of type 'linear' must have 'factor'"),
    (scaled(type="yarn", factor=4.0),
     "rope_scaling of type 'yarn' must have 'original_max_position_embeddings'"),
    (LLAMA | {"rope_scaling": without(LLAMA3, "high_freq_factor")},
     "rope_scaling of type 'llama3' must have 'high_freq_factor'"),
    (scaled(type="linear", factor=0.5),
     "rope_scaling.factor must be a finite number of at least 1 and at most 1e+12; got "
     "rope_scaling.factor=0.5"),
    (scaled(type="linear", factor="2"), "rope_scaling.factor must be a finite number"),
    (LLAMA | {"rope_scaling": YARN | {"truncate": 1}},
     "rope_scaling.truncate must be True or False; got rope_scaling.truncate=1"),
    (LLAMA | {"rope_scaling": [1]}, "rope_scaling must be an object or null; got rope_scaling=[1]"),
    (LLAMA | {"rope_theta": 1e4, "rope_parameters": {"rope_theta": 5e5}},
     "rope_theta and rope_parameters.rope_theta must agree; got rope_theta=10000.0, "
     "rope_parameters.rope_theta=500000.0"),
    (LLAMA | {"rope_parameters": {"rope_theta": 1e4}, "rope_scaling": {"rope_theta": 2e4}},
     "rope_parameters and rope_scaling must agree; got"),
    (LLAMA | {"rope_theta": -1}, "rope_theta must be a finite number of at least 1e-06 and at "
     "most 1e+18; got rope_theta=-1"),
    (model("gpt_neox", rope_theta=1e4, rotary_emb_base=2e4),
     "rope_theta and rotary_emb_base must agree; got rope_theta=10000.0, rotary_emb_base=20000.0"),
    (model("phi", partial_rotary_factor=0.5, rope_parameters={"partial_rotary_factor": 0.25}),
     "partial_rotary_factor and rope_parameters.partial_rotary_factor must agree; got "
     "partial_rotary_factor=0.5, rope_parameters.partial_rotary_factor=0.25"),
    (model("phi", partial_rotary_factor=0.5, rotary_dim=4),
     "rotary_dim and partial_rotary_factor must agree; got rotary_dim=4, "
     "partial_rotary_factor=0.5"),
    (model("phi", partial_rotary_factor=1.5), "partial_rotary_factor must be a finite number"),
    (model("phi", partial_rotary_factor=0.2),
     "rotary_dim must be a positive even number of at most dim=16; got rotary_dim=3"),
    (LLAMA | {"original_max_position_embeddings": 512, "rope_scaling": YARN},
     "original_max_position_embeddings and rope_scaling.original_max_position_embeddings must "
     "agree; got original_max_position_embeddings=512, "
     "rope_scaling.original_max_position_embeddings=1024"),
    (LLAMA | {"hidden_size": 66}, "head_dim must be given if hidden_size is not a multiple of "
     "num_attention_heads; got hidden_size=66, num_attention_heads=4"),
    (LLAMA | {"num_hidden_layers": 10**9},
     "num_hidden_layers must be a whole number of at least 1 and at most 10,000; got "
     "num_hidden_layers=1000000000"),
    (LLAMA | {"num_hidden_layers": "2"}, "num_hidden_layers must be a whole number"),
    (LLAMA | {"n_layer": 3}, "num_hidden_layers and n_layer must agree; got num_hidden_layers=2, "
     "n_layer=3"),
    (without(model("bert"), "max_position_embeddings"),
     "max_position_embeddings must be in the config of 'bert'; it is missing"),
    (model("gemma3_text", 3, layer_types=["full_attention"]), "layer_types must be a list with an "
     "entry for each of the 3 layers; got layer_types=['full_attention']"),
    (model("flint"), "layer_types must be in the config of 'flint'; it is missing"),
    (model("bamba"), "layer_types or attn_layer_indices must be in the config of 'bamba'; it is "
     "missing"),
    (model("gemma3_text", 1, layer_types=[1]), "each of layer_types must be a string; got 1"),
    (model("smollm3", 2, no_rope_layers=[1, 2]),
     "each of no_rope_layers must be 0 or 1; got no_rope_layers=[1, 2]"),
    (model("gemma3_text", 6, rope_parameters={"full_attention": {"rope_theta": 1e6}}),
     "rope_parameters must have parameters for the layer type 'sliding_attention'"),
    (model("olmo3", 1, rope_parameters={"sliding_attention": {}, "factor": 2}),
     "rope_parameters must be flat or have an object for each layer type; got factor=2"),
    (model("phi3", rope_scaling={"type": "longrope", "short_factor": [1.0], "long_factor": [1.0]},
           original_max_position_embeddings=512), "rope_scaling.short_factor must be a list with a "
     "factor for each of the 8 pairs; got 1 entries"),
    (model("phi3", rope_scaling={"type": "longrope", "short_factor": [1.0] * 8, "short_mscale": 1,
           "long_factor": [1.0] * 8, "long_mscale": 2}, original_max_position_embeddings=512),
     "rope_scaling.short_mscale and long_mscale must be equal, since one attention factor serves "
     "all lengths; got 1.0 and 2.0"),
    (model("qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [2, 3, 4]}),
     "mrope_section must add up to the 8 pairs; got mrope_section=[2, 3, 4]"),
    (model("qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": "233"}),
     "mrope_section must be a list of whole numbers; got '233'"),
    (model("qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [-2, 5, 5]}),
     "each of mrope_section must be a whole number of at least 0; got each of mrope_section=-2"),
    (model("granite_swa", layer_rope_theta=[1e4, "a"]),
     "each of layer_rope_theta must be a finite number of at least 0"),
    (model("ernie4_5_vl_moe", rope_scaling={"mrope_section": [2, 3, 3]}),
     "mrope_section must be [n, n, m] for 'ernie4_5_vl_moe'; got [2, 3, 3]"),
    (model("bert", position_embedding_type="relative_key"), "position_embedding_type must be "
     "'absolute'; got position_embedding_type='relative_key'"),
    ({"model_type": "mpt", "n_heads": 8, "n_layers": 2, "attn_config": {"alibi_bias_max": 16}},
     "attn_config.alibi_bias_max must be 8; got alibi_bias_max=16"),
    ({"model_type": "mpt", "n_heads": 8, "n_layers": 2, "attn_config": {"alibi": False}},
     "attn_config.alibi must be true; got alibi=False"),
    (model("bert", position_embedding_type="alibi", num_attention_heads=0),
     "num_attention_heads must be a whole number of at least 1"),
    ({"model_type": "swin", "depths": [2, "a"]}, "each of depths must be a whole number of at "
     "least 1 and at most 10,000; got each of depths='a'"),
    ({"model_type": "swin", "depths": []},
     "depths must be a list with a number for each stage; got depths=[]"),
    ({"model_type": "swin", "num_heads": [3]}, "num_heads must be a list with a number for each of "
     "the 4 stages; got num_heads=[3]"),
    ({"model_type": "swin", "use_absolute_embeddings": True}, "use_absolute_embeddings must be "
     "false; got use_absolute_embeddings=True"),
    ({"model_type": "swinv2", "pretrained_window_sizes": [8]}, "pretrained_window_sizes must be a "
     "list with a number for each of the 4 stages; got pretrained_window_sizes=[8]"),
    ({"model_type": "swinv2", "image_size": 16}, "image_size must leave at least one row of "
     "patches after 4 stages; got 4 rows of patches"),
    ({"model_type": "swin", "image_size": 0}, "image_size must be a whole number of at least 1"),
    ({"model_type": "swin", "window_size": 2000}, "window_size must be a whole number of at least "
     "1 and at most 1,024; got window_size=2000"),
    ({"model_type": "mpt", "n_heads": 8, "n_layers": 2, "attn_config": 3},
     "attn_config must be an object; got attn_config=3"),
    ({"model_type": "llava", "text_config": 3}, "text_config must be an object; got text_config=3"),
    (3, "config must be a path, its text or a dict; got 3"),
]  # fmt: skip


@pytest.mark.parametrize(("config", "message"), ERRORS)
def test_errors_name_the_field_and_the_value(config, message):
    with pytest.raises((ValueError, TypeError), match=re.escape(message)):
        pe.read_config(config)


def test_errors_of_from_config():
    mixed = model("smollm3", 4)
    with pytest.raises(ValueError, match="layers differ: 0-2 RoPE, 3 NoPE; got layer=None"):
        pe.from_config(mixed)
    with pytest.raises(ValueError, match=re.escape("layer must be one of 0 .. 3; got layer=4")):
        pe.from_config(mixed, layer=4)
    with pytest.raises(ValueError, match="pairing must be 'interleaved' or 'halves'; got pairing"):
        pe.from_config(LLAMA, pairing="zigzag")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "config must be a file that can be read; "),
        ("{", "config must be JSON; "),
        ("[" * 100_000, "config must be JSON; "),
        ("\udcff", "config must be JSON; "),
        ("[1]", "config must be a JSON object; "),
    ],
)
def test_errors_of_files(tmp_path, text, message):
    path = tmp_path / "config.json"
    if text is not None:
        path.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(ValueError, match=re.escape(f"{message}{path}")):
        pe.read_config(path)


def test_the_text_of_a_config_is_read_as_it_is():
    text = json.dumps(LLAMA | {"_name": "x" * 5000}, indent=2)
    assert pe.from_config(text) == pe.from_config(LLAMA)
    assert pe.from_config("\n  " + text) == pe.from_config(LLAMA)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"model_type": ' + "x" * 5000, "config must be JSON; {"),
        ("[1, " + "2, " * 5000 + "3]", "config must be a file that can be read; [1, 2"),
        ("model_type: llama\n" * 500, "config must be a file that can be read; model_type: llama "),
        ("a\0b", "config must be JSON; a"),
    ],
)
def test_long_texts_that_are_no_config_are_a_sentence(text, message):
    with pytest.raises(ValueError, match=re.escape(message)) as raised:
        pe.from_config(text)
    assert len(str(raised.value)) < 500


JUNK = [None, True, -1, 0, 3, 0.3, 1e308, 10**400, "", "x", [], [1], [None], {}, {"a": 1}]
JUNK += [float("nan"), float("inf"), ["a", "b"], {"full_attention": {}}]
KEYS = (
    *("num_hidden_layers", "hidden_size", "num_attention_heads", "head_dim", "model_type"),
    *("max_position_embeddings", "rope_theta", "rope_scaling", "rope_parameters", "layer_types"),
    *("no_rope_layers", "sliding_window", "sliding_window_pattern", "layer_rope_theta"),
    *("partial_rotary_factor", "rotary_dim", "text_config", "floor_scale", "qk_rope_head_dim"),
    *("alibi", "attn_config", "image_size", "block_types", "attn_layer_indices", "d_model"),
    *("depths", "num_heads", "window_size", "patch_size", "pretrained_window_sizes"),
    *("relative_attention_num_buckets", "relative_attention_max_distance", "is_encoder_decoder"),
)
INNER = (
    *("rope_type", "type", "factor", "original_max_position_embeddings", "beta_fast", "truncate"),
    *("mscale", "attention_factor", "short_factor", "long_factor", "low_freq_factor", "alpha"),
    *("mrope_section", "rope_theta"),
)


BIASED = {
    "t5": {"model_type": "t5", "num_heads": 2, "num_layers": 1},
    "swin": {"model_type": "swin"},
    "swinv2": {"model_type": "swinv2"},
}


@pytest.mark.parametrize("every", [4, *slow(1)])
@pytest.mark.parametrize("name", [*SHARED, *BIASED])
def test_junk_in_a_field_is_read_or_refused_with_a_sentence(name, every):
    """A quarter of the trials of each config, another one each time: all of them are slow."""
    config = BIASED[name] if name in BIASED else SHARED[name][0]
    nested = [key for key in ("rope_scaling", "rope_parameters") if config.get(key)]
    trials = [config | {key: junk} for key in KEYS for junk in JUNK]
    for key in nested:
        trials += [config | {key: config[key] | {i: junk}} for i in INNER for junk in JUNK]
    for trial in trials[[*SHARED, *BIASED].index(name) % every :: every]:
        try:
            json.dumps(describe(pe.read_config(trial)), allow_nan=False)
        except (ValueError, TypeError) as error:
            assert re.search(" must | needs ", str(error)), (trial, error)  # noqa: PT017


NO_DEFAULT = {"glm4_moe", "glm4v_moe_text"}  # their class has no whole head dim
NO_DEFAULT |= {"qwen3_omni_moe_talker_text"}  # its class's sections do not fit its head dim
NO_DEFAULT |= {name for name, convention in ROTARY.items() if convention.required}


@pytest.mark.parametrize("name", sorted(ROTARY.keys() & SIZES.keys() - NO_DEFAULT))
def test_every_convention_makes_a_layer(name):
    """A file with nothing but its type is its class's default; attention that rotates is there."""
    switch = ROTARY[name].only_if
    more = {} if switch is None else {switch[0]: switch[1]}
    found = pe.read_config({"model_type": name, **more})
    rotary = [layer for layer in found.layers if not isinstance(layer, pe.NoPE)]
    assert rotary
    assert len(found.layers) == SIZES[name].layers


def test_conventions_do_not_overlap():
    assert not ROTARY.keys() & ABSOLUTE.keys()


# the command


@pytest.fixture
def files(tmp_path):
    def write(*configs):
        paths = [tmp_path / f"{i}.json" for i in range(len(configs))]
        for path, config in zip(paths, configs, strict=True):
            path.write_text(json.dumps(config))
        return [str(path) for path in paths]

    return write


def run(*arguments):
    return CliRunner().invoke(main, ["config", *arguments])


def test_one_model_is_told(files):
    result = run(*files(LLAMA | {"rope_theta": 1e4, "rope_scaling": LLAMA3}))
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "llama: 2 layers, trained length 512",
        "layers 0-1: RoPE(dim=16, base=10000.0, pairing='halves', rotary_dim=16, "
        "rotated='leading', scaling=Llama3(factor=8.0, original_length=512, "
        "low_freq_factor=1.0, high_freq_factor=4.0))",
        "  base 10,000, 16 of 16 channels rotate, pairing halves",
        "  4 of 8 pairs complete a turn within 512 tokens",
        "  longest wavelength: 158,953.4 tokens",
        "  scaling: slow pairs rotate slower by the factor, fast ones are unchanged, "
        "those between blended",
        "  attention factor: 1",
        "  beyond the trained length: slow pairs reach angles never seen in training after "
        "8 x 512 = 4,096 tokens",
    ]


def test_a_model_prints_the_summary_of_the_command_and_has_a_short_repr(files):
    config = model("gemma3_text", 62, rope_scaling={"rope_type": "linear", "factor": 8.0})
    found = pe.read_config(config)
    assert str(found) + "\n" == run(*files(config)).stdout
    assert repr(found) == "<ModelPositions gemma3_text: 62 layers (RoPE), trained length 4,096>"
    assert "(RoPE, NoPE), trained" in repr(pe.read_config(model("smollm3", 8)))
    assert "trained length unknown" in repr(pe.read_config({"model_type": "swin"}))


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


def test_layers_are_grouped_and_notes_are_told(files):
    lines = run(*files(model("smollm3", 8))).stdout.splitlines()
    assert lines[1].startswith("layers 0-2, 4-6: RoPE(")
    assert "layers 3, 7: NoPE()" in lines
    assert lines[-1].startswith("note: ")
    only = run(*files(model("smollm3", 8)), "--layer", "3").stdout
    assert "layers 3: NoPE()" in only
    assert "RoPE(" not in only


@pytest.mark.parametrize(
    ("config", "sentence"),
    [
        (LLAMA | {"rope_theta": 1e6}, "slow pairs reach angles that were never seen in training"),
        (LLAMA | {"rope_theta": 10.0}, "every pair has seen all its angles in training"),
        (SHARED["dynamic"][0], "keys must be cached before rotation"),
        (SHARED["phi3 longrope"][0], "keys must be cached before rotation"),
        (SHARED["qwen2 yarn"][0], "after 4 x 1,024 = 4,096 tokens"),
        (SHARED["bert"][0], "an error: the table has no row"),
        (SHARED["marian"][0], "defined at every position"),
        (SHARED["bloom"][0], "the penalty keeps growing"),
        (SHARED["jamba"][0], "only the causal mask tells the order of tokens"),
        ({"model_type": "t5", "num_heads": 8, "num_layers": 1}, "share the last bucket"),
        ({"model_type": "swin"}, "no row for an offset larger than the window"),
        ({"model_type": "swinv2"}, "scaled to the pretrained window"),
        (SHARED["qwen2_vl, flat as in version 4"][0], "slow pairs reach angles"),
    ],
)
def test_what_happens_beyond_the_trained_length(files, config, sentence):
    assert sentence in run(*files(config)).stdout


def test_json_is_the_description(files):
    config = SHARED["phi3 longrope"][0]
    told = json.loads(run(*files(config), "--json").stdout)
    assert told == json.loads(json.dumps(describe(pe.read_config(config))))
    group = told["groups"][0]
    assert (group["pairs"], group["full_turns"], group["pairing"]) == (8, 5, "halves")
    assert group["attention_factor"] == pytest.approx(np.sqrt(1.2))


def test_two_models_are_compared(files):
    other = model("cohere", rope_theta=5e5)
    result = run(*files(LLAMA | {"rope_theta": 1e4}, other))
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert "pairing: halves | interleaved" in lines
    assert lines[lines.index("pairing: halves | interleaved") + 1] == f"  {MEANS['pairing']}"
    assert "base: 10,000 | 500,000" in lines
    assert not any(line.startswith(("dim", "scaling", "layers:")) for line in lines)
    data = json.loads(run(*files(LLAMA, other), "--json").stdout)
    assert [row["what"] for row in data["differences"]][:2] == ["model_type", "pairing"]
    assert run(*files(LLAMA, LLAMA)).stdout == "no differences\n"


def told(config):
    return describe(pe.read_config(config))


def test_comparisons_of_schedules_and_kinds():
    rows = compare(told(model("smollm3", 8)), told(LLAMA))
    assert [row["what"] for row in rows] == ["model_type", "layers", "schedule"]
    rows = compare(told(LLAMA), told(model("bert")))
    assert [row["what"] for row in rows] == ["model_type", "encoding"]
    one, other = (told(SHARED_GEMMA | {"rope_theta": base}) for base in (1e6, 2e6))
    rows = compare(one, other)
    assert {row["where"] for row in rows} == {"layers 5"}
    assert rows[0]["what"] == "base"


def test_every_scaling_has_its_sentence():
    import posenc.scalings

    named = {
        value
        for value in vars(posenc.scalings).values()
        if isinstance(value, type) and issubclass(value, pe.Scaling)
    }
    internal = {posenc.scalings.Plain, posenc.scalings.PerPair, pe.Scaling}
    assert named - internal <= set(SCALINGS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Missing argument 'PATH [PATH2]'"),
        (("no.json",), "config must be a file that can be read; no.json: No such file"),
        (("a", "b", "c"), "one path, or two to compare; got 3"),
    ],
)
def test_wrong_usage(arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stdout == ""


def test_a_layer_that_is_not_there(files):
    result = run(*files(LLAMA), "--layer", "2")
    assert result.exit_code == 2
    assert "--layer must be one of 0 .. 1; got 2" in result.stderr


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rope_thetta", 1e6),
        ("rope_base", 1e6),
        ("rope_ratio", 2),
        ("theta", 5),
        ("use_rope", False),
    ],
)
def test_a_field_about_positions_that_nobody_reads_is_refused(name, value):
    llama = {"model_type": "llama", name: value}
    sentence = f"^{name} must be a field that 'llama' has; got {name}={value!r}$"
    with pytest.raises(ValueError, match=sentence):
        pe.read_config(llama)


@pytest.mark.parametrize(("name", "value"), [("alibi", True), ("position_embedding_type", "alibi")])
def test_a_rotary_model_with_another_encoding_is_a_contradiction(name, value):
    with pytest.raises(
        ValueError, match=f"^{name} must agree with the rotary encoding of 'llama'; got {name}="
    ):
        pe.read_config({"model_type": "llama", name: value})


def test_an_unknown_model_needs_its_base():
    config = {"model_type": "new", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128}
    with pytest.raises(
        ValueError, match=r"^rope_theta must be in the config of 'new'; it is missing$"
    ):
        pe.read_config(config, pairing="halves")


def test_yarn_takes_the_files_betas():
    scaling = {"rope_type": "yarn", "factor": 4.0, "beta_fast": 24.0, "beta_slow": 2.0}
    scaling |= {"original_max_position_embeddings": 512}
    found = pe.from_config({"model_type": "llama", "rope_scaling": scaling}, layer=0)
    assert (found.scaling.beta_fast, found.scaling.beta_slow) == (24.0, 2.0)


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
