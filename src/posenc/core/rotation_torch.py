"""Rotation of PyTorch tensors that allocates its output and nothing else of that size.

The specification is `_turn` in rotation.py; this does the same in place of its temporaries. Only
tensors with memory of their own come here: under torch.compile the specification is fused instead.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor

FEW = 2**16
"""Elements up to which the number of operators matters more than their temporaries."""

PIECE = 2**18
"""Elements of 16 bits that are widened at a time: 1 MB in float32."""


def turn(x: Tensor, cos: Tensor, sin: Tensor, *, pairing: str, trailing: bool) -> Tensor:
    """Rotate the trailing or the leading pairs of x (…, dim) by cos and sin (…, pair)."""
    if torch.is_grad_enabled() and x.requires_grad:
        return _Turn.apply(x, cos, sin, pairing, trailing)  # type: ignore[return-value]
    return _turn(x, cos, sin, pairing, trailing)


def turn_few(x: Tensor, tables: Sequence[Tensor]) -> Tensor:
    """Rotate all channels of few vectors in few operators, without a gradient.

    tables   e^(i angle) of each pair of neighbours; or of halves the cosine of each channel, and
             the sine that its partner is multiplied by
    """
    if len(tables) == 1:
        wide = x.to(torch.float64 if x.dtype == torch.float64 else torch.float32).contiguous()
        if not _is_complex(wide):  # axes of one number may have any stride
            wide = wide.clone(memory_format=torch.contiguous_format)
        return (wide.view(tables[0].dtype) * tables[0]).view(wide.dtype).to(x.dtype)
    cos, sin = tables
    wide = x.to(cos.dtype)
    return (wide * cos).addcmul_(wide.roll(x.shape[-1] // 2, -1), sin).to(x.dtype)


def turn_in_place(x: Tensor, cos: Tensor, sin: Tensor, *, pairing: str, trailing: bool) -> Tensor:
    """`turn` in place: x is overwritten."""
    part = _part(x, cos, trailing)
    if part.dtype == cos.dtype:
        _turn_over(part, cos, sin, pairing)
    else:
        _turn_in_pieces(part, part, cos, sin, pairing)
    return x


class _Context(Protocol):
    """What the backward pass is given: what the forward pass has kept."""

    pairing: str
    trailing: bool

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]: ...
    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _Turn(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: _Context, x: Tensor, cos: Tensor, sin: Tensor, pairing: str, trailing: bool
    ) -> Tensor:
        ctx.save_for_backward(cos, sin)
        ctx.pairing, ctx.trailing = pairing, trailing
        return _turn(x, cos, sin, pairing, trailing)

    @staticmethod
    def backward(ctx: _Context, *grads: Tensor) -> tuple[Tensor | None, ...]:
        cos, sin = ctx.saved_tensors
        back = turn(grads[0], cos, -sin, pairing=ctx.pairing, trailing=ctx.trailing)
        return back, None, None, None, None


def _turn(x: Tensor, cos: Tensor, sin: Tensor, pairing: str, trailing: bool) -> Tensor:
    out = torch.empty_like(x)
    if 2 * cos.shape[-1] < x.shape[-1]:
        out.copy_(x)
    part, result = _part(x, cos, trailing), _part(out, cos, trailing)
    if x.dtype != cos.dtype:
        _turn_in_pieces(part, result, cos, sin, pairing)
    elif pairing == "interleaved" and _is_complex(part) and _is_complex(result):
        torch.mul(_as_complex(part), torch.complex(cos, sin), out=_as_complex(result))
    else:
        (a, b), (c, d) = _pairs(part, pairing), _pairs(result, pairing)
        torch.mul(a, cos, out=c).addcmul_(b, sin, value=-1)
        torch.mul(a, sin, out=d).addcmul_(b, cos)
    return out


def _part(x: Tensor, cos: Tensor, trailing: bool) -> Tensor:
    width = 2 * cos.shape[-1]
    return x[..., -width:] if trailing else x[..., :width]


def _turn_in_pieces(x: Tensor, out: Tensor, cos: Tensor, sin: Tensor, pairing: str) -> None:
    """Rotate 16-bit x in the dtype of cos, a few positions at a time: what is wide stays cached."""
    length = x.shape[-2]
    size = max(1, PIECE * length // max(1, x.numel()))
    for start in range(0, length, size):
        rows = slice(start, start + size)
        piece = x[..., rows, :].to(cos.dtype)
        out[..., rows, :] = _turn_over(piece, cos[..., rows, :], sin[..., rows, :], pairing)


def _turn_over(x: Tensor, cos: Tensor, sin: Tensor, pairing: str) -> Tensor:
    """Rotate x in place."""
    if pairing == "interleaved" and _is_complex(x):
        _as_complex(x).mul_(torch.complex(cos, sin))
        return x
    a, b = _pairs(x, pairing)
    before = a.clone()
    a.mul_(cos).addcmul_(b, sin, value=-1)
    b.mul_(cos).addcmul_(before, sin)
    return x


def _pairs(x: Tensor, pairing: str) -> tuple[Tensor, Tensor]:
    if pairing == "interleaved":
        return x[..., 0::2], x[..., 1::2]
    half = x.shape[-1] // 2
    return x[..., :half], x[..., half:]


def _is_complex(x: Tensor) -> bool:
    """Whether x can be viewed as complex, neighbouring channels as one number, without a copy."""
    even = all(stride % 2 == 0 for stride in x.stride()[:-1]) and x.storage_offset() % 2 == 0
    return x.dtype in (torch.float32, torch.float64) and x.stride(-1) == 1 and even


def _as_complex(x: Tensor) -> Tensor:
    return torch.view_as_complex(x.unflatten(-1, (-1, 2)))
