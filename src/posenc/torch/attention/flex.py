"""Biases inside PyTorch's FlexAttention, read from a line of all distances."""

import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from posenc.core.arrays import disable_autocast, host, is_integer
from posenc.core.mechanisms import Bias, Unbiased
from posenc.torch.attention.blocked import attend_in_blocks, hide_lost
from posenc.torch.attention.call import Call
from posenc.torch.attention.toeplitz import bias_line
from posenc.torch.attention.visibility import Visibility

if TYPE_CHECKING:  # imported where it is used: on CPUs it seldom is, and it takes its time
    from torch.nn.attention.flex_attention import BlockMask

BLOCK = 128
ON_CPU = torch.backends.cpu.get_cpu_capability().startswith("AVX") and sys.platform != "darwin"
"""Whether PyTorch has FlexAttention for this processor."""


def flex(call: Call) -> Tensor:
    """FlexAttention with a score_mod that looks up the bias and a mask by blocks of 128."""
    call = call.fold_into_qk()
    return hide_lost(call, _attend)


def _attend(call: Call) -> Tensor:
    tensors = call.tensors()
    learning = torch.is_grad_enabled() and any(x.requires_grad for x in tensors)
    if learning and call.q.device.type == "cpu":
        apply: Any = _BackInBlocks.apply
        return apply(call, *tensors)
    return _flex(call)


class _BackInBlocks(torch.autograd.Function):
    """Forward through FlexAttention, backward in blocks: on the CPU PyTorch has only the first."""

    @staticmethod
    def forward(ctx: Any, call: Call, *tensors: Tensor) -> Tensor:
        ctx.call = call
        ctx.save_for_backward(*tensors)
        return _flex(call.with_tensors([x.detach() for x in tensors]))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        needed: tuple[bool, ...] = ctx.needs_input_grad[1:]
        given: tuple[Tensor, ...] = ctx.saved_tensors
        tensors = [x.detach().requires_grad_(n) for x, n in zip(given, needed, strict=True)]
        wanted = [x for x in tensors if x.requires_grad]
        with disable_autocast(grad):
            with torch.enable_grad():
                made = attend_in_blocks(ctx.call.with_tensors(tensors))
            found = iter(torch.autograd.grad(made, wanted, grad, allow_unused=True))
        return None, *[next(found) if need else None for need in needed]


def _flex(call: Call) -> Tensor:
    from torch.nn.attention.flex_attention import AuxRequest, flex_attention

    dim = call.v.shape[-1]
    run: Any = flex_attention if torch.compiler.is_compiling() else _compile()
    made: Any = run(
        call.q,
        call.k,
        torch.nn.functional.pad(call.v, (0, max(0, call.q.shape[-1] - dim))),
        score_mod=_score_mod(call),
        block_mask=_block_mask(call),
        scale=call.scale,
        enable_gqa=call.q.shape[1] != call.k.shape[1],
        **({"return_aux": AuxRequest(lse=True)} if _wants_lse(call) else {}),
    )
    if not _wants_lse(call):
        return made[..., :dim]
    out, aux = made
    return _count_sinks(call, out[..., :dim], aux.lse)


def _wants_lse(call: Call) -> bool:
    return call.lse or call.sinks is not None


def _count_sinks(call: Call, out: Tensor, lse: Tensor) -> Tensor:
    """The result with the sinks in its denominator, and its logarithm if that is wanted."""
    wide = lse
    if call.sinks is not None:
        wide = torch.logaddexp(lse, call.sinks.to(lse.dtype)[:, None])
        out = (out * (lse - wide).exp()[..., None]).to(out.dtype)
    return torch.cat([out.to(wide.dtype), wide[..., None]], dim=-1) if call.lse else out


def why_unavailable(call: Call) -> str | None:
    """Why this call cannot go through FlexAttention; None where it can."""
    bias, _ = call.remaining()
    name = type(bias).__name__
    if not isinstance(bias, Bias):
        return f"the scores of {name} are not products plus a bias"
    if not isinstance(bias, Unbiased):
        if not bias.traits.relative or bias.axes is not None:
            return f"{name} does not claim that its bias depends on the distance alone"
        if not (is_integer(call.q_pos) and is_integer(call.k_pos)):
            got = call.q_pos.dtype
            return f"positions must be whole numbers to be looked up by distance; got {got}"
        if _range(call) is None:
            return "positions are unknown while it is being compiled"
    return _why_unserved(call)


def _why_unserved(call: Call) -> str | None:
    """What FlexAttention does not do at all, or not on this device."""
    on_cpu = call.q.device.type == "cpu"
    if call.seed is not None:
        return "FlexAttention has no dropout"
    if _wants_lse(call) and on_cpu:
        return "on a CPU FlexAttention returns no logsumexp, of which sinks and return_lse are made"
    if call.q.dtype == torch.float64:
        return "FlexAttention does not take float64 here"
    return (
        "on a CPU FlexAttention needs AVX2, and Linux or Windows" if on_cpu and not ON_CPU else None
    )


@cache
def _compile() -> Any:
    """Compiled for each shape anew: with dynamic shapes PyTorch 2.13 writes C++ that is wrong.

    fullgraph, because otherwise past the limit it would quietly build the N x N matrix.
    """
    from torch.nn.attention.flex_attention import flex_attention

    compiled: Any = torch.compile(flex_attention, dynamic=False, fullgraph=True)

    def run(*tensors: Tensor, **options: Any) -> Tensor:
        with torch._dynamo.config.patch(recompile_limit=256):  # type: ignore[attr-defined]
            return compiled(*tensors, **options)

    return run


