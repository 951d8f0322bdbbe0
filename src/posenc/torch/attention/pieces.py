"""Attention in pieces: some heads, some queries and the keys that they can see at a time.

What a piece adds to its logits is made when it is needed and dropped after it, in the backward pass
as well, so no matrix of all queries and all keys ever exists.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from posenc.core.arrays import disable_autocast, is_plain_tensor, working
from posenc.core.fused_torch import is_at_rest

Extras = tuple[Tensor, ...]

ops: Any = torch.ops.aten
FLASH = "_scaled_dot_product_flash_attention_for_cpu"
HAS_FLASH = hasattr(ops, FLASH) and hasattr(ops, f"{FLASH}_backward")
"""Whether this PyTorch has these operators of its own; else a backward pass is written out."""

ENTRIES = 2**18
"""How many weights a backward pass has before it at a time, for each thread: a megabyte."""


@dataclass(frozen=True)
class Piece:
    """Which part of the whole, and `attend(q, k, v, extras)`, what its queries get."""

    heads: slice
    rows: slice
    keys: slice
    attend: Callable[[Tensor, Tensor, Tensor, Extras], Tensor]

    def start(
        self, q: Tensor, k: Tensor, v: Tensor, extras: Extras, *, keep: bool
    ) -> tuple[Tensor, Tensor | None]:
        """What its queries get, and nothing to keep of it."""
        return self.attend(q, k, v, extras), None

    def slopes(
        self, grad: Tensor, tensors: Sequence[Tensor], out: Tensor, kept: Tensor | None
    ) -> Sequence[Tensor | None]:
        """The gradients of q, k, v and extras that require one, of what was kept."""
        q, k, v, *extras = tensors
        with torch.enable_grad():
            made = self.attend(q, k, v, tuple(extras))
        wanted = [x for x in tensors if x.requires_grad]
        return torch.autograd.grad(made, wanted, grad, allow_unused=True)


@dataclass(frozen=True)
class BiasedPiece:
    """A part of the whole whose logits are products plus `mask(extras)`, -inf where unseen.

    The mask is (batch or 1, heads or 1, q, k).
    """

    heads: slice
    rows: slice
    keys: slice
    mask: Callable[[Extras], Tensor]
    scale: float

    def attend(self, q: Tensor, k: Tensor, v: Tensor, extras: Extras) -> Tensor:
        """What its queries get."""
        return attend_fused(q, k, v, attn_mask=self.mask(extras), scale=self.scale)

    def start(
        self, q: Tensor, k: Tensor, v: Tensor, extras: Extras, *, keep: bool
    ) -> tuple[Tensor, Tensor | None]:
        """What its queries get and, to keep, the logsumexp of their logits if PyTorch has it."""
        if not keep or not has_flash(q, k, v):
            return self.attend(q, k, v, extras), None
        flash = getattr(ops, FLASH)
        return flash(q, k, v, attn_mask=self.mask(extras), scale=self.scale)

    def slopes(
        self, grad: Tensor, tensors: Sequence[Tensor], out: Tensor, kept: Tensor | None
    ) -> Sequence[Tensor | None]:
        """The gradients of q, k, v and extras that require one."""
        if kept is not None:
            return self._flash_slopes(grad, tensors, out, kept)
        q, k, v, *extras = tensors
        with torch.enable_grad():
            mask = self.mask(tuple(extras))
        wide = working(torch, q.dtype)
        grad, q, k, v = (x.detach().to(wide) for x in (grad, q, k, v))
        *made, of_mask = masked_slopes(
            grad, q, k, v, mask.detach(), self.scale, learned=mask.requires_grad
        )
        wanted = [x for x in extras if x.requires_grad]
        found = (
            torch.autograd.grad(mask, wanted, of_mask.to(mask.dtype), allow_unused=True)
            if wanted and of_mask is not None
            else [None] * len(wanted)
        )
        return [x for x, given in zip(made, tensors, strict=False) if given.requires_grad] + [
            *found
        ]

    def _flash_slopes(
        self, grad: Tensor, tensors: Sequence[Tensor], out: Tensor, kept: Tensor
    ) -> list[Tensor]:
        """The gradients by PyTorch's own backward pass, which has none for a mask."""
        q, k, v, *extras = (x.detach() for x in tensors)
        flash = getattr(ops, f"{FLASH}_backward")
        mask = self.mask(tuple(extras))
        made = flash(grad, q, k, v, out, kept, 0.0, False, attn_mask=mask, scale=self.scale)
        return [x for x, given in zip(made, tensors, strict=False) if given.requires_grad]


