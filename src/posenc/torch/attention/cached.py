"""A call of `attend` whose keys and values are in a cache."""

import math
from dataclasses import replace
from typing import Any, Unpack

import torch
from torch import Tensor

from posenc.core import rules
from posenc.core.attention_inputs import read_mask
from posenc.core.mechanisms import Unbiased
from posenc.torch.attention.call import Call, prepare
from posenc.torch.attention.options import Options
from posenc.torch.cache import KVCache
from posenc.torch.given import LAYOUTS, Layout, swap_heads
from posenc.torch.parameters import EncodingModule


def prepare_cached(
    q: Tensor,
    k: Any,
    v: Any,
    cache: KVCache,
    *,
    lse: bool = False,
    **options: Unpack[Options],
) -> Call:
    """The call with the keys, values, positions and mask of the cache; only q is rotated."""
    if not isinstance(cache, KVCache):
        raise TypeError(f"cache must be a KVCache; got {type(cache).__name__}")
    unwanted = {"k": k, "v": v, "k_pos": options.get("k_pos"), "params": options.get("params")}
    for name, given in unwanted.items():
        if given is not None:
            raise ValueError(f"{name} must be left out for a cache, which has its own; got both")
    _check_encoding(options.get("encoding"), cache)
    plan, store = cache.plan, cache.store
    _check_layout(options, plan.layout)
    q = swap_heads(q) if plan.layout == "bshd" else q
    keys, values = cache.keys, cache.values
    mask, q_pos, k_pos = options.get("mask"), options.get("q_pos"), None
    if store.mask is not None and isinstance(q, Tensor) and q.ndim == 4:
        padding = store.mask[:, None, None, : len(cache)]
        seen, added = read_mask(mask, q, keys)
        mask = padding if seen is None else padding & seen
        mask = mask if added is None else torch.where(mask, added, -math.inf)
    if store.positions is not None or q_pos is not None:
        k_pos = cache.positions
        if q_pos is None and isinstance(q, Tensor) and q.ndim == 4:
            new = min(q.shape[2], len(cache))
            q_pos = k_pos.narrow(store.seq, len(cache) - new, new)
    given: Any = {**options, "encoding": plan.encoding, "params": plan.params, "layout": "bhsd"}
    given |= {"q_pos": q_pos, "k_pos": k_pos, "mask": mask}
    call = prepare(q, keys, values, lse=lse, **given)
    if torch.is_grad_enabled() and any(x.requires_grad for x in call.tensors()):
        store.seal()
    if plan.rotary is None:
        return call
    where = call.q_pos, call.k_pos
    q = plan.rotate_queries(call.q, call.q_pos)
    if plan.axes is not None:  # what is left has plain numbers for positions
        where = where[0][..., 0], where[1][..., 0]
    return replace(call, q=q, q_pos=where[0], k_pos=where[1], encoding=Unbiased(), params=None)


def _check_encoding(encoding: Any, cache: KVCache) -> None:
    """Raise an error unless the encoding is that of the cache, where one is given at all."""
    if encoding is None or encoding is cache.encoding:
        return
    given, kept = (_value(each) for each in (encoding, cache.encoding))
    learned = isinstance(encoding, EncodingModule) and bool(encoding.tensors())
    if learned or type(given) is not type(kept) or given != kept:
        raise ValueError(f"encoding must be that of the cache, {cache.encoding}; got {encoding}")


def _check_layout(options: Options, layout: Layout) -> None:
    """Raise an error unless the layout is that of the cache, where one is given at all."""
    given = options.get("layout", layout)
    rules.one_of("layout", given, LAYOUTS)
    if given != layout:
        raise ValueError(
            f"layout must be that of the cache, {layout!r}; got {given!r}, "
            f"which KVCache(encoding, layout={given!r}) takes keys and values in"
        )


def _value(encoding: Any) -> Any:
    return encoding.encoding if isinstance(encoding, EncodingModule) else encoding