def _range(call: Call) -> tuple[int, int] | None:
    """The smallest and the largest distance, where they are known."""
    queries, keys, offset = call.q.shape[2], call.k.shape[2], call.visibility.offset
    if offset is not None:
        return offset - keys + 1, offset + queries - 1
    q, k = host(call.q_pos), host(call.k_pos)
    if q is None or k is None or not q.size or not k.size:
        return None
    return int(q.min()) - int(k.max()), int(q.max()) - int(k.min())


def _score_mod(call: Call) -> Any:
    """What is made of a product: capped, with its bias and what the caller adds; None: nothing."""
    batch, (softcap, added) = call.q.shape[0], (call.softcap, call.added)
    found, values = (0, 0), None
    if not isinstance(call.encoding, Unbiased):
        found = _range(call)
        assert found is not None
        behind = torch.arange(found[0], found[1] + 1, device=call.q.device)
        values = bias_line(call, behind).float().expand(call.q.shape[1], -1).contiguous()
    elif softcap is None and added is None:
        return None
    least = found[0]
    q_pos, k_pos = (_rows(p, batch) for p in (call.q_pos, call.k_pos))

    def score_mod(score: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        if softcap is not None:
            score = softcap * torch.tanh(score / softcap)
        if values is not None:
            score = score + values[h, q_pos[b, i] - k_pos[b, j] - least]
        if added is not None:
            score = score + _at(added, b, h, i, j)
        return score

    return score_mod


def _at(pairs: Tensor, b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
    """What is there for this pair, of sizes that may be 1."""
    sizes = pairs.shape[:3]
    at = [x if size > 1 else x * 0 for x, size in zip((b, h, i), sizes, strict=True)]
    return pairs[at[0], at[1], at[2], j]


def _block_mask(call: Call) -> "BlockMask | None":
    from torch.nn.attention.flex_attention import BlockMask

    visibility, batch = call.visibility, call.q.shape[0]
    if visibility.everything:
        return None
    seen = _seen_blocks(visibility, batch)
    numbers = seen.sum(-1, dtype=torch.int32)[:, None]
    indices = torch.argsort(seen.int(), dim=-1, descending=True, stable=True).int()[:, None]
    made: Any = BlockMask.from_kv_blocks(
        numbers,
        indices,
        BLOCK_SIZE=BLOCK,
        mask_mod=_mask_mod(visibility, batch),
        seq_lengths=(call.q.shape[2], call.k.shape[2]),
    )
    return made


def _seen_blocks(visibility: Visibility, batch: int) -> Tensor:
    """Which blocks of keys any query of a block may see, from the least and largest of their order.

    (batch, q blocks, k blocks) of bool; whether a key in them is seen is asked one by one later.
    """
    q_least, q_most = _extremes(_rows(visibility.q_order, batch))
    k_least, k_most = _extremes(_rows(visibility.k_order, batch))
    shape = (batch, q_least.shape[-1], k_least.shape[-1])
    seen = torch.ones(shape, dtype=torch.bool, device=q_least.device)
    if visibility.causal:
        seen &= k_least[:, None, :] <= q_most[:, :, None]
    if visibility.window is not None:
        seen &= q_least[:, :, None] - k_most[:, None, :] < visibility.window
        seen &= k_least[:, None, :] - q_most[:, :, None] < visibility.window
    if visibility.documents is not None:
        (q_first, q_last), (k_first, k_last) = (
            _extremes(_rows(ids, batch)) for ids in visibility.documents
        )
        seen &= (k_first[:, None, :] <= q_last[:, :, None]) & (
            q_first[:, :, None] <= k_last[:, None, :]
        )
    return seen


def _extremes(order: Tensor) -> tuple[Tensor, Tensor]:
    """The least and the largest of each block of 128: (batch, seq) -> twice (batch, block)."""
    spare = -order.shape[-1] % BLOCK
    last = order[:, -1:].expand(-1, spare)
    parts = torch.cat([order, last], dim=-1).reshape(order.shape[0], -1, BLOCK)
    return parts.amin(-1), parts.amax(-1)


def _mask_mod(visibility: Visibility, batch: int) -> Any:
    q_order, k_order = _rows(visibility.q_order, batch), _rows(visibility.k_order, batch)
    causal, window, mask = visibility.causal, visibility.window, visibility.mask
    documents = visibility.documents and tuple(_rows(ids, batch) for ids in visibility.documents)

    def mask_mod(b: Tensor, h: Tensor, i: Tensor, j: Tensor) -> Tensor:
        behind = q_order[b, i] - k_order[b, j]
        seen = behind >= (0 if causal else behind)
        if window is not None:
            seen = seen & (behind < window) & (-behind < window)
        if documents is not None:
            seen = seen & (documents[0][b, i] == documents[1][b, j])
        if mask is not None:
            seen = seen & _at(mask, b, h, i, j)
        return seen

    return mask_mod


def _rows(values: Tensor, batch: int) -> Tensor:
    """(seq,) or (batch, seq) as (batch, seq)."""
    return values.expand(batch, -1).contiguous()
