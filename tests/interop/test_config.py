"""Configs read: the encodings, the notes, and a sentence for each mistake."""

import json
import re

import pytest

import posenc as pe
from posenc.interop.describe import describe
from tests.interop.configs import (
    LLAMA,
    LLAMA3,
    SHARED,
    YARN,
    model,
    without,
)
from tests.slow import slow


@pytest.mark.parametrize("name", SHARED)
def test_the_encoding_that_all_layers_share(name):
    config, expected = SHARED[name]
    assert pe.from_config(config) == expected


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
    (LLAMA | {"model_type": "lama"}, "model_type must be a known one, unless pairing is "
     "given (`posenc config --pairing halves`, in Python read_config(…, pairing='halves')); got "
     "model_type='lama'"),
    (without(LLAMA, "model_type"), "model_type must be a known one, unless pairing is given"),
    (LLAMA | {"model_type": 3}, "model_type must be a string; got model_type=3"),
    (scaled(rope_type="yern", factor=2.0), "rope_scaling.rope_type must be one of default, linear, "
     "dynamic, yarn, longrope, llama3, proportional, su, mrope; got rope_type='yern'"),
    (scaled(type="linear", rope_type="dynamic", factor=2.0),
     "rope_scaling.rope_type and type must agree; got rope_scaling.rope_type='dynamic', "
     "type='linear'"),
    (scaled(type="linear", factor=2.0, speed=3), "rope_scaling of type 'linear' must have no "
     "unknown keys; got 'speed'=3"),
    (scaled(type="linear", factor=2.0, low_freq_factor=3), "got 'low_freq_factor'=3"),
    (scaled(type="linear"), "rope_scaling of type 'linear' must have 'factor'"),
    (model("phi3", rope_scaling={"type": "yarn", "factor": 4.0}),
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
    ({"model_type": "whisper"}, "d_model must be in the config of 'whisper'; it is missing"),
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
    (3, "config must be a path, its text, a dict or a config object with to_dict(); got 3"),
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
        (None, "config must be a readable file; "),
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
        ("[1, " + "2, " * 5000 + "3]", "config must be a readable file; [1, 2"),
        ("model_type: llama\n" * 500, "config must be a readable file; model_type: llama "),
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


def test_the_pairing_that_is_given_counts_before_that_of_the_file():
    config = model("deepseek_v3", qk_nope_head_dim=16, qk_rope_head_dim=8, rope_interleave=True)
    read = pe.read_config(config, pairing="halves")
    assert read.layers[0].pairing == "halves"
    assert "pairing halves as requested; deepseek_v3 uses interleaved" in read.notes
    assert pe.from_config(config | {"rope_interleave": False}).pairing == "halves"
