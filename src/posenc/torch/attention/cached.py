"""A call of `attend` whose keys and values are in a cache."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from posenc.core.mechanisms import Unbiased
from posenc.torch.attention.call import Call, prepare
from posenc.torch.attention.visibility import read_mask
from posenc.torch.cache import KVCache
from posenc.torch.parameters import EncodingModule


def prepare_cached(
    q: Tensor,
    k: Any,
    v: Any,
    cache: KVCache,
    *,
    encoding: Any = None,
    params: Mapping[str, Tensor] | None = None,
    q_pos: Any = None,
    k_pos: Any = None,
    mask: Tensor | None = None,
    **options: Any,
) -> Call:
    """The call with the keys, values, positions and mask of the cache; only q is rotated."""
    if not isinstance(cache, KVCache):
        raise TypeError(f"cache must be a KVCache; got {type(cache).__name__}")
    for name, given in (("k", k), ("v", v), ("k_pos", k_pos), ("params", params)):
        if given is not None:
            raise ValueError(f"{name} must be left out for a cache, which has its own; got both")
    _check_encoding(encoding, cache)
    plan, store = cache.plan, cache.store
    keys, values = cache.keys, cache.values
    if store.mask is not None and isinstance(q, Tensor) and q.ndim == 4:
        padding = store.mask[:, None, None, : len(cache)]
        given = read_mask(mask, q, keys)
        mask = padding if given is None else padding & given
    if store.positions is not None or q_pos is not None:
        k_pos = cache.positions
        if q_pos is None and isinstance(q, Tensor) and q.ndim == 4:
            new = min(q.shape[2], len(cache))
            q_pos = k_pos.narrow(store.seq, len(cache) - new, new)
    call = prepare(
        q,
        keys,
        values,
        encoding=plan.encoding,
        params=plan.params,
        q_pos=q_pos,
        k_pos=k_pos,
        mask=mask,
        **options,
    )
    if torch.is_grad_enabled() and any(x.requires_grad for x in call.tensors()):
        store.seal()
    if plan.rotary is None:
        return call
    where = call.q_pos, call.k_pos
    q = plan.rotate_queries(q, call.q_pos)
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


def _value(encoding: Any) -> Any:
    return encoding.encoding if isinstance(encoding, EncodingModule) else encoding
