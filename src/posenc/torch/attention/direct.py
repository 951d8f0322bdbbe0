"""Calls that need no more than PyTorch's attention or a kernel, with as little as can be before it.

Each function declines, by None, what it does not know to be right; `prepare` then checks everything
and says what is wrong. What they take is what `attend.explain` tells of the call.
"""

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch import Tensor

from posenc.core.arrays import is_half
from posenc.core.encoding import Encoding
from posenc.core.fused_torch import has_kernels, is_at_rest, learns, try_newest
from posenc.core.mechanisms import Bias, Rotary, Scores, Unbiased
from posenc.torch.attention.blocked import bias_in_parts
from posenc.torch.attention.pieces import attend_causal, attend_fused, is_finite
from posenc.torch.cache import KVCache
from posenc.torch.parameters import EncodingModule
from posenc.torch.plan import Plan
from posenc.torch.store import Store

DTYPES = frozenset({torch.float64, torch.float32, torch.float16, torch.bfloat16})
AHEAD = 64
"""For how many tokens to come the rows of a bias are made at once, at most."""
ENTRIES = 2**20
"""Numbers in those rows, at most."""
Key: TypeAlias = tuple[tuple[object, ...], torch.dtype]
"""The version of the parameters that something was made of, and the dtype of queries."""


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
    if queries > keys or (causal and queries > 1 and (queries < keys or not q.is_cpu)):
        return None
    if rotary:
        k_pos = torch.arange(keys, device=k.device)
        q_pos = k_pos[keys - queries :]
        q, k = encoding.rotate(q, q_pos), encoding.rotate_keys(k, k_pos)
    scale = 1 / math.sqrt(q.shape[3]) if encoding.scaled else 1.0
    if causal and queries > 1:
        return _if_finite(attend_causal(q, k, v, scale=scale))
    out = None
    if queries == 1 and has_kernels() and not learns(q, k, v):
        out = try_newest(q, k, v, (0, keys), None, scale=scale)
    return attend_fused(q, k, v, scale=scale) if out is None else out


def attend_newest(q: Tensor, cache: KVCache, *, causal: bool, window: int | None) -> Tensor | None:
    """The attention of the newest token alone, one query, to those in the cache."""
    plan, length = cache.plan, len(cache)
    if not length or not isinstance(q, Tensor) or q.ndim != 4 or q.shape[2] != 1:
        return None
    store, encoding = cache.store, plan.encoding
    k, v = store.keys, store.values
    if not (_fits(q, k, v) and _suits(q, encoding, causal) and _sees_all(store, causal, window)):
        return None
    if torch.is_grad_enabled() and (
        q.requires_grad or k.requires_grad or v.requires_grad or plan.learns
    ):
        return None
    if store.mask is not None and not q.is_cpu:
        return None
    start = 0 if window is None else max(0, length - window)
    scale = 1 / math.sqrt(q.shape[3]) if encoding.scaled else 1.0
    out = None
    if plan.rotary is not None:
        out = _rotate_and_attend(q, plan, store, start, length, scale)
    if out is None:
        made = _fold_into_query(q, plan, store, length)
        if made is None:
            return None
        q, added = made
        added = added if added is None or not start else added[..., start:]
        out = try_newest(q, k, v, (start, length), added, scale=scale)
        if out is None:
            k, v = k[:, :, start:length], v[:, :, start:length]
            out = attend_fused(q, k, v, attn_mask=added, scale=scale)
    return out if store.mask is None else _if_finite(out)


def _rotate_and_attend(
    q: Tensor, plan: Plan, store: Store, start: int, length: int, scale: float
) -> Tensor | None:
    """Both in one operator, at the positions 0, 1, …; None if not by it."""
    waves = plan.newest_waves
    if waves is None or store.positions is not None or store.mask is not None:
        return None
    return try_newest(q, store.keys, store.values, (start, length), None, scale=scale, waves=waves)


def _if_finite(out: Tensor) -> Tensor | None:
    """The result, which the host can look at, unless what is hidden and not finite came through."""
    return out if is_finite(out) else None


