"""Biases that are sums of products, carried in a few more channels of q and k."""

from dataclasses import replace

import torch
from torch import Tensor

from posenc.core.arrays import is_half, is_plain_tensor
from posenc.core.inputs import repeat_heads
from posenc.core.mechanisms import Bias, Unbiased
from posenc.torch.attention.blocked import attend_in_blocks, hide_lost
from posenc.torch.attention.call import FEW, Call
from posenc.torch.attention.pieces import attend_causal, attend_fused

PARTS = 3
"""Three halves of 8 bits hold the 24 of a float32."""


def fold(call: Call) -> Tensor:
    """Plain attention of wider q and k."""
    return hide_lost(widen(call.fold_into_qk()), plain)


def plain(call: Call) -> Tensor:
    """Attention without a bias: one call where PyTorch knows what is seen, else in blocks."""
    queries, keys = call.q.shape[2], call.k.shape[2]
    visibility = call.visibility
    if visibility.by_distance and visibility.window is None:
        if not visibility.causal or (
            visibility.offset is not None and visibility.offset >= keys - 1
        ):
            return attend_fused(call.q, call.k, call.v, scale=call.scale)
        if visibility.offset == 0 and queries == keys:
            return attend_causal(call.q, call.k, call.v, scale=call.scale)
    if call.pairs <= FEW:
        every = slice(None)
        mask = visibility.visible(every, every)
        if call.added is not None:
            mask = call.hide_unseen(call.added.new_zeros(1, 1, 1, 1), every, every)
        return attend_fused(call.q, call.k, call.v, scale=call.scale, attn_mask=mask)
    return attend_in_blocks(call)


def widen(call: Call) -> Call:
    """The call with its bias in q and k.

    The channels of the bias come first: in a sum that starts with them what is large cancels before
    the products of q and k are added, so that float32 keeps those. Positions count from the middle
    one. What a half cannot hold is split into parts that it can, whose products are exact.
    """
    if isinstance(call.encoding, Unbiased):
        return call
    assert isinstance(call.encoding, Bias)
    low = torch.minimum(call.q_pos.amin(), call.k_pos.amin())
    high = torch.maximum(call.q_pos.amax(), call.k_pos.amax())
    middle = (low + high) // 2  # whole for whole positions, whatever the default dtype
    terms = call.encoding.terms(
        call.q_pos - middle, call.k_pos - middle, call.params, causal=call.visibility.causal
    )
    assert terms is not None
    batch, heads, queries, dim = call.q.shape
    left, right = (term if term.ndim == 4 else term[None] for term in terms)
    pairs: list[tuple[Tensor, Tensor]] = []
    for term in range(left.shape[-1]):
        factors = _balance(left[..., term] / call.scale, right[..., term], call.q.dtype)
        ours, theirs = (_split(factor, call.q.dtype) for factor in factors)
        pairs += [(a, b) for i, a in enumerate(ours) for j, b in enumerate(theirs) if i + j < PARTS]
    spare = -(dim + len(pairs)) % 8
    ahead = [
        torch.stack([part.expand(batch, heads, length) for part in parts], dim=-1)
        for parts, length in zip(zip(*pairs, strict=True), (queries, call.k.shape[2]), strict=True)
    ]
    k, v = repeat_heads("k", call.k, call.q), repeat_heads("v", call.v, call.q)
    q, k = (
        torch.cat([lead, x, x.new_zeros(*x.shape[:3], spare)], dim=-1)
        for lead, x in zip(ahead, (call.q, k), strict=True)
    )
    return replace(call, q=q, k=k, v=v, encoding=Unbiased(), params=None)


def why_unavailable(call: Call) -> str | None:
    """Why this call cannot be folded; None where it can."""
    if call.beyond_fused:
        return f"PyTorch's attention has no {call.beyond_fused}"
    if isinstance(call.remaining()[0], Unbiased):
        return None
    probe = call.first().fold_into_qk()
    bias, name = probe.encoding, type(probe.encoding).__name__
    if not isinstance(bias, Bias):
        return f"the scores of {name} are not products of a wider q and k"
    if bias.terms(probe.q_pos, probe.k_pos, probe.params, causal=call.visibility.causal) is None:
        once = bias.terms(probe.q_pos, probe.k_pos, probe.params, causal=True) is not None
        only = ", unless causal=True" if once else ""
        return f"{name} is not a sum of products of query terms and key terms{only}"
    return None


def _balance(left: Tensor, right: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Factors of about one size, by a power of 2: float16 ends at 65,504, products do not."""
    if dtype != torch.float16:
        return left, right
    ratio = right.abs().amax().clamp(min=1e-30) / left.abs().amax().clamp(min=1e-30)
    power = torch.exp2((ratio.log2() / 2).round())
    return left * power, right / power


def _split(x: Tensor, dtype: torch.dtype) -> list[Tensor]:
    """x as a sum of parts that `dtype` holds, the largest first: one, unless it is a half."""
    parts, rest = [x.to(dtype)], x
    while is_half(dtype) and len(parts) < PARTS:
        rest = rest - parts[-1].double()
        if is_plain_tensor(rest) and not rest.any():
            break
        parts.append(rest.to(dtype))
    return parts
