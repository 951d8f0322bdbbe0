"""Small random checkpoints, and attention logits of them written out for each layout."""

from dataclasses import dataclass
from typing import Any

import numpy as np

HIDDEN, LENGTH, THETA = 24, 7, 100.0
PREFIX = "model.layers.{}."


def rotate(x, width, pairing, *, trailing=False):
    """(head, seq, dim), rotated by the positions 0, 1, …, from the definition of RoPE."""
    out = np.array(x)
    first = x.shape[-1] - width if trailing else 0
    for i in range(width // 2):
        a, b = (2 * i, 2 * i + 1) if pairing == "interleaved" else (i, i + width // 2)
        angle = np.arange(x.shape[1]) * THETA ** (-2 * i / width)
        a, b = first + a, first + b
        out[..., a] = x[..., a] * np.cos(angle) - x[..., b] * np.sin(angle)
        out[..., b] = x[..., a] * np.sin(angle) + x[..., b] * np.cos(angle)
    return out


def rms(x, weight):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight


@dataclass(frozen=True)
class Sizes:
    q: int = 4
    k: int = 2
    dim: int = 8
    width: int = 8
    trailing: bool = False


@dataclass(frozen=True)
class Model:
    """A config, the shapes of a layer's tensors, and (hidden, layer's tensors) -> q, k by head."""

    config: dict[str, Any]
    shapes: dict[str, tuple[int, ...]]
    heads: Any
    sizes: Sizes = Sizes()
    home: str = "llama"

    def state(self, seed=0, layers=2):
        rng = np.random.default_rng(seed)
        return {
            PREFIX.format(i) + name: rng.normal(size=shape)
            for i in range(layers)
            for name, shape in self.shapes.items()
        }

    def logits(self, state, pairing, layer=0):
        hidden = np.random.default_rng(9).normal(size=(LENGTH, HIDDEN))
        prefix = PREFIX.format(layer)
        own = {name: state[prefix + name] for name in self.shapes}
        q, k = self.heads(hidden, own)
        s = self.sizes
        q, k = (rotate(x, s.width, pairing, trailing=s.trailing) for x in (q, k))
        k = np.repeat(k, len(q) // len(k), axis=0)
        return q @ k.swapaxes(1, 2)


def by_head(x, dim):
    return x.reshape(LENGTH, -1, dim).swapaxes(0, 1)


def config(model_type, sizes, **more):
    return {"model_type": model_type, "hidden_size": HIDDEN, "num_attention_heads": sizes.q,
            "num_key_value_heads": sizes.k, "num_hidden_layers": 2, "head_dim": sizes.dim,
            "max_position_embeddings": 64, "rope_theta": THETA} | more  # fmt: skip


def separate(hidden, own):
    q, k = (hidden @ own[f"self_attn.{n}_proj.weight"].T for n in "qk")
    if "self_attn.q_proj.bias" in own:
        q, k = q + own["self_attn.q_proj.bias"], k + own["self_attn.k_proj.bias"]
    norms = [own.get(f"self_attn.{n}_norm.weight") for n in "qk"]
    if norms[0] is not None and len(norms[0]) > 8:  # of all channels, as in OLMo 2
        q, k = (rms(x, w) for x, w in zip((q, k), norms, strict=True))
    q, k = by_head(q, 8), by_head(k, 8)
    if norms[0] is not None and len(norms[0]) == 8:
        q, k = (rms(x, w) for x, w in zip((q, k), norms, strict=True))
    return q, k


QKV = {"self_attn.q_proj.weight": (32, HIDDEN), "self_attn.k_proj.weight": (16, HIDDEN),
       "self_attn.v_proj.weight": (16, HIDDEN)}  # fmt: skip
BIASES = {"self_attn.q_proj.bias": (32,), "self_attn.k_proj.bias": (16,),
          "self_attn.v_proj.bias": (16,)}  # fmt: skip


def blocks(hidden, own):
    weight, *bias = own.values()
    x = hidden @ weight.T + (bias[0] if bias else 0.0)
    keys = (len(weight) - 32) // 2
    return by_head(x[:, :32], 8), by_head(x[:, 32 : 32 + keys], 8)


def neox(hidden, own):
    name = "attention.query_key_value"
    x = hidden @ own[f"{name}.weight"].T + own[f"{name}.bias"]
    x = x.reshape(LENGTH, 4, 3, 8)
    return x[:, :, 0].swapaxes(0, 1), x[:, :, 1].swapaxes(0, 1)


def falcon(hidden, own):
    x = (hidden @ own["self_attention.query_key_value.weight"].T).reshape(LENGTH, 2, 4, 8)
    return x[:, :, :2].reshape(LENGTH, 4, 8).swapaxes(0, 1), x[:, :, 2].swapaxes(0, 1)


def multi_query(hidden, own):
    x = (hidden @ own["self_attention.query_key_value.weight"].T).reshape(LENGTH, 6, 8)
    return x[:, :4].swapaxes(0, 1), x[:, 4:5].swapaxes(0, 1)


def codegen(hidden, own):
    x = (hidden @ own["attn.qkv_proj.weight"].T).reshape(LENGTH, 4, 3, 8)
    return x[:, :, 0].swapaxes(0, 1), x[:, :, 2].swapaxes(0, 1)


def latent(hidden, own):
    """Queries of 4 heads of 6 + 4 channels; the rotated channels of the key are shared."""
    name = "q_b_proj" if "self_attn.q_b_proj.weight" in own else "q_proj"
    inner = hidden @ own["self_attn.q_a_proj.weight"].T if name == "q_b_proj" else hidden
    q = by_head(inner @ own[f"self_attn.{name}.weight"].T, 10)
    kv = hidden @ own["self_attn.kv_a_proj_with_mqa.weight"].T
    plain = by_head(rms(kv[:, :5], 1.0) @ own["self_attn.kv_b_proj.weight"].T, 6)
    shared = np.broadcast_to(kv[:, 5:], (4, LENGTH, 4))
    return q, np.concatenate([plain, shared], axis=-1)


def gated(hidden, own):
    q = (hidden @ own["self_attn.q_proj.weight"].T).reshape(LENGTH, 4, 16)[..., :8]
    k = by_head(hidden @ own["self_attn.k_proj.weight"].T, 8)
    return q.swapaxes(0, 1), k


S, ALL = Sizes(), Sizes(k=4)
LATENT = Sizes(k=4, dim=10, width=4, trailing=True)
RANKS = {"kv_lora_rank": 5, "qk_nope_head_dim": 6, "qk_rope_head_dim": 4, "head_dim": None,
         "rope_interleave": None}  # fmt: skip
KV = {"self_attn.kv_a_proj_with_mqa.weight": (9, HIDDEN), "self_attn.kv_b_proj.weight": (24, 5)}
MODELS = {
    "grouped heads": Model(config("llama", S), QKV, separate),
    "biases": Model(config("qwen2", S), QKV | BIASES, separate),
    "head norms": Model(
        config("qwen3", S),
        QKV | {"self_attn.q_norm.weight": (8,), "self_attn.k_norm.weight": (8,)},
        separate,
    ),
    "full norms": Model(
        config("olmo2", S),
        QKV | {"self_attn.q_norm.weight": (32,), "self_attn.k_norm.weight": (16,)},
        separate,
    ),
    "partial": Model(
        config("stablelm", Sizes(width=4), partial_rotary_factor=0.5), QKV, separate, Sizes(width=4)
    ),
    "interleaved": Model(config("cohere", S), QKV, separate),
    "fused, blocks": Model(
        config("phi3", S), {"self_attn.qkv_proj.weight": (64, HIDDEN)}, blocks
    ),
    "fused, blocks of ChatGLM": Model(
        config("chatglm", Sizes(width=4), rope_theta=None, multi_query_attention=True)
        | {"original_rope": True, "multi_query_group_num": 2},
        {"self_attention.query_key_value.weight": (64, HIDDEN),
         "self_attention.query_key_value.bias": (64,)},
        blocks,
        Sizes(width=4),
    ),
    "fused, blocks of Baichuan": Model(
        config("baichuan", ALL), {"self_attn.W_pack.weight": (96, HIDDEN)}, blocks, ALL
    ),
    "fused, blocks of Qwen": Model(
        config("qwen", ALL, use_dynamic_ntk=False, use_logn_attn=False),
        {"attn.c_attn.weight": (96, HIDDEN), "attn.c_attn.bias": (96,)},
        blocks,
        ALL,
    ),
    "fused, blocks of Phi": Model(
        config("phi-msft", ALL, rotary_dim=4),
        {"mixer.Wqkv.weight": (96, HIDDEN), "mixer.Wqkv.bias": (96,)},
        blocks,
        Sizes(k=4, width=4),
    ),
    "fused, by head": Model(
        config("gpt_neox", ALL, rotary_pct=0.5),
        {"attention.query_key_value.weight": (96, HIDDEN), "attention.query_key_value.bias": (96,)},
        neox,
        Sizes(k=4, width=4),
    ),
    "fused, by group": Model(
        config("falcon", S, num_kv_heads=2, new_decoder_architecture=True),
        {"self_attention.query_key_value.weight": (64, HIDDEN)},
        falcon,
    ),
    "fused, by group before Falcon": Model(
        config("RefinedWeb", S, n_head_kv=2, num_key_value_heads=None),
        {"self_attention.query_key_value.weight": (64, HIDDEN)},
        falcon,
    ),
    "fused, one key": Model(
        config("RefinedWebModel", S, multi_query=True, num_key_value_heads=None),
        {"self_attention.query_key_value.weight": (48, HIDDEN)},
        multi_query,
        Sizes(k=1),
    ),
    "fused, in four parts": Model(
        config("codegen", ALL, rotary_dim=4),
        {"attn.qkv_proj.weight": (96, HIDDEN)},
        codegen,
        Sizes(k=4, width=4),
    ),
    "gated": Model(
        config("qwen3_next", S, partial_rotary_factor=0.5, layer_types=["full_attention"] * 2),
        QKV | {"self_attn.q_proj.weight": (64, HIDDEN)},
        gated,
        Sizes(width=4),
    ),
    "latent": Model(
        config("deepseek_v3", LATENT, **RANKS, q_lora_rank=6),
        KV | {"self_attn.q_a_proj.weight": (6, HIDDEN), "self_attn.q_b_proj.weight": (40, 6)},
        latent,
        LATENT,
    ),
    "latent attention turned off": Model(
        config("deepseek_v2", S, use_mla=False, kv_lora_rank=None, qk_nope_head_dim=0)
        | {"qk_rope_head_dim": 0},
        QKV,
        separate,
    ),
    "latent, plain queries": Model(
        config("minicpm3", LATENT, **RANKS),
        KV | {"self_attn.q_proj.weight": (40, HIDDEN)},
        latent,
        LATENT,
    ),
}  # fmt: skip