def _sees_all(store: Store, causal: bool, window: int | None) -> bool:
    """Whether the newest token sees all others, or the last of them, `window` in number."""
    if window is None:
        return store.rising or not causal
    return type(window) is int and window > 0 and store.positions is None


def _fold_into_query(
    q: Tensor, plan: Plan, store: Store, length: int
) -> tuple[Tensor, Tensor | None] | None:
    """The query, and what is added to its products, as the encoding and padding make them."""
    encoding = plan.encoding
    if plan.rotary is not None:
        return plan.rotate_queries(q, _last_position(store, length)), _padding(store, length)
    if isinstance(encoding, Unbiased):
        return q, _padding(store, length)
    if encoding.axes is not None or encoding.needs or not encoding.fits_any_length:
        return None
    return _fold_logits(q, plan, store, length)


def _fold_logits(
    q: Tensor, plan: Plan, store: Store, length: int
) -> tuple[Tensor, Tensor | None] | None:
    """The same of an encoding that acts on logits, of which something is kept."""
    encoding, version = plan.encoding, plan.version
    if version is None:  # what is kept might be stale
        return None
    key = version, q.dtype
    if isinstance(encoding, Bias):
        return q, _bias_row(q, encoding, plan, store, length, key)
    if isinstance(encoding, Scores) and not encoding.mixes_values and not is_half(q.dtype):
        return _fold_scores(q, encoding, plan, store, length, key)
    return None


def _last_position(store: Store, length: int) -> Tensor:
    if store.positions is None:
        return torch.arange(length - 1, length, device=store.keys.device)
    return store.positions.narrow(store.seq, length - 1, 1)


def _padding(store: Store, length: int) -> Tensor | None:
    return None if store.mask is None else store.mask[:, None, None, :length]


@dataclass(frozen=True)
class Ahead:
    """What was made for tokens of which some are still to come, who go on after the last."""

    made: Tensor
    key: Key
    first: int | None = None
    """The token of its first row, of biases; None if one line of distances serves all tokens."""


@dataclass(frozen=True)
class AheadByDistance:
    """What scores by the distance are made of, for tokens that go on after the last."""

    of_content: Tensor
    of_distance: Tensor
    """What is added to a query before its products with keys, and with distances: (head, 1, dim)"""
    right: Tensor
    """The vectors of distances, from far to 0: (head, distance, dim)"""
    key: Key

    @property
    def reach(self) -> int:
        """How many distances it has."""
        return self.right.shape[1]


