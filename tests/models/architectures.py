"""Small models of many architectures, with random weights: what `swap` is tested on."""

from typing import Any

import torch
import transformers

SMALL: dict[str, Any] = {
    "vocab_size": 64,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
    "initializer_range": 0.3,
}
GROUPED = SMALL | {"num_key_value_heads": 2}
BY_TYPE = ["sliding_attention", "full_attention"]

FIELDS: dict[str, dict[str, Any]] = {
    "llama": GROUPED,
    "qwen3": GROUPED | {"head_dim": 8},
    "mistral": GROUPED | {"sliding_window": 6, "head_dim": 8},
    "gemma2": GROUPED | {"head_dim": 8, "sliding_window": 6, "query_pre_attn_scalar": 8},
    "gemma3_text": GROUPED
    | {
        "head_dim": 8,
        "sliding_window": 6,
        "layer_types": BY_TYPE,
        "query_pre_attn_scalar": 8,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
        },
    },
    "phi3": GROUPED
    | {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    },
    "gpt_neox": SMALL
    | {
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
    },
    "gptj": {
        "vocab_size": 64,
        "n_embd": 32,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 256,
        "rotary_dim": 4,
        "n_inner": 48,
        "initializer_range": 0.3,
        "bos_token_id": 1,
        "eos_token_id": 2,
    },
    "olmo": GROUPED,
    "cohere": GROUPED,
    "modernbert": SMALL
    | {
        "layer_types": BY_TYPE,
        "local_attention": 6,
        "cls_token_id": 1,
        "sep_token_id": 2,
        "rope_parameters": {
            "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
            "full_attention": {"rope_type": "default", "rope_theta": 1.6e5},
        },
    },
    "deepseek_v3": SMALL
    | {
        "q_lora_rank": 16,
        "kv_lora_rank": 16,
        "qk_nope_head_dim": 8,
        "qk_rope_head_dim": 8,
        "v_head_dim": 12,
        "num_key_value_heads": 4,
        "n_routed_experts": 4,
        "num_experts_per_tok": 2,
        "n_group": 2,
        "topk_group": 1,
        "moe_intermediate_size": 16,
        "first_k_dense_replace": 1,
        "rope_parameters": {
            "rope_type": "yarn",
            "rope_theta": 1e4,
            "factor": 4.0,
            "original_max_position_embeddings": 64,
            "mscale": 1.0,
            "mscale_all_dim": 1.0,
        },
    },
    "qwen2_vl": {
        "text_config": GROUPED
        | {
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 1e4,
                "mrope_section": [1, 1, 2],
            },
        },
        "vision_config": {
            "depth": 1,
            "embed_dim": 16,
            "num_heads": 2,
            "hidden_size": 32,
            "mlp_ratio": 2,
            "patch_size": 4,
        },
        "image_token_id": 60,
        "video_token_id": 61,
        "vision_start_token_id": 62,
        "vision_end_token_id": 63,
    },
}
"""The fields of a config of each architecture, by its model type."""

AUTO = {"modernbert": "AutoModelForMaskedLM", "qwen2_vl": "AutoModelForImageTextToText"}
"""The class that builds a model, where it is not AutoModelForCausalLM."""

DECODERS = tuple(name for name in FIELDS if name != "modernbert")


def build(name: str, *, dtype: torch.dtype = torch.float32, **changes: Any) -> Any:
    """A small model of this type, with random weights that are the same every time."""
    config = transformers.AutoConfig.for_model(name, **(FIELDS[name] | changes))
    torch.manual_seed(0)
    auto = getattr(transformers, AUTO.get(name, "AutoModelForCausalLM"))
    return auto.from_config(config, dtype=dtype).eval()
