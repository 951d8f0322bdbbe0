"""Calls that need no more than PyTorch's attention, with as little as can be before it.

Each function declines, by None, what it does not know to be right; `prepare` then checks everything
and says what is wrong. What they take is what `attend.explain` tells of the call.
"""

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.forward_ad import unpack_dual

from posenc.core.mechanisms import Bias, Encoding, Rotary, Unbiased
from posenc.torch.attention.blocked import bias_in_parts
from posenc.torch.attention.pieces import fused
from posenc.torch.cache import KVCache
from posenc.torch.parameters import EncodingModule

DTYPES = frozenset({torch.float64, torch.float32, torch.float16, torch.bfloat16})
AHEAD = 64
"""For how many tokens to come the rows of a bias are made at once, at most."""
ENTRIES = 2**20
"""Numbers in those rows, at most."""


def attend_plain(q: Tensor, k: Tensor, v: Tensor, encoding: Any, *, causal: bool) -> Tensor | None:
    """Attention of tokens at 0, 1, … without a bias, once they are rotated if the encoding does."""
    if isinstance(encoding, EncodingModule):
        encoding = encoding.encoding
    rotary = isinstance(encoding, Rotary)
    if not rotary and not isinstance(encoding, Unbiased):
        return None
    if rotary and (not encoding.fits_any_length or encoding.axes is not None or encoding.needs):
        return None
    if not (_fits(q, k, v) and _suits(q, encoding, causal)) or encoding.parameters():
        return None
    queries, keys = q.shape[2], k.shape[2]
    if queries > keys or (causal and 1 < queries < keys):
        return None
    if rotary:
        k_pos = torch.arange(keys, device=k.device)
        q_pos = k_pos[keys - queries :]
        q, k = encoding.rotate(q, q_pos), encoding.rotate_keys(k, k_pos)
    scale = 1 / math.sqrt(q.shape[3]) if encoding.scaled else 1.0
    return fused(q, k, v, scale=scale, is_causal=causal and queries > 1)


def attend_newest(q: Tensor, cache: KVCache, *, causal: bool, window: int | None) -> Tensor | None:
    """The attention of the newest token alone, one query, to those in the cache."""
    length = len(cache)
    if not length or not isinstance(q, Tensor) or q.ndim != 4 or q.shape[2] != 1:
        return None
    plan, store = cache.plan, cache.store
    encoding, k, v = plan.encoding, store.keys[:, :, :length], store.values[:, :, :length]
    if not (_fits(q, k, v) and _suits(q, encoding, causal) and _sees_all(cache, causal, window)):
        return None
    if plan.learns or (torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v))):
        return None
    made = _fold_into_query(q, cache)
    if made is None:
        return None
    q, mask = made
    if window is not None and window < length:
        k, v = k[:, :, length - window :], v[:, :, length - window :]
        mask = mask if mask is None else mask[..., length - window :]
    scale = 1 / math.sqrt(q.shape[3]) if encoding.scaled else 1.0
    return fused(q, k, v, attn_mask=mask, scale=scale)


def _sees_all(cache: KVCache, causal: bool, window: int | None) -> bool:
    """Whether the newest token sees all tokens, or the last of them, `window` in number."""
    store = cache.store
    if window is None:
        return store.rising or not causal
    return type(window) is int and window > 0 and store.positions is None


def _fold_into_query(q: Tensor, cache: KVCache) -> tuple[Tensor, Tensor | None] | None:
    """The query, and what is added to its products, as the encoding and padding make them."""
    plan, store, length = cache.plan, cache.store, len(cache)
    encoding, padding = plan.encoding, store.mask
    if padding is not None:
        padding = padding[:, None, None, :length]
    if plan.rotary is not None:
        if store.positions is None:
            where = torch.arange(length - 1, length, device=q.device)
        else:
            where = store.positions.narrow(store.seq, length - 1, 1)
        return plan.rotate_queries(q, where), padding
    if isinstance(encoding, Unbiased):
        return q, padding
    if encoding.axes is not None or encoding.needs or not encoding.fits_any_length:
        return None
    if isinstance(encoding, Bias):
        return q, _bias_row(q, cache)
    return None


def _fits(q: Any, k: Any, v: Any) -> bool:
    """Whether these are tensors of one attention, and nothing traces or rounds what is done."""
    if torch.compiler.is_compiling() or not (type(q) is type(k) is type(v) is Tensor):
        return False
    if not (q.ndim == k.ndim == v.ndim == 4 and q.dtype == k.dtype == v.dtype):
        return False
    (batch, heads, queries, dim), (rows, groups, keys, width) = q.shape, k.shape
    if batch != rows or dim != width or not (batch and queries and keys and dim and groups):
        return False
    if heads % groups or not heads or v.shape[:3] != k.shape[:3] or not v.shape[3]:
        return False
    if q.dtype not in DTYPES or q.is_meta or torch.is_autocast_enabled(q.device.type):
        return False
    return all(unpack_dual(x).tangent is None for x in (q, k, v))


def _suits(q: Tensor, encoding: Encoding, causal: Any) -> bool:
    """Whether q has the sizes of the encoding, and sees what it is meant for."""
    if causal is not True and (causal is not False or encoding.causal_only):
        return False
    heads, dim = encoding.heads, encoding.dim
    return (heads is None or heads == q.shape[1]) and (dim is None or dim == q.shape[3])


@dataclass(frozen=True)
class Rows:
    """The bias of some tokens, from `first` on, for all keys up to them: (…, heads, q, k)."""

    first: int
    bias: Tensor
    version: int
    dtype: torch.dtype


def _bias_row(q: Tensor, cache: KVCache) -> Tensor:
    """The bias of the newest token, with its padding: (batch or 1, heads or 1, 1, k).

    Rows are made for the tokens to come as well, who are to go on after the last: what a bias costs
    is mostly the calls that make it. They are made anew if a parameter was written to.
    """
    plan, store, at = cache.plan, cache.store, len(cache) - 1
    made = store.ahead
    fresh = isinstance(made, Rows) and made.dtype == q.dtype and made.version == plan.version
    if not fresh or not made.first <= at < made.first + made.bias.shape[2]:
        made = store.ahead = _make_rows(q, cache, at)
    return made.bias[:, :, at - made.first : at - made.first + 1, : at + 1]


def _make_rows(q: Tensor, cache: KVCache, at: int) -> Rows:
    plan, store = cache.plan, cache.store
    batch = 1 if store.positions is None and store.mask is None else q.shape[0]
    most = AHEAD if plan.encoding.limit is None else 1
    count = max(1, min(most, ENTRIES // (batch * q.shape[1] * (at + AHEAD))))
    if store.positions is None:
        k_pos = torch.arange(at + count, device=q.device)
    else:
        known = store.positions[..., : at + 1]
        after = torch.arange(1, count, device=q.device)
        k_pos = torch.cat([known, known[..., -1:] + after], dim=-1)
    bias = bias_in_parts(plan.encoding, k_pos[..., at:], k_pos, plan.params, heads=q.shape[1])
    bias = bias.to(torch.float64 if q.dtype == torch.float64 else torch.float32)
    bias = (bias if bias.ndim == 4 else bias[None]).contiguous()
    if store.mask is not None:
        hidden = torch.nn.functional.pad(~store.mask[:, : at + 1], (0, count - 1))
        bias = bias.masked_fill(hidden[:, None, None], -math.inf)
    return Rows(at, bias.detach(), plan.version, q.dtype)