def in_pieces(
    pieces: Sequence[Piece | BiasedPiece],
    q: Tensor,
    k: Tensor,
    v: Tensor,
    extras: Extras,
    *,
    lse: bool = False,
) -> Tensor:
    """The pieces' results (batch, heads, q, dim of v); gradients go to q, k, v and extras.

    With `lse` they have one channel more, and at least float32.
    """
    enabled = torch.is_grad_enabled()
    tracked = enabled and any(x.requires_grad for x in (q, k, v))
    learned = enabled and any(x.requires_grad for x in extras)
    apply: Any = _InPieces.apply
    return apply(pieces, tracked and not learned, lse, q, k, v, *extras)


class _InPieces(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, pieces: Sequence[Piece | BiasedPiece], keep: bool, lse: bool, *tensors: Tensor
    ) -> Tensor:
        # PyTorch's attention takes the slow way if a mask requires a gradient, wanted or not
        q, k, v, *extras = (x.detach() for x in tensors)
        # in memory as q, and as PyTorch has it: a model then joins its heads without a copy
        alike = q.shape[3] == v.shape[3] and not lse
        dtype = working(torch, v.dtype) if lse else v.dtype
        shape = (*q.shape[:3], v.shape[3] + lse)
        out = torch.empty_like(q) if alike else v.new_empty(shape, dtype=dtype)
        if sum(out[_parts(piece, q, k)[0]].numel() for piece in pieces) < out.numel():
            out.zero_()  # who is in no piece sees nothing
        kept: list[Tensor | None] = []
        for piece in pieces:
            of_q, of_kv = _parts(piece, q, k)
            parts = q[of_q], k[of_kv], v[of_kv]
            out[of_q], of_piece = piece.start(*parts, tuple(extras), keep=keep)
            kept.append(of_piece)
        ctx.pieces, ctx.count = pieces, len(tensors)
        ctx.save_for_backward(*tensors, out, *kept)
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        saved: tuple[Any, ...] = ctx.saved_tensors
        tensors, (out, *kept) = saved[: ctx.count], saved[ctx.count :]
        needed: Sequence[bool] = ctx.needs_input_grad[3:]
        totals = [  # of many pieces, so never summed in a half
            torch.zeros_like(x, dtype=working(torch, x.dtype)) if need else None
            for x, need in zip(tensors, needed, strict=True)
        ]
        for piece, of_piece in zip(ctx.pieces, kept, strict=True):
            of_q, of_kv = _parts(piece, *tensors[:2])
            where = of_q, of_kv, of_kv, *[(...,)] * len(tensors[3:])
            parts = [
                x[index].detach().requires_grad_(need)
                for x, index, need in zip(tensors, where, needed, strict=True)
            ]
            with disable_autocast(grad):  # a backward pass may run within autocast
                found: Any = iter(piece.slopes(grad[of_q], parts, out[of_q], of_piece))
            for total, index in zip(totals, where, strict=True):
                if total is not None and (part := next(found)) is not None:
                    total[index] += part
        return (
            None,
            None,
            None,
            *[
                total if total is None else total.to(x.dtype)
                for total, x in zip(totals, tensors, strict=True)
            ],
        )


