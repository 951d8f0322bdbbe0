"""Where engines read a config differently, held against numbers found by hand."""

import math

import pytest

import posenc as pe
from posenc.interop.engines import RULES, VERSIONS, compare_engine, to_data
from tests.interop.configs import LLAMA, LLAMA3, model

ENGINES = tuple(VERSIONS)
LENGTHS = {"max_position_embeddings": 131072, "original_max_position_embeddings": 4096}


def yarn(factor=16.0, **keys):
    return {"rope_type": "yarn", "factor": factor, "original_max_position_embeddings": 4096, **keys}


def found(config, engine):
    """The differences as {what: (theirs, ours)}."""
    return {each.what: (each.theirs, each.ours) for each in compare_engine(config, engine)}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "scaling", [None, {"type": "linear", "factor": 4.0}, LLAMA3, yarn(), yarn(beta_fast=16.0)]
)
def test_plain_files_are_read_alike(engine, scaling):
    assert compare_engine(LLAMA | {"rope_scaling": scaling}, engine) == ()


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_an_attention_factor_is_not_read(engine):
    config = LLAMA | {"rope_scaling": yarn(attention_factor=1.0)}
    theirs, ours = found(config, engine)["attention factor"]
    assert (round(theirs, 6), ours) == (1.277259, 1.0)
    assert not found(config, "transformers")


def test_mscale_of_ministral():
    config = model("ministral3")  # factor 16, mscale and mscale_all_dim 1
    theirs, ours = found(config, "vllm")["attention factor"]
    assert (round(theirs, 6), ours) == (1.277259, 1.0)
    assert not found(config, "llama.cpp")


def test_a_missing_mscale_all_dim_of_deepseek():
    config = model("deepseek_v3", rope_scaling=yarn(40.0, mscale=0.707))
    theirs, ours = found(config, "vllm")["attention factor"]
    assert theirs == pytest.approx(1 + 0.0707 * math.log(40), rel=1e-12)
    assert round(ours, 6) == 1.368888
    both = model("deepseek_v3", rope_scaling=yarn(40.0, mscale=1.0, mscale_all_dim=1.0))
    assert not found(both, "vllm")
    assert not found(both, "llama.cpp")


def test_llama_cpp_takes_mscale_for_mscale_all_dim():
    config = model("deepseek_v2", rope_scaling=yarn(40.0, mscale=1.0, mscale_all_dim=0.707))
    theirs, ours = found(config, "llama.cpp")["attention factor"]
    assert theirs == 1.0
    assert ours == pytest.approx((1 + 0.1 * math.log(40)) / (1 + 0.0707 * math.log(40)), rel=1e-12)


def test_truncate_of_gpt_oss():
    config = {"model_type": "gpt_oss", "num_hidden_layers": 2}
    [one] = compare_engine(config, "llama.cpp")
    assert (one.what, one.pair, round(one.theirs / one.ours, 2)) == ("frequency", 17, 1.76)
    assert compare_engine(config, "vllm") == compare_engine(config, "transformers") == ()


def test_truncate_beside_layer_types():
    layers = {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
    own = {"full_attention": yarn(truncate=False, rope_theta=1e6)}
    config = model("gemma3_text", 6, head_dim=256, rope_parameters=layers | own)
    [one] = compare_engine(config, "transformers")
    w, v = (
        pe.YaRN(16.0, 4096, truncate=truncate).frequencies(256, base=1e6)
        for truncate in (False, True)
    )
    assert one.where == "5"
    assert abs(one.theirs / one.ours - 1) == pytest.approx(abs(v / w - 1).max(), rel=1e-12)
    assert not found(config, "vllm")


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_the_base_of_dynamic_ntk_never_grows(engine):
    config = LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2.0}}
    [one] = compare_engine(config, engine)
    assert one.length == 8192
    assert (one.pair, one.theirs / one.ours) == (7, pytest.approx(3.0))  # 2 * 2 - (2 - 1)


def test_transformers_keeps_the_base_of_the_longest_text():
    config = LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2.0}}
    [one] = compare_engine(config, "transformers")
    assert (one.length, one.ours / one.theirs) == (4096, pytest.approx(3.0))


def longrope(**keys):
    factors = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 7 + [32.0]}
    scaling = {"type": "longrope", **factors, **keys}
    return model("phi3", rope_scaling=scaling) | LENGTHS


@pytest.mark.parametrize("engine", ["vllm", "llama.cpp"])
def test_longrope_is_chosen_once(engine):
    [one] = compare_engine(longrope(), engine)
    assert (one.pair, one.length, one.ours / one.theirs) == (7, 4096, pytest.approx(32.0))
    theirs, ours = found(longrope(attention_factor=1.5), engine)["attention factor"]
    assert (round(theirs, 6), ours) == (1.190238, 1.5)


def test_transformers_keeps_short_keys():
    [one] = compare_engine(longrope(), "transformers")
    assert (one.pair, one.length, one.theirs / one.ours) == (7, 4097, pytest.approx(32.0))


def test_what_the_converter_of_llama_cpp_leaves_out():
    [one] = compare_engine(model("qwen2", rope_scaling=LLAMA3), "llama.cpp")
    assert one.theirs / one.ours == pytest.approx(8.0)
    assert "the converter of qwen2" in one.formula
    scaling = longrope()["rope_scaling"]
    [other] = compare_engine(model("llama", rope_scaling=scaling) | LENGTHS, "llama.cpp")
    assert (other.what, other.theirs, round(other.ours, 6)) == ("attention factor", 1.0, 1.190238)
    assert "Phi and MiniCPM only" in other.formula


def test_other_rules_of_vllm():
    own = {"rope_type": "proportional", "partial_rotary_factor": 0.5, "factor": 4.0}
    [one] = compare_engine(LLAMA | {"rope_parameters": own | {"rope_theta": 1e4}}, "vllm")
    assert one.theirs / one.ours == pytest.approx(4.0)
    kinds = [
        each.what for each in compare_engine(model("deepseek_v3", rope_scaling=LLAMA3), "vllm")
    ]
    assert kinds == ["attention factor", "frequency"]
    config = model("deepseek_v3", rope_scaling=yarn(truncate=False))
    assert list(found(config, "vllm")) == ["frequency"]


def test_every_rule_is_of_a_known_engine():
    assert RULES.keys() == VERSIONS.keys()
    data = to_data("vllm", compare_engine(longrope(), "vllm"))
    assert data["version"].startswith("a014e35f")
    assert data["differences"][0]["what"] == "frequency"
    with pytest.raises(ValueError, match="engine must be"):
        compare_engine(LLAMA, "exllama")


@pytest.mark.parametrize("scaling", [yarn(), LLAMA3])
def test_latent_attention_that_was_not_read_is_refused(scaling):
    config = model("minicpm3", rope_scaling=scaling)
    for engine in ("vllm", "llama.cpp"):
        with pytest.raises(ValueError, match=f"{engine} was not checked for the latent .*minicpm3"):
            compare_engine(config, engine)
    assert compare_engine(config, "transformers") == ()
    assert compare_engine(model("minicpm3"), "vllm") == ()
    unknown = config | {"model_type": "new", "qk_nope_head_dim": 8, "qk_rope_head_dim": 8}
    with pytest.raises(ValueError, match="latent attention of 'new'"):
        compare_engine(unknown | {"rope_theta": 1e4}, "vllm", pairing="halves")


def test_layers_without_rotation_have_no_differences():
    assert compare_engine({"model_type": "bloom", "n_head": 8, "n_layer": 2}, "vllm") == ()
