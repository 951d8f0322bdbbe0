"""Rotary models whose layers differ."""

import numpy as np

import posenc as pe
from tests.interop.configs import (
    SHARED_GEMMA,
    YARN,
    bases,
    model,
    without,
)


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


def test_llama_4_rotates_three_of_four_layers_and_tempers_the_fourth():
    text = without(model("llama4_text", 8, head_dim=16, rope_theta=5e5), "model_type")
    found = pe.read_config({"model_type": "llama4", "text_config": text})
    still = pe.Tempered(pe.NoPE(), pe.Llama4Temperature(8192.0, 0.1))
    assert found.layers == ((pe.RoPE(16, base=5e5),) * 3 + (still,)) * 2
    plain = text | {"attn_temperature_tuning": False, "no_rope_layers": [0] + [1] * 7}
    found = pe.read_config({"model_type": "llama4", "text_config": plain})
    assert found.layers == (pe.NoPE(),) + (pe.RoPE(16, base=5e5),) * 7


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