def masked_slopes(
    grad: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor, scale: float, *, learned: bool
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Gradients of softmax(scale q k^T + mask) v with respect to q, k, v and, if learned, the mask.

    PyTorch's attention has none for a mask but by way of all weights at once. Here a few heads and
    queries at a time have theirs written down, few enough to stay in a cache.
    """
    batch, heads, queries, _ = q.shape
    kv_heads, keys = k.shape[1], k.shape[2]
    group = heads // kv_heads
    of_q, of_k, of_v = (torch.empty_like(x) for x in (q, k, v))
    of_mask = mask.new_zeros(mask.shape, dtype=q.dtype) if learned else None
    entries = ENTRIES * torch.get_num_threads()
    some = max(1, entries // max(1, group * keys))  # queries
    several = max(1, entries // max(1, group * keys * min(some, queries)))  # heads of keys
    for rows in blocks(batch, max(1, several // kv_heads)):
        for own in blocks(kv_heads, several):
            theirs = slice(own.start * group, own.stop * group)
            k_part, v_part = (x[rows, own].flatten(0, 1) for x in (k, v))
            k_sum, v_sum = torch.zeros_like(k_part), torch.zeros_like(v_part)
            for part in blocks(queries, some):
                index = rows, theirs, part
                q_part, g_part = (x[index] for x in (q, grad))
                shape = q_part.shape[:3]
                q_part, g_part = (
                    x.reshape(len(k_part), -1, x.shape[-1]) for x in (q_part * scale, g_part)
                )
                added = _of(mask, rows, theirs)[:, :, part]
                weights, slope = _weights_and_slope(q_part, k_part, v_part, g_part, added, shape)
                if weights[..., :1].isnan().any():
                    # who sees nothing has no weights and no gradients
                    blind = added.amax(-1, keepdim=True) == -math.inf
                    for x in (weights, slope):
                        x.view(*shape, keys).masked_fill_(blind, 0.0)
                of_q[index] = torch.bmm(slope, k_part).mul_(scale).view(*shape, -1)
                k_sum.baddbmm_(slope.mT, q_part)
                v_sum.baddbmm_(weights.mT, g_part)
                if of_mask is not None:
                    total = _of(of_mask, rows, theirs)[:, :, part]
                    total += slope.view(*shape, keys).sum_to_size(*total.shape)
            of_k[rows, own], of_v[rows, own] = (
                x.view(-1, own.stop - own.start, *x.shape[1:]) for x in (k_sum, v_sum)
            )
    return of_q, of_k, of_v, of_mask


def _weights_and_slope(
    q: Tensor, k: Tensor, v: Tensor, grad: Tensor, mask: Tensor, shape: Sequence[int]
) -> tuple[Tensor, Tensor]:
    """The weights and the gradient of the logits, of scaled queries (…, q, dim): (…, q, k) each."""
    logits = torch.bmm(q, k.mT)
    logits.view(*shape, -1).add_(mask)
    weights = torch.softmax(logits, dim=-1)
    slope = ops._softmax_backward_data(torch.bmm(grad, v.mT), weights, -1, weights.dtype)
    return weights, slope


def _of(mask: Tensor, rows: slice, heads: slice) -> Tensor:
    """The part of a mask for these rows and heads, where it has any of its own."""
    mask = mask if mask.shape[0] == 1 else mask[rows]
    return mask if mask.shape[1] == 1 else mask[:, heads]


def _parts(
    piece: Piece | BiasedPiece, q: Tensor, k: Tensor
) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Indices into q and into k and v, whose heads may be fewer."""
    group = q.shape[1] // k.shape[1]
    first, last, _ = piece.heads.indices(q.shape[1])
    batch = slice(None)
    return (batch, piece.heads, piece.rows), (
        batch,
        slice(first // group, -(-last // group)),
        piece.keys,
    )


def has_flash(q: Tensor, k: Tensor, v: Tensor) -> bool:
    """Whether PyTorch's attention with a mask has a fast backward pass for these, in full."""
    wide = q.dtype in (torch.float32, torch.float64)  # in a half the gradients would be rounded
    packed = q.stride(-1) == k.stride(-1) == v.stride(-1) == 1
    return HAS_FLASH and q.is_cpu and wide and packed and q.shape[-1] == v.shape[-1]


def attend_fused(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """PyTorch's attention; it is fast only where values are as wide as keys."""
    dim = v.shape[-1]
    if q.shape[1] != k.shape[1]:  # compiled, the comparison is a symbol, which PyTorch refuses
        options["enable_gqa"] = True
    if q.shape[-1] == dim:
        return nn.functional.scaled_dot_product_attention(q, k, v, **options)
    wide = max(q.shape[-1], dim)
    q, k, v = (nn.functional.pad(x, (0, wide - x.shape[-1])) for x in (q, k, v))
    return nn.functional.scaled_dot_product_attention(q, k, v, **options)[..., :dim]


def attend_causal(q: Tensor, k: Tensor, v: Tensor, *, scale: float) -> Tensor:
    """PyTorch's causal attention of as many queries as keys, all of them finite.

    On a CPU it computes what is ahead of queries too in texts of a few hundred tokens. There pieces
    of them are faster: 0.8 of its time at 512 forward, 0.7 with its backward pass.
    """
    length = q.shape[2]
    if not is_at_rest() or not q.is_cpu or not 384 <= length < 768:
        return attend_fused(q, k, v, scale=scale, is_causal=True)
    tracked = torch.is_grad_enabled() and (q.requires_grad or k.requires_grad or v.requires_grad)
    if not is_plain_tensor(q, k, v) or (tracked and not has_flash(q, k, v)):
        return attend_fused(q, k, v, scale=scale, is_causal=True)
    wide = working(torch, q.dtype)
    hidden = torch.ones(length, length, dtype=torch.bool).triu_(1)
    mask = torch.zeros(length, length, dtype=wide).masked_fill_(hidden, -math.inf)

    def above(rows: slice) -> Callable[[Extras], Tensor]:
        return lambda _: mask[None, None, rows, : rows.stop]

    pieces = [
        BiasedPiece(slice(None), rows, slice(0, rows.stop), above(rows), scale)
        for rows in blocks(length, 128)
    ]
    return in_pieces(pieces, q, k, v, ())


def is_finite(out: Tensor) -> bool:
    """Whether a result is finite; if it is not, what is hidden may have come through."""
    return math.isfinite(float(out.detach().sum(dtype=working(torch, out.dtype))))


def blocks(length: int, size: int) -> list[slice]:
    """0 .. length in runs of `size`."""
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
