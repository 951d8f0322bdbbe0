"""What PyTorch is told about the operators: shapes for tracing, and derivatives."""

from typing import Any

import torch
from torch import Tensor
from torch.library import register_autograd, register_fake

ops: Any = torch.ops.posenc


def register() -> None:
    """Register the fake kernels and the derivatives; the kernels must be loaded."""
    for name in ("rotate", "rotate.inference", "add_waves", "add_waves.inference"):
        register_fake(f"posenc::{name}", _make_one)
    for name in ("rotate_qk", "rotate_qk.inference"):
        register_fake(f"posenc::{name}", _make_both)
    register_fake("posenc::rotate_qk_", _make_none)
    register_autograd("posenc::rotate", _turn_back_one, setup_context=_keep_rest)
    register_autograd("posenc::rotate_qk", _turn_back_both, setup_context=_keep_rest)
    register_autograd("posenc::add_waves", _scale_back, setup_context=_keep_rest)


def _make_one(x: Tensor, *_: object) -> Tensor:
    return torch.empty_like(x)


def _make_both(q: Tensor, k: Tensor, *_: object) -> tuple[Tensor, Tensor]:
    return torch.empty_like(q), torch.empty_like(k)


def _make_none(*_: object) -> None:
    """In place, nothing is made."""


def _keep_rest(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:  # noqa: ARG001
    ctx.inputs = inputs


def _turn_back_one(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    """R^T g: a rotation is scaled orthogonal, so its transpose turns the other way."""
    _, *rest, back = ctx.inputs
    return ops.rotate(grad, *rest, not back), *[None] * (len(rest) + 1)


def _turn_back_both(ctx: Any, of_q: Tensor | None, of_k: Tensor | None) -> tuple[Any, ...]:
    q, k, *rest, back = ctx.inputs
    of_q = torch.zeros_like(q) if of_q is None else of_q
    of_k = torch.zeros_like(k) if of_k is None else of_k
    return *ops.rotate_qk(of_q, of_k, *rest, not back), *[None] * (len(rest) + 1)


def _scale_back(ctx: Any, grad: Tensor) -> tuple[Any, ...]:
    factor = ctx.inputs[3]
    return grad if factor == 1 else grad * factor, None, None, None, None
