"""Rotation on NVIDIA GPUs, in Triton: `posenc::rotate` and `posenc::rotate_qk` for CUDA tensors.

The semantics are those of csrc/library.cpp, but for what a host cannot see of a GPU without
waiting for it: a position of 2^24 or more, a frequency of more than 8 radians and an axis that
positions lack give NaN. frequencies and axis may be on the CPU or on the device of x, where
nothing is copied, as capture in a CUDA graph requires.

It never ran on a GPU, for want of one: the tests run it in Triton's interpreter and compile it for
NVIDIA's GPUs, and cuda.py measures it on the GPU before it is used. Its
speed was not measured; the sizes of blocks keep registers below 128 a thread.
"""

from typing import Any, TypeAlias

import torch
import triton  # pyright: ignore[reportMissingImports]
from torch import Tensor

from posenc.kernels import triton_kernel

MOST_ERROR = 1.5e-7
"""Of a cosine or sine in float32, at any position below 2^24."""

ELEMENTS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
NUMBERS = (torch.int64, torch.int32, torch.float64, torch.float32)

TILE = 512  # entries, of as many positions as fit, that a program has at a time
PAIRS = 256  # at most, of a tile
HEADS = 8  # that share the cosines and sines of a program
OPTIONS = {"enable_fp_fusion": False}  # the arithmetic of the interpreter, which is tested

_ROTATION = "Tensor frequencies, Tensor? axis, float scale, bool halves, int start, bool back)"
_BOTH = f"Tensor q_pos, Tensor k_pos, {_ROTATION}"
SCHEMAS = (
    f"rotate(Tensor x, Tensor positions, {_ROTATION} -> Tensor",
    f"rotate_qk(Tensor q, Tensor k, {_BOTH} -> (Tensor, Tensor)",
    f"rotate_qk_(Tensor(a!) q, Tensor(b!) k, {_BOTH} -> ()",
    "add_waves(Tensor x, Tensor positions, Tensor frequencies, float factor, bool halves)"
    " -> Tensor",
)
"""Those of library.cpp but the packed ones, for machines on which it is not compiled."""

_kernel: Any = triton_kernel.rotate_block
Rotation: TypeAlias = tuple[Tensor, Tensor | None, float, bool, int, bool]
"""frequencies, axis, scale, halves, start, back"""

_library = torch.library.Library("posenc", "FRAGMENT")


def define() -> None:
    """Define the operators, which the C++ library does where it is loaded."""
    for schema in SCHEMAS:
        _library.define(schema)


def implement(key: str = "CUDA") -> None:
    """Make the rotations those of a dispatch key; the operators must be defined."""
    _library.impl("rotate", rotate, key)
    _library.impl("rotate_qk", rotate_qk, key)
    _library.impl("rotate_qk_", rotate_qk_, key)


def rotate(x: Tensor, positions: Tensor, *rest: *Rotation) -> Tensor:
    """R(p) x, or with `back` its transpose; rest: frequencies, axis, scale, halves, start, back."""
    _check(x, positions, *rest)
    out = torch.empty_like(x)
    _rotate_into(out, x, positions, *rest)
    return out


def rotate_qk(
    q: Tensor, k: Tensor, q_pos: Tensor, k_pos: Tensor, *rest: *Rotation
) -> tuple[Tensor, ...]:
    """Both rotated."""
    return rotate(q, q_pos, *rest), rotate(k, k_pos, *rest)


def rotate_qk_(q: Tensor, k: Tensor, q_pos: Tensor, k_pos: Tensor, *rest: *Rotation) -> None:
    """Both rotated, in place; nothing is written if either is refused."""
    _check(q, q_pos, *rest)
    _check(k, k_pos, *rest)
    _rotate_into(q, q, q_pos, *rest)
    _rotate_into(k, k, k_pos, *rest)


def measure_error(device: str, halves: bool) -> float:
    """The largest error of a cosine or sine on a device, over all positions, against float64."""
    p = torch.linspace(1 - 2**24, 2**24 - 1, 1000, dtype=torch.float64, device=device).round()
    w = 10_000.0 ** (-torch.arange(64, dtype=torch.float64, device=device) / 64)
    x = torch.zeros(1000, 128, device=device)
    first = x[:, :64] if halves else x[:, ::2]
    first.fill_(1)
    out = rotate(x, p, w, None, 1.0, halves, 0, False).double()
    found = out.unflatten(1, (2, 64)) if halves else out.unflatten(1, (64, 2)).mT
    angles = p[:, None] * w
    return (found - torch.stack([angles.cos(), angles.sin()], 1)).abs().max().item()


