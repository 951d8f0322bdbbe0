"""Configs written by `pe.to_config`: read back, they give the encoding."""

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import posenc as pe
from posenc.core.encoding import unwrap
from posenc.interop import draft
from posenc.interop.conventions import ROTARY
from posenc.interop.draft import ACCEPTED, Draft, rope_parts
from posenc.interop.scaling_fields import scaling_fields
from tests.interop.configs import LLAMA, LLAMA3, SHARED, YARN, model

REQUIRED = {
    "layer_types": ["sliding_attention", "full_attention"] * 3,
    "layer_rope_theta": [1e4] * 6,
    "attn_type_list": [0, 1] * 3,
    "original_rope": True,
}
ODD_SHARES = {"moonshine", "moonshine_streaming", "mimo_v2_flash"}
SIZES = {"head_dim": 64, "hidden_size": 256, "num_attention_heads": 4}


def like_of(name):
    """A small config of a model type, with what it requires."""
    convention = ROTARY[name]
    config = model(name, 6, **SIZES)
    if name in ODD_SHARES:
        config["partial_rotary_factor"] = 0.5
    if convention.required:
        config |= {convention.required[0]: REQUIRED[convention.required[0]]}
    if convention.only_if:
        config |= dict([convention.only_if])
    if convention.sections:
        config["rope_parameters"] = {"rope_type": "default", "mrope_section": [16, 8, 8]}
        config["partial_rotary_factor"] = 1.0
        if convention.section_order == "ernie":
            config["rope_parameters"]["mrope_section"] = [8, 8, 16]
    return config


def with_parts(encoding, base, scaling):
    """The encoding with another base and scaling."""
    if isinstance(encoding, pe.Tempered):
        return replace(encoding, encoding=with_parts(encoding.encoding, base, scaling))
    if isinstance(encoding, pe.AxialRoPE):
        fields = {"scaling": scaling} if isinstance(encoding.layout, pe.Sections) else {}
        return replace(encoding, layout=replace(encoding.layout, base=base, **fields))
    return replace(encoding, base=base, scaling=scaling)


def find_rotary(config):
    """The number of the last layer that rotates, its encoding, and its type if types differ."""
    layers = pe.read_config(config).layers
    where = [i for i, e in enumerate(layers) if isinstance(unwrap(e), pe.RoPE | pe.AxialRoPE)]
    draft = Draft.of(copy.deepcopy(config), None)
    types = draft.types
    where = [i for i in where if types[i] == "full_attention"] or where
    own = draft.convention.local_base is not None
    return where[-1], layers[where[-1]], types[where[-1]] if own else None


FACTORS = st.floats(1, 64) | st.sampled_from([2.0, 4.0, 8.0, 32.0])
LENGTHS = st.integers(2, 2**20)
OPTIONAL = st.none() | st.floats(0.125, 2)
BASES = st.floats(1.5, 1e8)


def scalings(pairs):
    """Any scaling that a rope_type says, for so many pairs."""
    factors = st.lists(st.floats(0.5, 64), min_size=pairs, max_size=pairs).map(tuple)
    yarn = st.builds(
        pe.YaRN,
        FACTORS,
        LENGTHS,
        st.floats(4, 64),
        st.floats(0.25, 3),
        truncate=st.booleans(),
        mscale=OPTIONAL,
        mscale_all_dim=OPTIONAL,
        attention_factor=OPTIONAL,
    )
    llama3 = st.builds(pe.Llama3, FACTORS, LENGTHS, st.floats(0.1, 1), st.floats(1.5, 8))
    dynamic = st.builds(pe.DynamicNTK, FACTORS, LENGTHS)
    longrope = st.builds(
        pe.LongRoPE, factors, factors, LENGTHS, factor=FACTORS, attention_factor=OPTIONAL
    )
    linear = st.builds(pe.Interpolation, FACTORS)
    return st.one_of(st.none(), linear, yarn, llama3, dynamic, longrope)


FIXED = draft.FIXED | {"nanochat", "muse_spark_text", "muse_glimmer_text", "ministral3", "mistral4"}
"""Types with pairs that turn backwards, a base for each layer, or a temperature by length."""


