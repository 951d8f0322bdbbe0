"""The specification: logits, what is seen of them, softmax, values. Builds every N x N matrix."""

import math

import torch
from torch import Tensor

from posenc.core.arrays import working
from posenc.core.encoding import Encoding
from posenc.core.inputs import repeat_heads
from posenc.core.logits import logits
from posenc.core.mechanisms import Scores
from posenc.torch.attention.call import Call

EVERY = slice(None)


def dense(call: Call) -> Tensor:
    """softmax(logits) v, in at least float32; a query that sees nothing gets 0."""
    wide = working(torch, call.v.dtype)
    q, k, v = (x.to(wide) for x in (call.q, call.k, call.v))
    needed = call.token_inputs(EVERY, EVERY)
    made = logits(
        call.encoding, call.scale_queries(q), k, call.q_pos, call.k_pos, call.params, **needed
    )
    out = mix_values(call, made, repeat_heads("v", v, q), EVERY, EVERY)
    return out.to(call.v.dtype)


def mix_values(call: Call, made: Tensor, v: Tensor, rows: slice, keys: slice) -> Tensor:
    """Attention out of these logits (…, q, k), by what the encoding makes of weights and values."""
    made = made.masked_fill(~call.visibility.visible(rows, keys), -math.inf)
    # a query that sees nothing, by the mask or by biases of -inf, has no weights and no gradients
    blind = (made == -math.inf).all(-1, keepdim=True)
    weights = torch.softmax(made.masked_fill(blind, 0.0), dim=-1).masked_fill(blind, 0.0)
    if isinstance(call.encoding, Scores):
        where = along(call.q_pos, rows, call.encoding), along(call.k_pos, keys, call.encoding)
        return call.encoding.mix(weights, v, *where, call.params)
    return weights @ v


def along(positions: Tensor, part: slice, encoding: Encoding) -> Tensor:
    """A part of the sequence of positions."""
    return positions[..., part] if encoding.axes is None else positions[..., part, :]
