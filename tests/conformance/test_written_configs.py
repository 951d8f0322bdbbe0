"""Configs that `pe.to_config` writes, given to transformers: its rotary module has our angles."""

import importlib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers", reason="transformers is not installed: make conformance")

import posenc as pe
from posenc.interop.write import rope_parts
from tests.conformance import walk

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]

SIZES = {
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 6,
    "max_position_embeddings": 2048,
}
MODELS = {
    "llama": ("llama", "LlamaRotaryEmbedding", {}),
    "qwen3": ("qwen3", "Qwen3RotaryEmbedding", {"head_dim": 64}),
    "phi3": ("phi3", "Phi3RotaryEmbedding", {"rope_theta": 1e4}),
    "gpt_neox": ("gpt_neox", "GPTNeoXRotaryEmbedding", {"rotary_pct": 0.5}),
    "gpt_oss": ("gpt_oss", "GptOssRotaryEmbedding", {"head_dim": 64}),
    "deepseek_v3": (
        "deepseek_v3",
        "DeepseekV3RotaryEmbedding",
        {"qk_nope_head_dim": 32, "qk_rope_head_dim": 64, "head_dim": 64},
    ),
    "gemma3_text": ("gemma3", "Gemma3RotaryEmbedding", {"head_dim": 64}),
}
FACTORS = tuple(1 + i / 16 for i in range(32))
SCALINGS = {
    "none": None,
    "linear": pe.Interpolation(4.0),
    "yarn": pe.YaRN(4.0, 2048, 16.0, 2.0),
    "mscale": pe.YaRN(40.0, 1024, mscale=0.707, mscale_all_dim=1.0),
    "llama3": pe.Llama3(8.0, 1024),
    "longrope": pe.LongRoPE(FACTORS, FACTORS, 1024, factor=16.0),
}


CASES = [
    (name, scaling)
    for name in MODELS
    for scaling in SCALINGS
    if name != "phi3" or scaling in ("none", "longrope")  # all that its config class accepts
]


@pytest.mark.parametrize(("name", "scaling"), CASES)
@pytest.mark.parametrize("dialect", ["rope_parameters", "rope_scaling"])
def test_their_module_has_our_frequencies(name: str, dialect: Any, scaling: str) -> None:
    package, module, fields = MODELS[name]
    config = {"model_type": name, **SIZES, **fields}
    kind = "full_attention" if name == "gemma3_text" else None
    old = pe.read_config(config).layers[-1]
    value = SCALINGS[scaling]
    if isinstance(value, pe.LongRoPE):
        factors = FACTORS[: old.rotary_dim // 2]
        value = replace(value, short_factor=factors, long_factor=factors)
    new = replace(old, base=2e5, scaling=value)
    written = pe.to_config(new, config, layer_type=kind, dialect=dialect)
    theirs = walk.config_classes()[name](**written)
    code = importlib.import_module(f"transformers.models.{package}.modeling_{package}")
    rotary = getattr(code, module)(theirs)
    prefix = f"{kind}_" if kind else ""
    ours = new if new.fits_any_length else new.at(1)
    got = getattr(rotary, f"{prefix}inv_freq").double().numpy()
    np.testing.assert_allclose(got, ours.frequencies(), rtol=2e-6)
    got_factor = getattr(rotary, f"{prefix}attention_scaling")
    assert got_factor == pytest.approx(new.attention_factor, rel=1e-12)
    assert rope_parts(pe.read_config(written).layers[-1]) == (2e5, value)