@pytest.mark.parametrize("dialect", [None, "rope_parameters", "rope_scaling"])
@given(data=st.data())
def test_reading_what_was_written_gives_the_encoding(data, dialect):
    name = data.draw(st.sampled_from(sorted(ROTARY.keys() - FIXED)))
    config = like_of(name)
    before = copy.deepcopy(config)
    place, old, layer_type = find_rotary(config)
    scaling = data.draw(scalings(unwrap(old).rotary_dim // 2))
    if isinstance(unwrap(old), pe.AxialRoPE) and not getattr(scaling, "fits_any_length", True):
        scaling = None  # M-RoPE takes none that depend on the length
    if name in ACCEPTED and scaling_fields(scaling, name)["rope_type"] not in ACCEPTED[name]:
        scaling = None
    if ROTARY[name].local_scaled:
        dialect = "rope_parameters"  # flat, the scaling of one kind of layers is that of both
    new = with_parts(old, data.draw(BASES), scaling)
    written = pe.to_config(new, config, layer_type=layer_type, dialect=dialect)
    read = pe.read_config(json.loads(json.dumps(written))).layers
    assert read[place] == new
    assert config == before


@pytest.mark.parametrize("name", SHARED)
def test_every_known_config_is_written_as_it_was_read(name):
    config, encoding = SHARED[name]
    assert pe.to_config(encoding, config) == config


@pytest.mark.parametrize(
    ("scaling", "length", "original"),
    [
        (pe.YaRN(4.0, 1024), 4096, 1024),
        (pe.YaRN(4.0, 4096), 16384, 4096),
        (pe.Llama3(8.0, 1024), 4096, 1024),  # as in the file, which is beyond the original length
        (pe.Llama3(8.0, 4096), 32768, 4096),
        (pe.Interpolation(4.0), 4096, None),
        (pe.DynamicNTK(4.0, 4096), 4096, None),
    ],
)
def test_the_trained_length_is_kept(scaling, length, original):
    written = pe.to_config(pe.RoPE(16, pairing="halves", scaling=scaling), LLAMA)
    assert written["max_position_embeddings"] == length
    assert written["rope_scaling"].get("original_max_position_embeddings") == original
    assert pe.read_config(written).trained_length == (original or 4096)


def test_a_scaling_taken_away_leaves_the_trained_length():
    config = LLAMA | {"rope_scaling": YARN}
    written = pe.to_config(pe.RoPE(16, pairing="halves"), config)
    assert written["rope_scaling"] is None
    assert written["max_position_embeddings"] == 1024


def test_the_spelling_of_the_file_is_kept():
    rope = pe.RoPE(16, pairing="halves", base=5e5, scaling=pe.Interpolation(2.0))
    old = pe.to_config(rope, LLAMA | {"rope_theta": 1e4, "rope_scaling": YARN})
    assert old["rope_scaling"] == {"type": "linear", "factor": 2.0}
    assert old["rope_theta"] == 5e5
    new = pe.to_config(rope, LLAMA | {"rope_parameters": LLAMA3 | {"rope_theta": 1e4}})
    assert new["rope_parameters"] == {"rope_type": "linear", "factor": 2.0, "rope_theta": 5e5}
    assert "rope_scaling" not in new
    neox = pe.read_config(model("gpt_neox", rotary_emb_base=1e4, rotary_pct=0.5)).layers[0]
    written = pe.to_config(
        replace(neox, base=2e4), model("gpt_neox", rotary_emb_base=1e4, rotary_pct=0.5)
    )
    assert written["rotary_emb_base"] == 2e4
    assert "rope_theta" not in written


def test_the_dialect_can_be_chosen():
    rope = pe.RoPE(16, pairing="halves", scaling=pe.Interpolation(2.0))
    config = LLAMA | {"rope_theta": 1e4, "rope_scaling": None}
    written = pe.to_config(rope, config, dialect="rope_parameters")
    assert "rope_theta" not in written
    assert "rope_scaling" not in written
    assert pe.to_config(rope, written, dialect="rope_scaling")["rope_theta"] == 1e4


@pytest.mark.parametrize("dialect", ["rope_parameters", "rope_scaling"])
def test_one_kind_of_gemmas_layers_is_changed(dialect):
    config = model("gemma3_text", 12, rope_theta=1e6, rope_local_base_freq=1e4)
    layers = pe.read_config(config).layers
    new = replace(layers[5], scaling=pe.Interpolation(8.0))
    written = pe.to_config(new, config, layer_type="full_attention", dialect=dialect)
    assert pe.read_config(written).layers == tuple(
        new if i in (5, 11) else layer for i, layer in enumerate(layers)
    )
    if dialect == "rope_parameters":
        assert written["rope_parameters"]["full_attention"]["factor"] == 8.0
        local = replace(layers[0], scaling=pe.Interpolation(2.0))
        again = pe.to_config(local, written, layer_type="sliding_attention")
        assert pe.read_config(again).layers[:6] == (*[local] * 5, new)


def test_the_text_model_of_a_multimodal_config_is_changed():
    config = {"model_type": "llava", "text_config": {**LLAMA}}
    rope = pe.RoPE(16, pairing="halves", scaling=pe.Interpolation(2.0))
    written = pe.to_config(rope, config)
    assert written["text_config"]["rope_scaling"]["factor"] == 2.0
    assert config == {"model_type": "llava", "text_config": LLAMA}


def test_shares_sections_and_pairings_that_have_a_field_are_written():
    neox = model("gpt_neox", rotary_pct=0.5)
    assert pe.to_config(pe.RoPE(16, pairing="halves", rotary_dim=4), neox)["rotary_pct"] == 0.25
    qwen = model("qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]})
    rope = pe.AxialRoPE.mrope(16, sections=(4, 2, 2), base=1e6)
    assert pe.to_config(rope, qwen)["rope_scaling"] == {"type": "mrope", "mrope_section": [4, 2, 2]}
    deepseek = model("deepseek_v3", qk_nope_head_dim=16, qk_rope_head_dim=8, rope_interleave=True)
    old = pe.read_config(deepseek).layers[0]
    assert pe.to_config(replace(old, pairing="halves"), deepseek)["rope_interleave"] is False


def test_a_temperature_that_has_a_field_is_written():
    config = model("ministral3")
    old = pe.read_config(config).layers[0]
    new = replace(old, temperature=pe.MinistralTemperature(16384, 0.5))
    written = pe.to_config(new, config)
    assert written["rope_scaling"]["llama_4_scaling_beta"] == 0.5
    assert rope_parts(new) == rope_parts(old)


HALVES = {"pairing": "halves"}


@pytest.mark.parametrize(
    ("encoding", "config", "why"),
    [
        (pe.RoPE(16), LLAMA, "pairing must be 'halves', which the code of 'llama' fixes"),
        (pe.RoPE(32, **HALVES), LLAMA, "dim must be 16, which the weights of 'llama' fix; got"),
        (pe.RoPE(16, rotary_dim=8, **HALVES), LLAMA, "rotary_dim must be 16, which the code of"),
        (pe.RoPE(16, rotated="trailing", **HALVES), LLAMA, "rotated must be 'leading'"),
        (pe.ALiBi(4), LLAMA, "encoding must be a RoPE, as the code of 'llama' has; got ALiBi"),
        (pe.RoPE(16, scaling=pe.NTK(2.0), **HALVES), LLAMA, "NTK has no rope_type"),
        (
            pe.Tempered(pe.RoPE(16, **HALVES), pe.LogN(2048)),
            LLAMA,
            "temperature must be None, which the code of 'llama' fixes",
        ),
        (pe.Learned(9, 64), {"model_type": "gpt2", "n_layer": 1, "n_embd": 64, "n_positions": 8},
         "the Learned of 'gpt2' is fixed by its weights or its code"),
        (pe.RoPE(16, rotary_dim=8), model("chatglm", original_rope=True), "the RoPE of 'chatglm'"),
        (pe.ALiBi(4), {"model_type": "bloom", "n_head": 8, "n_layer": 2}, "the ALiBi of 'bloom'"),
        (pe.RoPE(16, **HALVES), model("gemma3_text", 12), "layer_type must be given, since the"),
        (pe.RoPE(16, scaling=pe.Interpolation(2.0), **HALVES), model("phi3"),
         "that the config class of 'phi3' accepts: default, longrope; got Interpolation"),
        (pe.RoPE(16, base=2e4, **HALVES), model("nanochat"), "would be RoPE"),
    ],
)  # fmt: skip
def test_what_the_model_cannot_express_is_refused(encoding, config, why):
    with pytest.raises(ValueError, match=why):
        pe.to_config(encoding, config)


def test_arguments_are_checked():
    rope = pe.RoPE(16, **HALVES)
    with pytest.raises(TypeError, match="encoding must be an Encoding; got encoding='rope'"):
        pe.to_config("rope", LLAMA)
    with pytest.raises(ValueError, match="dialect must be 'rope_parameters' or"):
        pe.to_config(rope, LLAMA, dialect="yaml")
    with pytest.raises(ValueError, match="layer_type must be"):
        pe.to_config(rope, LLAMA, layer_type="sliding")
    nested = model("gemma3_text", 6, rope_parameters=None) | {
        "rope_parameters": {
            "full_attention": {"rope_type": "default", "rope_theta": 1e6},
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
        }
    }
    local = pe.RoPE(256, base=2e4, **HALVES)
    nested |= {"head_dim": 256}
    with pytest.raises(ValueError, match="dialect must be 'rope_parameters' for parameters by"):
        pe.to_config(local, nested, layer_type="sliding_attention", dialect="rope_scaling")
    flat = model("gemma3_text", 6, head_dim=256)
    scaled = replace(local, scaling=pe.Interpolation(2.0))
    with pytest.raises(ValueError, match="scaling must be None for layers of type 'sliding"):
        pe.to_config(scaled, flat, layer_type="sliding_attention")
