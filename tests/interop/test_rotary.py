"""Rotary models whose layers differ."""

import numpy as np
import pytest

import posenc as pe
from tests.interop.configs import (
    SHARED_GEMMA,
    YARN,
    bases,
    model,
    without,
)


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
