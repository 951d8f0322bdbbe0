"""What `posenc config --engine transformers` says, held against transformers itself."""

from typing import Any

import pytest

pytest.importorskip("transformers", reason="transformers is not installed: make conformance")

import torch
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.phi3.modeling_phi3 import Phi3RotaryEmbedding

from posenc.interop.engines import Difference, compare_engine
from tests.conformance import walk

pytestmark = [pytest.mark.conformance, pytest.mark.filterwarnings("ignore")]

SIZES = {
    "hidden_size": 256,
    "num_attention_heads": 4,
    "num_hidden_layers": 6,
    "max_position_embeddings": 2048,
}


def find(config: dict[str, Any]) -> Difference:
    [difference] = compare_engine(config, "transformers")
    return difference


def build(kind: Any, config: dict[str, Any]) -> Any:
    return kind(walk.config_classes()[config["model_type"]](**config))


def see(rotary: Any, length: int) -> None:
    """Let a rotary module see a text of so many tokens."""
    rotary(torch.zeros(1), torch.arange(length)[None])


def test_truncate_beside_layer_types_is_not_read() -> None:
    yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 2048}
    own = {"full_attention": yarn | {"truncate": False, "rope_theta": 1e6}}
    local = {"sliding_attention": {"rope_type": "default", "rope_theta": 1e4}}
    config = {"model_type": "gemma3_text", **SIZES, "head_dim": 64, "rope_parameters": own | local}
    said = find(config)
    got = build(Gemma3RotaryEmbedding, config).full_attention_inv_freq[said.pair]
    assert float(got) == pytest.approx(said.theirs, rel=1e-6)


def test_the_base_of_the_longest_text_stays() -> None:
    scaling = {"rope_type": "dynamic", "factor": 2.0}
    config = {"model_type": "llama", **SIZES, "rope_theta": 1e4, "rope_scaling": scaling}
    said = find(config)
    rotary = build(LlamaRotaryEmbedding, config)
    see(rotary, said.length)
    assert float(rotary.inv_freq[said.pair]) == pytest.approx(said.ours, rel=1e-6)
    see(rotary, 2 * said.length)
    see(rotary, said.length)
    assert float(rotary.inv_freq[said.pair]) == pytest.approx(said.theirs, rel=1e-6)


def test_keys_are_rotated_by_the_short_factors_until_the_switch() -> None:
    factors = {"short_factor": [1.0] * 32, "long_factor": [1.0 + i for i in range(32)]}
    config = {
        "model_type": "phi3",
        **SIZES,
        "original_max_position_embeddings": 1024,
        "rope_theta": 1e4,
        "rope_scaling": {"rope_type": "longrope", **factors},
    }
    said = find(config)
    rotary = build(Phi3RotaryEmbedding, config)
    see(rotary, said.length - 1)
    assert float(rotary.inv_freq[said.pair]) == pytest.approx(said.theirs, rel=1e-6)
    see(rotary, said.length)
    assert float(rotary.inv_freq[said.pair]) == pytest.approx(said.ours, rel=1e-6)
