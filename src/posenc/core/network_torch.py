"""A network of one number on PyTorch tensors, which keeps its hidden units in a cache.

The specification is `apply_network` in encodings/fire.py; this does the same for a few numbers at a
time, forward and again backward, so that hidden units of all of them never exist at once.
"""

import math
import sys
from typing import Protocol

import torch
from torch import Tensor

from posenc.core.arrays import disable_autocast, is_plain_tensor

ops = torch.ops.aten
internals = sys.modules["torch._C"]

HIDDEN = 2**17
"""Hidden units at a time, for each thread: half a megabyte in float32."""


def apply_network(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
    """w2 relu(w1 x + b1) + b2 of each number of x (…, n): (…, heads, n).

    w1, b1   (hidden, 1) and (hidden,)
    w2, b2   (heads, hidden) and (heads,)
    """
    *rows, numbers = x.shape
    made = _Network.apply(x.reshape(math.prod(rows), numbers), w1, b1, w2, b2)
    return made.reshape(*rows, len(w2), numbers)


class _Context(Protocol):
    """What the backward pass is given: the tensors that the forward pass has kept."""

    @property
    def saved_tensors(self) -> tuple[Tensor, Tensor, Tensor, Tensor]: ...
    def save_for_backward(self, *tensors: Tensor) -> None: ...


class _Network(torch.autograd.Function):
    @staticmethod
    def forward(ctx: _Context, x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> Tensor:
        ctx.save_for_backward(x, w1, b1, w2)
        out, last = x.new_empty(x.shape[0], len(w2), x.shape[1]), _beside(w2, b2)
        for row, made in zip(x, out, strict=True):
            for some in _parts(row, w1):
                torch.mm(last, _compute_hidden(row[some], w1, b1), out=made[:, some])
        return out

    @staticmethod
    def backward(ctx: _Context, grad: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        batched = internals._functorch.is_legacy_batchedtensor(grad)  # by is_grads_batched=True
        whole = torch.is_grad_enabled() or batched or not is_plain_tensor(grad)
        with disable_autocast(grad):  # a backward pass may run within autocast
            return (_differentiable_slopes if whole else _slopes)(grad, *ctx.saved_tensors)


def _slopes(grad: Tensor, x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor) -> tuple[Tensor, ...]:
    """The gradients of x, w1, b1, w2 and b2, in parts."""
    of_x, of_first = torch.empty_like(x), x.new_zeros(len(w1), 2)
    of_last = x.new_zeros(len(w2), len(w1) + 1)
    for row, slope, made in zip(x, grad, of_x, strict=True):
        for some in _parts(row, w1):
            hidden, part = _compute_hidden(row[some], w1, b1), slope[:, some]
            of_last.addmm_(part, hidden.mT)
            inner = ops.threshold_backward(w2.mT @ part, hidden[:-1], 0)
            of_first.addmm_(inner, torch.stack([row[some], torch.ones_like(row[some])], dim=1))
            torch.mv(inner.mT, w1[:, 0], out=made[some])
    return of_x, of_first[:, :1], of_first[:, 1], of_last[:, :-1], of_last[:, -1]


def _parts(row: Tensor, w1: Tensor) -> list[slice]:
    size = max(1, HIDDEN * torch.get_num_threads() // len(w1))
    return [slice(start, start + size) for start in range(0, len(row), size)]


def _beside(w: Tensor, b: Tensor) -> Tensor:
    """The weights of a layer and, behind them, of a unit that is 1."""
    return torch.cat([w, b[:, None]], dim=1)


def _compute_hidden(x: Tensor, w1: Tensor, b1: Tensor) -> Tensor:
    """relu(w1 x + b1), and below it a unit that is 1: (hidden + 1, n)."""
    made = x.new_empty(len(w1) + 1, len(x))
    torch.addcmul(b1[:, None], w1, x, out=made[:-1]).clamp_(min=0)
    made[-1] = 1
    return made


def _differentiable_slopes(
    grad: Tensor, x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor
) -> tuple[Tensor, ...]:
    """The same at once, by operators that have gradients themselves and can be mapped."""
    hidden = (w1 * x[:, None] + b1[:, None]).clamp(min=0)
    inner = (w2.mT @ grad) * (hidden > 0)
    of_w2 = (grad @ hidden.mT).sum(0)
    return (
        (inner * w1).sum(1),
        (inner * x[:, None]).sum((0, 2))[:, None],
        inner.sum((0, 2)),
        of_w2,
        grad.sum((0, 2)),
    )
