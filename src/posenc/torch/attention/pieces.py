"""Attention in pieces: some heads, some queries and the keys that they can see at a time.

What a piece adds to its logits is made when it is needed and dropped after it, in the backward pass
as well, so no matrix of all queries and all keys ever exists.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from posenc.core.arrays import unrounded, working

Extras = tuple[Tensor, ...]


@dataclass(frozen=True)
class Piece:
    """Which part of the whole, and `attend(q, k, v, extras)`, what its queries get."""

    heads: slice
    rows: slice
    keys: slice
    attend: Callable[[Tensor, Tensor, Tensor, Extras], Tensor]


def in_pieces(pieces: Sequence[Piece], q: Tensor, k: Tensor, v: Tensor, extras: Extras) -> Tensor:
    """The pieces' results (batch, heads, q, dim of v); gradients go to q, k, v and extras."""
    apply: Any = _InPieces.apply
    return apply(pieces, q, k, v, *extras)


class _InPieces(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, pieces: Sequence[Piece], *tensors: Tensor) -> Tensor:
        ctx.pieces = pieces
        ctx.save_for_backward(*tensors)
        q, k, v, *extras = tensors
        out = v.new_zeros((*q.shape[:3], v.shape[3]))
        for piece in pieces:
            of_q, of_kv = _parts(piece, q, k)
            out[of_q] = piece.attend(q[of_q], k[of_kv], v[of_kv], tuple(extras))
        return out

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        tensors: tuple[Tensor, ...] = ctx.saved_tensors
        needed: Sequence[bool] = ctx.needs_input_grad[1:]
        totals = [  # of many pieces, so never summed in a half
            torch.zeros_like(x, dtype=working(torch, x.dtype)) if need else None
            for x, need in zip(tensors, needed, strict=True)
        ]
        for piece in ctx.pieces:
            of_q, of_kv = _parts(piece, *tensors[:2])
            where = of_q, of_kv, of_kv, *[(...,)] * len(tensors[3:])
            parts = [
                x[index].detach().requires_grad_(need)
                for x, index, need in zip(tensors, where, needed, strict=True)
            ]
            with unrounded(grad):  # a backward pass may run within autocast
                with torch.enable_grad():
                    made = piece.attend(*parts[:3], tuple(parts[3:]))
                wanted = [part for part in parts if part.requires_grad]
                slopes = torch.autograd.grad(made, wanted, grad[of_q], allow_unused=True)
            found: Any = iter(slopes)
            for total, index in zip(totals, where, strict=True):
                if total is not None and (part := next(found)) is not None:
                    total[index] += part
        return None, *[
            total if total is None else total.to(x.dtype)
            for total, x in zip(totals, tensors, strict=True)
        ]


def _parts(piece: Piece, q: Tensor, k: Tensor) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Indices into q and into k and v, whose heads may be fewer."""
    group = q.shape[1] // k.shape[1]
    first, last, _ = piece.heads.indices(q.shape[1])
    batch = slice(None)
    return (batch, piece.heads, piece.rows), (
        batch,
        slice(first // group, -(-last // group)),
        piece.keys,
    )


def fused(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """PyTorch's attention; it is fast only where values are as wide as keys."""
    dim = v.shape[-1]
    if q.shape[1] != k.shape[1]:  # compiled, the comparison is a symbol, which PyTorch refuses
        options["enable_gqa"] = True
    if q.shape[-1] != dim:
        wide = max(q.shape[-1], dim)
        q, k, v = (nn.functional.pad(x, (0, wide - x.shape[-1])) for x in (q, k, v))
    out = nn.functional.scaled_dot_product_attention(q, k, v, **options)
    return out[..., :dim]


def blocks(length: int, size: int) -> list[slice]:
    """0 .. length in runs of `size`."""
    return [slice(start, min(start + size, length)) for start in range(0, length, size)]
