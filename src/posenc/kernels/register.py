"""What PyTorch is told about the operators: shapes for tracing, and derivatives."""

from typing import Protocol, TypeAlias

import torch
from torch import Tensor
from torch.library import register_autograd, register_fake

ops = torch.ops.posenc
Gradients: TypeAlias = tuple[Tensor | None, ...]
"""One for each input of an operator; None for what has none."""


class RotationContext(Protocol):
    """What the backward pass of a rotation is given: what the forward pass has kept."""

    numbers: tuple[float, bool, int, bool]
    needs_input_grad: tuple[bool, ...]

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]: ...
    def save_for_backward(self, *tensors: Tensor | None) -> None: ...
    def set_materialize_grads(self, value: bool) -> None: ...


class AdditionContext(Protocol):
    """The same of an addition: the factor of x."""

    factor: float


def register() -> None:
    """Register the fake kernels and the derivatives; the kernels must be loaded.

    Packed calls and `attend_newest` have neither: only ordinary tensors that want no gradient are
    handed over so.
    """
    for name in ("rotate", "add_waves"):
        register_fake(f"posenc::{name}", _make_one)
    register_fake("posenc::rotate_qk", _make_both)
    register_fake("posenc::rotate_qk_", _make_none)
    register_autograd("posenc::rotate", _turn_back_one, setup_context=_keep_rotation)
    register_autograd("posenc::rotate_qk", _turn_back_both, setup_context=_keep_rotation)
    register_autograd("posenc::add_waves", _scale_back, setup_context=_keep_factor)


def _make_one(x: Tensor, *_: object) -> Tensor:
    return torch.empty_like(x)


def _make_both(q: Tensor, k: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    return torch.empty_like(q), torch.empty_like(k)


def _make_none(*_: object) -> None:
    """In place, nothing is made."""


def _keep_rotation(
    ctx: RotationContext,
    inputs: tuple[*tuple[Tensor | None, ...], float, bool, int, bool],
    output: object,  # noqa: ARG001
) -> None:
    """Keep the positions, the frequencies and the axes, but not what is rotated."""
    *tensors, scale, halves, start, back = inputs
    rotated = 1 if len(tensors) == 4 else 2  # x, p, w, axis or q, k, q_pos, k_pos, w, axis
    kept = tensors[rotated:]
    ctx.save_for_backward(*kept)
    ctx.numbers = scale, halves, start, not back
    ctx.set_materialize_grads(False)


def _turn_back_one(ctx: RotationContext, grad: Tensor | None) -> Gradients:
    """R^T g: a rotation is scaled orthogonal, so its transpose turns the other way."""
    positions, *waves = ctx.saved_tensors
    back = None if grad is None else ops.rotate(grad, positions, *waves, *ctx.numbers)
    return back, *[None] * 7


def _turn_back_both(ctx: RotationContext, of_q: Tensor | None, of_k: Tensor | None) -> Gradients:
    q_pos, k_pos, *waves = ctx.saved_tensors
    needs_q, needs_k, *_ = ctx.needs_input_grad
    of_q, of_k = of_q if needs_q else None, of_k if needs_k else None
    if of_q is not None and of_k is not None:  # in one call, they share cosines
        both = ops.rotate_qk(of_q, of_k, q_pos, k_pos, *waves, *ctx.numbers)
        return *both, *[None] * 8
    back = [
        None if grad is None else ops.rotate(grad, positions, *waves, *ctx.numbers)
        for grad, positions in ((of_q, q_pos), (of_k, k_pos))
    ]
    return *back, *[None] * 8


def _keep_factor(
    ctx: AdditionContext,
    inputs: tuple[Tensor, Tensor, Tensor, float, bool],
    output: object,  # noqa: ARG001
) -> None:
    ctx.factor = inputs[3]


def _scale_back(ctx: AdditionContext, grad: Tensor) -> Gradients:
    return grad if ctx.factor == 1 else grad * ctx.factor, None, None, None, None