def _rotate_into(
    out: Tensor,
    x: Tensor,
    positions: Tensor,
    frequencies: Tensor,
    axis: Tensor | None,
    scale: float,
    halves: bool,
    start: int,
    back: bool,
) -> None:
    if x.numel() == 0:
        return
    by_row = positions.ndim - (axis is not None) == 2 and len(positions) > 1
    steps = positions.stride()
    steps = (steps[0] if by_row else 0, *(steps[-2:] if axis is not None else (steps[-1], 0)))
    frequencies = frequencies.to(x.device, non_blocking=True)
    if axis is not None:
        axis = axis.to(x.device, non_blocking=True)
    pairs = len(frequencies)
    width = min(PAIRS, triton.next_power_of_2(max(pairs, 1)))
    for source, target in zip(_with_heads(x), _with_heads(out), strict=True):
        batch, heads, seq, dim = source.shape
        block = min(TILE // width, triton.next_power_of_2(seq))
        rows, outer = (batch, heads) if by_row else (1, batch * heads)
        blocks, chunks = triton.cdiv(seq, block), triton.cdiv(outer, HEADS)
        with torch.cuda.device_of(x):
            _kernel[(rows * blocks * chunks,)](
                source,
                target,
                *source.stride(),
                *target.stride(),
                positions,
                *steps,
                positions.shape[-1],
                frequencies,
                axis,
                scale,
                *(heads, outer, seq, blocks, chunks, pairs, start),
                0 if x is out else dim - 2 * pairs,
                wide=x.dtype == torch.float64,
                halves=halves,
                back=back,
                block=block,
                most_pairs=width,
                most_heads=HEADS,
                **OPTIONS,
            )


def _with_heads(x: Tensor) -> list[Tensor]:
    """x as views of (batch, head, seq, dim)."""
    if x.ndim > 4:
        return [view for part in x.unbind(1) for view in _with_heads(part)]
    return [x[(None, None)] if x.ndim == 2 else x[:, None] if x.ndim == 3 else x]


def _check(
    x: Tensor,
    positions: Tensor,
    frequencies: Tensor,
    axis: Tensor | None,
    _scale: float,
    _halves: bool,
    start: int,
    _back: bool,
) -> None:
    def require(met: bool, name: str, rule: str, value: object) -> None:
        if not met:
            raise ValueError(f"{name} must be {rule}; got {value}")

    require(x.is_cuda or triton.knobs.runtime.interpret, "x", "on a CUDA device", x.device)
    require(x.dtype in ELEMENTS, "x", "float64, float32, bfloat16 or float16", x.dtype)
    require(x.ndim >= 2, "x", "(…, seq, dim)", tuple(x.shape))
    for name, tensor, dtype in (
        ("frequencies", frequencies, torch.float64),
        ("axis", axis, torch.int64),
    ):
        if tensor is not None:
            placed = tensor.is_cpu or tensor.device == x.device
            require(placed, name, "on the CPU or where x is", tensor.device)
            require(tensor.dtype == dtype and tensor.ndim == 1, name, f"(pair,) in {dtype}", tensor)
            require(tensor.is_contiguous(), name, "contiguous", tensor.stride())
    pairs = len(frequencies)
    require(axis is None or len(axis) == pairs, "axis", f"{pairs} numbers", axis)
    fits = 0 <= start <= x.shape[-1] - 2 * pairs
    require(fits, "start", f"in 0 .. {x.shape[-1]} - {2 * pairs}", start)
    shape = positions.shape[: positions.ndim - (axis is not None)]
    fits = shape in (x.shape[-2:-1], (1, x.shape[-2]), (x.shape[0], x.shape[-2]))
    fits &= positions.ndim > len(shape) or axis is None
    fits &= len(shape) < 2 or x.ndim > 2
    require(fits, "positions", f"(seq,) or (batch, seq) of x {tuple(x.shape)}", tuple(shape))
    require(positions.device == x.device, "positions", f"on {x.device}", positions.device)
    require(positions.dtype in NUMBERS, "positions", "int64, int32 or floats", positions.dtype)
