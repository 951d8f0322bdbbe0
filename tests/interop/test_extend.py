"""Configs extended to longer texts, and what that does to each pair."""

import numpy as np
import pytest

import posenc as pe
from posenc.interop.extend import METHODS, extend
from tests.interop.configs import LLAMA, YARN, model, without

WIDE = LLAMA | {"head_dim": 128, "rope_theta": 5e5, "max_position_embeddings": 8192}
FACTORS = {"short_factor": [1.0] * 64, "long_factor": [2.0] * 64}


@pytest.mark.parametrize("method", METHODS)
def test_the_new_config_says_what_the_extension_says(method):
    factors = FACTORS if method == "longrope" else None
    extension = extend(WIDE, method, 8.0, factors=factors)
    assert pe.from_config(extension.config) == extension.after
    assert (extension.trained_length, extension.length) == (8192, 65536)
    assert extension.replaced is None
    reach = {"linear": 8192, "dynamic": 8192}  # the trained length has no other field
    assert extension.config["max_position_embeddings"] == reach.get(method, 65536)


def test_the_bands_of_llama_3():
    pairs = extend(WIDE, "llama3", 8.0).pairs
    assert [pair.band for pair in pairs] == (
        ["kept"] * 29 + ["blended"] * 6 + ["interpolated"] * 29
    )
    ratios = [pair.before / pair.after for pair in pairs[29:35]]
    golden = [0.828168, 0.643743, 0.493507, 0.371122, 0.271425, 0.190211]
    np.testing.assert_allclose(ratios, golden, atol=5e-7)
    assert pairs[0].before == pytest.approx(2 * np.pi)
    assert pairs[0].turns == pytest.approx(8192 / (2 * np.pi))


def test_ntk_is_written_as_a_larger_base():
    extension = extend(LLAMA | {"head_dim": 128}, "ntk", 4.0)
    assert extension.config["rope_theta"] == pytest.approx(40889.94, abs=0.01)
    assert extension.config["max_position_embeddings"] == 16384
    ours = pe.RoPE(128, pairing="halves", scaling=pe.NTK(4.0)).frequencies()
    np.testing.assert_allclose(pe.from_config(extension.config).frequencies(), ours, rtol=1e-14)
    bands = {pair.band for pair in extension.pairs[1:-1]}
    assert (extension.pairs[0].band, bands) == ("kept", {"blended"})
    assert extension.pairs[-1].band == "interpolated"


def test_dynamic_ntk_is_shown_at_the_new_length():
    last = extend(LLAMA, "dynamic", 2.0).pairs[-1]
    assert last.after / last.before == pytest.approx(3.0)


def test_scalings_are_not_stacked():
    config = LLAMA | {"rope_scaling": YARN}
    with pytest.raises(ValueError, match=r"it has YaRN\(4.0, 1024\), which --replace"):
        extend(config, "yarn", 2.0)
    extension = extend(config, "linear", 2.0, replace_scaling=True)
    assert extension.replaced == pe.YaRN(4.0, 1024)
    assert extension.trained_length == 1024
    assert extension.config["rope_scaling"] == {"type": "linear", "factor": 2.0}
    assert extension.config["max_position_embeddings"] == 1024


def test_only_global_layers_are_extended():
    config = model("gemma3_text", 12)
    extension = extend(config, "linear", 8.0)
    assert extension.layer_type == "full_attention"
    old, new = pe.read_config(config).layers, pe.read_config(extension.config).layers
    assert [i for i in range(12) if old[i] != new[i]] == [5, 11]


def test_sections_and_latent_attention_are_extended():
    qwen = model("qwen2_vl", rope_scaling={"type": "mrope", "mrope_section": [2, 3, 3]})
    assert extend(qwen, "yarn", 4.0).config["rope_scaling"]["mrope_section"] == [2, 3, 3]
    deepseek = extend(model("deepseek_v3"), "yarn", 40.0)
    assert deepseek.after.scaling == pe.YaRN(40.0, 4096)


@pytest.mark.parametrize(
    ("config", "method", "keys", "why"),
    [
        (LLAMA, "longrope", {}, "found by a search on the model, which no formula replaces"),
        (LLAMA, "longrope", {"factors": {"short_factor": 3}}, "a factor for each of the 8 pairs"),
        (LLAMA, "longrope", {"factors": FACTORS}, "8"),
        (LLAMA, "longrope", {"factors": [1.0]}, "a factor for each of the 8 pairs"),
        (LLAMA, "yarn", {"trained_length": 2**40, "factor": 1e6}, "must be"),
        (LLAMA, "yarn", {"factors": FACTORS}, "factors must be left out for the method 'yarn'"),
        (LLAMA, "stretch", {}, "method must be"),
        (LLAMA, "yarn", {"factor": 1.0}, "factor must be above 1"),
        (LLAMA, "yarn", {"factor": -1.0}, "factor must be"),
        (LLAMA, "yarn", {"trained_length": 0}, "trained_length must be"),
        ({"model_type": "bloom", "n_head": 8, "n_layer": 2}, "yarn", {}, "a rotary model"),
        (
            without(LLAMA, "max_position_embeddings") | {"model_type": "qwen3_omni_moe_text"},
            "yarn",
            {},
            r"trained_length \(--trained-length\) must be given|mrope_section",
        ),
    ],
)
def test_what_cannot_be_extended_is_refused(config, method, keys, why):
    with pytest.raises(ValueError, match=why):
        extend(config, method, **{"factor": 4.0} | keys)
