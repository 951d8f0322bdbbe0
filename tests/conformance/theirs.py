"""Run a rotary module of transformers and the function that applies it, as their models do."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.overrides import TorchFunctionMode

Tables = tuple[torch.Tensor, torch.Tensor]


class Wide(TorchFunctionMode):
    """Their code as it stands, in float64: wherever it asks for float32, it gets float64.

    This tells their formulas from their rounding. Nothing of theirs is replaced.
    """

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> torch.Tensor:
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        args = tuple(torch.float64 if arg is torch.float32 else arg for arg in args)
        kwargs = {k: torch.float64 if v is torch.float32 else v for k, v in (kwargs or {}).items()}
        return func(*args, **kwargs)

    def __enter__(self) -> Any:
        self.default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        return super().__enter__()

    def __exit__(self, *reason: Any) -> None:
        super().__exit__(*reason)
        torch.set_default_dtype(self.default)


def split(out: Any) -> Tables:
    """Cosines and sines (seq, width) out of whatever a rotary module returned."""
    if torch.is_tensor(out) and out.is_complex():
        out = (out.real, out.imag)
    cos, sin = out
    return cos.reshape(-1, cos.shape[-1]).double(), sin.reshape(-1, sin.shape[-1]).double()


LAYOUTS: dict[str, Callable[[torch.Tensor, int], tuple[torch.Tensor, torch.Tensor]]] = {
    "tiled": lambda table, pairs: (table[:, :pairs], table[:, pairs:]),
    "neighbours": lambda table, pairs: (table[:, 0::2], table[:, 1::2]),
    "tiled in two blocks": lambda table, pairs: tuple(  # pyright: ignore
        table.reshape(len(table), 2, 2, pairs // 2)[:, :, copy].flatten(1) for copy in (0, 1)
    ),
}


def per_pair(tables: Tables, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """One column for each pair: what stands twice, in whichever order, must be the same twice."""
    width = tables[0].shape[-1]
    if width == pairs:
        return tables[0].numpy(), tables[1].numpy()
    if width != 2 * pairs:
        raise ValueError(f"their tables have {width} columns, where ours have {pairs} pairs")
    for pick in LAYOUTS.values():
        picked = [pick(table, pairs) for table in tables]
        if all(torch.equal(one, other) for one, other in picked):
            return picked[0][0].numpy(), picked[1][0].numpy()
    raise ValueError("the two channels of a pair are turned by different angles")


def turned(function: Any, out: Any, q: torch.Tensor, k: torch.Tensor, ids: Any) -> Tables:
    """Rotate q and k (1, heads, seq, dim) with their function and the output of their module."""
    names = list(inspect.signature(function).parameters)
    if "freqs_cis" in names or "freqs_ci" in names:
        return _by_complex(function, out, q, k)
    if names[:3] == ["x", "cos", "sin"]:
        rest = (ids,) if "position_ids" in names else ()
        swap = bool(rest)  # gemma4's vision function takes (batch, seq, heads, dim)
        one, other = (
            _swapped(function(_swapped(x, swap), *out, *rest), swap)  # one at a time
            for x in (q, k)
        )
        return one, other
    if names[0] == "sinusoidal_pos":  # RoFormer: one table, sines first
        return function(torch.cat([out[1], out[0]], -1)[None], q, k)
    if names[0] == "tensor":  # GPT-J: (batch, seq, heads, dim), sines first
        cos, sin = out
        one, other = (function(x.transpose(1, 2), sin, cos).transpose(1, 2) for x in (q, k))
        return one, other
    return _by_pair(function, names, out, q, k, ids)


def _by_complex(function: Any, out: Any, q: torch.Tensor, k: torch.Tensor) -> Tables:
    """DeepSeek-V2 takes (batch, heads, seq, dim), Llama 4 (batch, seq, heads, dim)."""
    swap = "unsqueeze(1)" not in inspect.getsource(function)
    one, other = function(_swapped(q, swap), _swapped(k, swap), out)
    return _swapped(one, swap), _swapped(other, swap)


def _by_pair(
    function: Any, names: list[str], out: Any, q: torch.Tensor, k: torch.Tensor, ids: Any
) -> Tables:
    cos, sin = out
    if names[2] == "v":  # CLVP turns values too, and looks its positions up
        one, other, _ = function(q, k, k, cos[0], sin[0], ids)
        return one, other
    if "cos_k" in names:
        return function(q, k, cos, sin, cos, sin)
    if function.__name__.endswith("_vision"):  # (seq, heads, dim), or (batch, seq, heads, dim)
        flat = "cos[None" not in inspect.getsource(function)
        one, other = (x.transpose(1, 2) for x in (q, k))
        one, other = function(one[0], other[0], cos, sin) if flat else function(one, other, *out)
        return (one[None] if flat else one).transpose(1, 2), (
            other[None] if flat else other
        ).transpose(1, 2)
    if cos.ndim == 2 and "unsqueeze_dim" in names:
        cos, sin = cos[None], sin[None]
    return function(q, k, cos, sin)


def _swapped(x: torch.Tensor, swap: bool) -> torch.Tensor:
    return x.transpose(1, 2) if swap else x