def _bias_row(q: Tensor, encoding: Bias, plan: Plan, store: Store, length: int, key: Key) -> Tensor:
    """The bias of the newest token, with its padding: (batch or 1, heads or 1, 1, k).

    It is made for tokens to come as well, since most of what a bias costs are the calls that make
    it: a line of all distances, far to near, whose end is the row of any token; or else the next
    rows. It is made anew once a parameter was written to.
    """
    ahead, at = store.ahead, length - 1
    if ahead is not None and ahead.key == key:
        made = ahead.made
        if ahead.first is None:
            if length <= made.shape[3]:
                return made.narrow(3, made.shape[3] - length, length)
        elif 0 <= at - ahead.first < made.shape[2]:
            return made.narrow(2, at - ahead.first, 1)[..., :length]
    plain = store.positions is None and store.mask is None
    if plain and encoding.limit is None and encoding.traits.relative:
        bias = _make_rows(q, encoding, plan, store, 2 * length + AHEAD, 1)
        store.ahead = Ahead(bias, key)
        return bias[..., bias.shape[3] - length :]
    batch = 1 if plain else q.shape[0]
    most = AHEAD if encoding.limit is None else 1
    count = max(1, min(most, ENTRIES // (batch * q.shape[1] * (length + AHEAD))))
    bias = _make_rows(q, encoding, plan, store, length, count)
    store.ahead = Ahead(bias, key, at)
    return bias[:, :, :1, :length]


def _make_rows(
    q: Tensor, encoding: Bias, plan: Plan, store: Store, length: int, count: int
) -> Tensor:
    """The bias of `count` tokens from number `length` on, for all up to them."""
    k_pos = _positions_ahead(store, length, count - 1)
    where = k_pos[..., length - 1 :], k_pos
    with torch.no_grad():
        bias = bias_in_parts(encoding, *where, plan.params, heads=q.shape[1])
        bias = bias.to(torch.float64 if q.dtype == torch.float64 else torch.float32)
        bias = (bias if bias.ndim == 4 else bias[None]).contiguous()
        if store.mask is not None:
            hidden = torch.nn.functional.pad(~store.mask[:, :length], (0, count - 1))
            bias = bias.masked_fill(hidden[:, None, None], -math.inf)
    return bias


def _positions_ahead(store: Store, length: int, count: int) -> Tensor:
    """The positions of the tokens and of so many more that go on after the last."""
    positions, device = store.positions, store.keys.device
    if positions is None:
        return torch.arange(length + count, device=device)
    known = positions[..., :length]
    return torch.cat([known, known[..., -1:] + torch.arange(1, count + 1, device=device)], dim=-1)


def _fold_scores(
    q: Tensor, encoding: Scores, plan: Plan, store: Store, length: int, key: Key
) -> tuple[Tensor, Tensor] | None:
    """A query and a bias that is made of it and of what is kept for each key."""
    by_distance = type(encoding).relative_terms is not Scores.relative_terms
    if by_distance and store.positions is None:
        made = _fold_distances(q, encoding, plan, store, length, key)
        if made is not None:
            return made
    terms = encoding.query_terms(q, _last_position(store, length), plan.params)
    if terms is None:
        return None
    ahead = store.ahead
    if ahead is None or ahead.key != key or ahead.made.shape[-2] < length:
        k_pos = _positions_ahead(
            store, length, max(AHEAD, length)
        )  # twice as many: none is made often
        ahead = store.ahead = Ahead(encoding.key_terms(k_pos, dtype=q.dtype), key)
    q, left = terms
    right = ahead.made[..., :length, :]
    right = right[:, None] if right.ndim == 3 else right
    added = left @ right.mT / math.sqrt(q.shape[3])
    if store.mask is not None:
        added = added.masked_fill(~store.mask[:, None, None, :length], -math.inf)
    return q, added


def _fold_distances(
    q: Tensor, encoding: Scores, plan: Plan, store: Store, length: int, key: Key
) -> tuple[Tensor, Tensor] | None:
    """The same of scores by the distance alone, whose vectors are kept from far to near."""
    ahead = store.ahead
    if not isinstance(ahead, AheadByDistance) or ahead.key != key or ahead.reach < length:
        behind = torch.arange(2 * length + AHEAD - 1, -1, -1, device=q.device)
        with torch.no_grad():
            terms = encoding.relative_terms(behind, plan.params, dtype=q.dtype)
        if terms is None:
            return None
        of_content, of_distance, right = terms
        right = right / math.sqrt(q.shape[3])
        ahead = store.ahead = AheadByDistance(of_content, of_distance, right, key)
    near = ahead.right.narrow(1, ahead.reach - length, length)
    added = (q + ahead.of_distance) @ near.mT
    if store.mask is not None:
        added = added.masked_fill(~store.mask[:, None, None, :length], -math.inf)
    return q + ahead.of_content, added


def _fits(q: Any, k: Any, v: Any) -> bool:
    """Whether these are tensors of one attention, and nothing traces or rounds what is done."""
    if not (type(q) is type(k) is type(v) is Tensor) or not is_at_rest():
        return False
    if not (q.ndim == k.ndim == v.ndim == 4 and q.dtype == k.dtype == v.dtype):
        return False
    (batch, heads, queries, dim), (rows, groups, keys, width) = q.shape, k.shape
    if batch != rows or dim != width or not (batch and queries and keys and dim and groups):
        return False
    if heads % groups or not heads or v.shape[:3] != k.shape[:3] or not v.shape[3]:
        return False
    return q.dtype in DTYPES and not (q.is_meta or torch.is_autocast_enabled(q.device.type))


def _suits(q: Tensor, encoding: Encoding, causal: Any) -> bool:
    """Whether q has the sizes of the encoding, and sees what it is meant for."""
    if causal is not True and (causal is not False or encoding.causal_only):
        return False
    heads, dim = encoding.heads, encoding.dim
    return (heads is None or heads == q.shape[1]) and (dim is None or dim == q.shape[3])
