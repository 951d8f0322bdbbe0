"""The truth that implementations are held against: formulas in float64, without posenc."""

import math

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


def compute_angles(positions: Tensor, dim: int, base: float = 10_000.0) -> Tensor:
    """p * base^(-2i/dim), (seq, dim/2)."""
    pairs = torch.arange(0, dim, 2, dtype=torch.float64)
    return positions.double()[:, None] * base ** (-pairs / dim)


def rotate(x: Tensor, positions: Tensor, pairing: str) -> Tensor:
    """R(p) x of RoPE, (batch, heads, seq, dim)."""
    angles = compute_angles(positions, x.shape[-1])
    cos, sin, x = angles.cos(), angles.sin(), x.double()
    if pairing == "halves":
        first, second = x.chunk(2, dim=-1)
    else:
        first, second = x[..., 0::2], x[..., 1::2]
    turned = first * cos - second * sin, second * cos + first * sin
    if pairing == "halves":
        return torch.cat(turned, dim=-1)
    return torch.stack(turned, dim=-1).flatten(-2)


def encode(positions: Tensor, dim: int) -> Tensor:
    """The table of Vaswani et al. (2017): sines and cosines in turn, (seq, dim)."""
    angles = compute_angles(positions, dim)
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)


def alibi_bias(heads: int, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    """-m_h |i - j| with m_h = 2^(-8h/heads), for a power of 2 of heads."""
    slopes = 2.0 ** (-8 * torch.arange(1, heads + 1, dtype=torch.float64) / heads)
    return -slopes[:, None, None] * (q_pos[:, None] - k_pos).abs()


def t5_bias(table: Tensor, q_pos: Tensor, k_pos: Tensor, *, farthest: int = 128) -> Tensor:
    """The causal bias of T5 out of its table (buckets, heads).

    Half of the buckets are a distance each, the others widen geometrically up to `farthest`.
    """
    buckets = len(table)
    near = buckets // 2
    behind = (q_pos[:, None] - k_pos).clamp(min=0)
    growth = (behind.clamp(min=near).double() / near).log() / math.log(farthest / near)
    far = near + (growth * (buckets - near)).long()
    bucket = torch.where(behind < near, behind, far.clamp(max=buckets - 1))
    return table.detach().double()[bucket].movedim(-1, 0)


def attend(q: Tensor, k: Tensor, v: Tensor, bias: Tensor, q_pos: Tensor, k_pos: Tensor) -> Tensor:
    """Causal attention with a bias (heads or 1, q, k)."""
    mask = bias.double().masked_fill(q_pos[:, None] < k_pos, -math.inf)
    return scaled_dot_product_attention(q.double(), k.double(), v.double(), attn_mask=mask[None])
