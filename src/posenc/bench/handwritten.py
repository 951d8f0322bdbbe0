"""The attention that people write by hand, with RoPE, and a small GPT to compare ours in."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

Cache = tuple[Tensor, Tensor]


class RotaryAttention(nn.Module):
    """Causal self-attention with RoPE: a table made once, halves rotated, PyTorch's attention.

    dim      channels of x, divided among the heads
    heads    attention heads
    length   rows of the table of cosines and sines
    """

    cos: Tensor
    sin: Tensor

    def __init__(self, dim: int, heads: int, *, length: int):
        super().__init__()
        self.head_dim = dim // heads
        w = 10_000.0 ** (-torch.arange(0, self.head_dim, 2, dtype=torch.float64) / self.head_dim)
        angles = (torch.arange(length)[:, None] * w).repeat(1, 2)
        self.register_buffer("cos", angles.cos().float(), persistent=False)
        self.register_buffer("sin", angles.sin().float(), persistent=False)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)

    def start_cache(self) -> Cache:
        """Keys and values of no token."""
        nothing = self.cos.new_zeros(1, self.qkv.in_features // self.head_dim, 0, self.head_dim)
        return nothing, nothing

    def forward(self, x: Tensor, cache: Cache | None = None) -> Any:
        """The output (batch, seq, dim), and the cache with these tokens if one was given."""
        heads = self.qkv(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2)
        q, k, v = heads.chunk(3, dim=1)
        before = 0 if cache is None else cache[0].shape[2]
        cos, sin = (table[before : before + x.shape[1]] for table in (self.cos, self.sin))
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        if cache is not None:
            k, v = torch.cat([cache[0], k], dim=2), torch.cat([cache[1], v], dim=2)
        y = scaled_dot_product_attention(q, k, v, is_causal=before == 0)
        y = self.out(y.transpose(1, 2).flatten(2))
        return y if cache is None else (y, (k, v))


def rotate_half(x: Tensor) -> Tensor:
    """(a, b) as (-b, a), where a and b are the halves of the channels."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat([-b, a], dim=-1)


class Block(nn.Module):
    """An attention layer and a network of two layers, each added to what comes in."""

    def __init__(self, attention: nn.Module, dim: int):
        super().__init__()
        self.attention = attention
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x: Tensor, cache: Any = None) -> tuple[Tensor, Any]:
        """x (batch, seq, dim) after both, and the cache, which is None unless given."""
        y = self.attention(self.norm_1(x), cache=cache)
        y, cache = (y, None) if cache is None else y
        x = x + y
        return x + self.mlp(self.norm_2(x)), cache


class GPT(nn.Module):
    """A decoder over any attention layers that are called as `RotaryAttention` is.

    attention   makes the attention layer of one block
    """

    def __init__(
        self, attention: Callable[[], nn.Module], *, layers: int, dim: int, vocabulary: int
    ):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, dim)
        self.attentions: list[Any] = [attention() for _ in range(layers)]
        self.blocks = nn.ModuleList(Block(each, dim) for each in self.attentions)
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, vocabulary)

    def forward(
        self, tokens: Tensor, caches: Sequence[Any] | None = None
    ) -> tuple[Tensor, list[Any]]:
        """Logits (batch, seq, vocabulary), and the caches of the blocks, None unless given."""
        x = self.embedding(tokens)
        kept = [*caches] if caches else [None] * len(self.blocks)
        for i, block in enumerate(self.blocks):
            x, kept[i] = block(x, kept[i])
        return self.head(self.norm(x)), kept

    def start_caches(self) -> list[Any]:
        """An empty cache for each block."""
        return [each.start_cache() for each in self.attentions]
