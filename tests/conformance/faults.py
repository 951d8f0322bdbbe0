"""Where theirs is at fault, measured: each function returns the numbers that the page prints."""

from typing import Any

import mpmath
import numpy as np
import torch
from transformers.models.gemma3.configuration_gemma3 import Gemma3TextConfig
from transformers.models.gemma3.modeling_gemma3 import Gemma3RotaryEmbedding
from transformers.models.hunyuan_vl import modeling_hunyuan_vl as hunyuan
from transformers.models.hunyuan_vl.configuration_hunyuan_vl import HunYuanVLTextConfig
from transformers.models.llama.configuration_llama import LlamaConfig
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.models.minimax_m3_vl.configuration_minimax_m3_vl import MiniMaxM3VLTextConfig
from transformers.models.minimax_m3_vl.modeling_minimax_m3_vl import MiniMaxM3VLRotaryEmbedding
from transformers.models.phimoe.configuration_phimoe import PhimoeConfig
from transformers.models.phimoe.modeling_phimoe import PhimoeRotaryEmbedding
from transformers.models.vjepa2.modeling_vjepa2 import rotate_queries_or_keys

import posenc as pe
from tests.conformance.theirs import per_pair, split
from tests.conformance.walk import TINY


def llama(
    positions: np.ndarray, *, dtype: torch.dtype = torch.float32, **config: Any
) -> np.ndarray:
    """Cosines (seq, pair) of Llama's rotary module, which a hundred models have a copy of."""
    module = LlamaRotaryEmbedding(LlamaConfig(head_dim=128, **config)).to(dtype)
    x = torch.zeros(1, 1, 8)
    return per_pair(split(module(x, torch.from_numpy(positions)[None])), 64)[0]


def exact_cosines(positions: np.ndarray) -> np.ndarray:
    """The cosines of base 10,000 and 128 channels, to 40 digits and then rounded to float64."""
    with mpmath.workdps(40):
        w = [mpmath.mpf(10_000) ** (mpmath.mpf(-i) / 64) for i in range(64)]
        return np.array([[float(mpmath.cos(int(p) * w_i)) for w_i in w] for p in positions])


def long_positions() -> dict[int, tuple[float, float]]:
    """Largest error of a cosine in the 64 positions before 1e4, 1e5, 1e6: theirs, ours."""
    errors: dict[int, tuple[float, float]] = {}
    for end in (10_000, 100_000, 1_000_000):
        positions = np.arange(end - 64, end)
        exact = exact_cosines(positions)
        ours = pe.RoPE(128).cos_sin(positions, dtype=np.float32)[0]
        errors[end] = (
            float(np.abs(llama(positions) - exact).max()),
            float(np.abs(ours - exact).max()),
        )
    return errors


def halves() -> dict[int, float]:
    """Largest error of a cosine up to a position, after module.to(torch.bfloat16)."""
    positions = np.arange(2048)
    off = np.abs(llama(positions, dtype=torch.bfloat16) - exact_cosines(positions))
    return {end: float(off[: end + 1].max()) for end in (1, 16, 128, 2047)}


def nested_truncate() -> tuple[float, float, float]:
    """YaRN with truncate=False in one kind of layer: relative error of w, and of cosines.

    Third comes how far it is from what they would compute with truncate=True: nothing.
    """
    yarn = {
        "rope_type": "yarn",
        "rope_theta": 1e6,
        "factor": 8.0,
        "original_max_position_embeddings": 4096,
        "truncate": False,
    }
    rope = {
        "full_attention": yarn,
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    }
    module = Gemma3RotaryEmbedding(Gemma3TextConfig(head_dim=128, rope_parameters=rope))
    w = module.full_attention_inv_freq.double().numpy()
    asked, given = (
        pe.RoPE(128, base=1e6, scaling=pe.YaRN(8.0, 4096, truncate=truncate))
        for truncate in (False, True)
    )
    positions = np.arange(2048)
    scale = asked.attention_factor
    off = np.abs(scale * np.cos(positions[:, None] * w) - asked.cos_sin(positions)[0]).max()
    relative = [float(np.abs(w / ours.frequencies() - 1).max()) for ours in (asked, given)]
    return relative[0], float(off), relative[1]


