"""The specification: attention by its definition. Builds every N x N matrix."""

import torch
from torch import Tensor

from posenc.core.arrays import working
from posenc.core.attention import attend_densely
from posenc.core.dropout import scale_kept
from posenc.core.encoding import Encoding
from posenc.torch.attention.call import Call

EVERY = slice(None)


def dense(call: Call) -> Tensor:
    """softmax(logits) v, in at least float32; a query that sees nothing gets 0."""
    return attend_part(call, EVERY, EVERY)


def attend_part(call: Call, rows: slice, keys: slice) -> Tensor:
    """Attention, by its definition, of a call whose q, k and v are those of these rows and keys."""
    where = along(call.q_pos, rows, call.encoding), along(call.k_pos, keys, call.encoding)
    out, lse = attend_densely(
        call.encoding,
        call.scale_queries(call.q.to(working(torch, call.q.dtype))),
        call.k,
        call.v,
        *where,
        call.params,
        seen=call.visibility.visible(rows, keys),
        added=call.added_to(rows, keys),
        softcap=call.softcap,
        sinks=call.sinks,
        kept=_draw_kept(call, rows, keys),
        **call.token_inputs(rows, keys),
    )
    return torch.cat([out, lse[..., None]], dim=-1) if call.lse else out.to(call.v.dtype)


def _draw_kept(call: Call, rows: slice, keys: slice) -> Tensor | None:
    """The factors of the dropout on these weights."""
    if call.seed is None:
        return None
    orders = call.visibility.q_order, call.visibility.k_order
    queries, those = (torch.arange(x.shape[-1], device=call.q.device) for x in orders)
    batch, heads = call.q.shape[:2]
    numbers = {"queries": queries[rows], "keys": those[keys], "dtype": working(torch, call.q.dtype)}
    return scale_kept(call.seed, call.dropout, batch=batch, heads=heads, **numbers)


def along(positions: Tensor, part: slice, encoding: Encoding) -> Tensor:
    """A part of the sequence of positions."""
    return positions[..., part] if encoding.axes is None else positions[..., part, :]