def vjepa2() -> tuple[float, float, float, float]:
    """Shortest and longest a unit vector becomes; one score at one distance, lowest and highest."""
    positions = np.arange(64)
    rng = np.random.default_rng(0)
    q, k = (torch.from_numpy(x / np.linalg.norm(x)) for x in rng.normal(size=(2, 16)))
    at = torch.from_numpy(positions)[None, None]
    rotated_q, rotated_k = (
        rotate_queries_or_keys(x.expand(1, 1, len(positions), -1), at)[0, 0].numpy() for x in (q, k)
    )
    lengths = np.linalg.norm(rotated_q, axis=-1)
    scores = (rotated_q[3:] * rotated_k[:-3]).sum(-1)
    return tuple(float(x) for x in (lengths.min(), lengths.max(), scores.min(), scores.max()))


def hunyuan_vl() -> tuple[float, float, float, float]:
    """The same four numbers for HunYuan-VL, for patches of an image at one distance."""
    config = HunYuanVLTextConfig(**TINY["HunYuanVLTextConfig"])
    module = hunyuan.HunYuanVLRotaryEmbedding(config)
    start = np.arange(64)
    # (position, column, row, image): the position runs on along the sequence, a row stays
    points = np.stack([start, start % 8, start // 8, np.zeros_like(start)], -1)
    rng = np.random.default_rng(0)
    q, k = (torch.from_numpy(x / np.linalg.norm(x)) for x in rng.normal(size=(2, 128)))

    def turned(x: torch.Tensor, where: np.ndarray) -> np.ndarray:
        cos, sin = module(torch.zeros(1), torch.from_numpy(where.T.copy())[:, None])
        whole = x.expand(1, 1, len(where), -1)
        return hunyuan.apply_rotary_pos_emb(whole, whole, cos, sin)[0][0, 0].numpy()

    rotated_q, rotated_k = turned(q, points + np.array([3, 3, 0, 0])), turned(k, points)
    lengths = np.linalg.norm(rotated_q, axis=-1)
    scores = (rotated_q * rotated_k).sum(-1)
    return tuple(float(x) for x in (lengths.min(), lengths.max(), scores.min(), scores.max()))


def phimoe_long() -> tuple[float, float]:
    """Phi-3.5-MoE beyond its original length: relative error of w with long and short factors."""
    short, long = [1.0] * 64, [1.0 + i / 8 for i in range(64)]
    rope = {
        "rope_type": "longrope",
        "rope_theta": 1e4,
        "short_factor": short,
        "long_factor": long,
        "short_mscale": 1.2,
        "long_mscale": 1.2,
        "original_max_position_embeddings": 4096,
    }
    config = PhimoeConfig(head_dim=128, max_position_embeddings=131_072, rope_parameters=rope)
    module = PhimoeRotaryEmbedding(config)
    positions = np.array([0, 1, 8191])
    cos, sin = per_pair(split(module(torch.zeros(1), torch.from_numpy(positions)[None])), 64)
    w = np.arctan2(sin[1], cos[1])
    scaling = pe.LongRoPE(tuple(short), tuple(long), 4096)
    asked, kept = (
        pe.RoPE(128, scaling=scaling.at(length)).frequencies() for length in (8192, 4096)
    )
    return float(np.abs(w / asked - 1).max()), float(np.abs(w / kept - 1).max())


def minimax_rotary_dim() -> tuple[int, int]:
    """How many channels MiniMax M3's config says turn, and how many do."""
    config = MiniMaxM3VLTextConfig(rotary_dim=64)
    return config.rotary_dim, 2 * len(MiniMaxM3VLRotaryEmbedding(config).inv_freq)
