"""The tables of cosines and sines that a model's own code takes, found by calling its module."""

import inspect
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posenc.core.mechanisms import Rotary

PROBED = 5
"""Positions at which a module is probed: small ones, where its float32 angles are nearly exact."""
NEAR, ROUNDED = 1e-4, 0.05
"""How far its tables may be from ours there: in float32, and if a cast has rounded its buffers."""


@dataclass(frozen=True, eq=False)
class TableLayout:
    """How a model's code takes cosines and sines.

    columns         the pair that each column of the table is for, (width,)
    is_complex      one table of cos + i sin in place of two
    follows_input   whether tables have the dtype of the hidden states, or float32 always
    axes            numbers in a position, as M-RoPE has three; None: a plain number
    backwards       whether the code turns the other way (nanochat), so that sines change their sign

    Llama repeats its pairs one after the other, Cohere repeats each, gpt-oss has each once:

    >>> TableLayout.of_pairs(2, "halves").columns.tolist()
    [0, 1, 0, 1]
    >>> TableLayout.of_pairs(2, "interleaved").columns.tolist()
    [0, 0, 1, 1]
    """

    columns: np.ndarray
    is_complex: bool = False
    follows_input: bool = True
    axes: int | None = None
    backwards: bool = False

    @classmethod
    def of_pairs(cls, pairs: int, repeated: str | None) -> "TableLayout":
        """Pairs that are repeated as "halves", "interleaved" or not at all."""
        once = np.arange(pairs)
        columns = {"halves": np.tile(once, 2), "interleaved": np.repeat(once, 2), None: once}
        return cls(columns[repeated])

    @property
    def pairs(self) -> int:
        """How many pairs of channels of a head are turned."""
        return int(self.columns.max()) + 1

    def dtype_for(self, x: Tensor) -> torch.dtype:
        """The dtype of tables beside hidden states x."""
        return x.dtype if self.follows_input and not self.is_complex else torch.float32

    def join(self, cos: Tensor, sin: Tensor) -> Any:
        """Tables as the model's code takes them: two, or a complex one."""
        sin = -sin if self.backwards else sin
        return torch.complex(cos, sin) if self.is_complex else (cos, sin)


def takes_layer_type(module: nn.Module) -> bool:
    """Whether a module makes other tables for other types of layers."""
    return "layer_type" in inspect.signature(module.forward).parameters


def call_module(
    module: nn.Module, positions: Tensor, layer_type: str | None, *, dtype: torch.dtype
) -> Any:
    """What a rotary module makes of positions, for hidden states of a dtype."""
    x = torch.zeros(1, 1, 8, dtype=dtype, device=positions.device)
    if takes_layer_type(module):
        return module(x, positions, layer_type)
    return module(x, positions)


@torch.no_grad()
def probe_layout(module: nn.Module, layer_type: str | None, encoding: Rotary) -> TableLayout:
    """Find the layout of a module's tables from what it returns.

    module       a rotary module of transformers: (x, position_ids) to (cos, sin)
    layer_type   for a module that takes one; else None
    encoding     what the config says of the layers that take these tables
    """
    device = next(module.buffers()).device
    at = torch.arange(1, PROBED + 1, device=device)
    points = torch.stack([at.roll(axis) for axis in range(encoding.axes or 3)])[:, None]
    mixed = _split_tables(call_module(module, points, layer_type, dtype=torch.float32))[0]
    if (mixed.ndim == 3) != (encoding.axes is not None):
        raise ValueError(
            f"model must have a rotary module for positions of {encoding.axes or 1} axes, as its "
            f"config says; got one that makes tables {tuple(mixed.shape)} of positions "
            f"{tuple(points.shape)}"
        )
    positions = points if encoding.axes else at[None]
    half = call_module(module, positions, layer_type, dtype=torch.bfloat16)
    made = call_module(module, positions, layer_type, dtype=torch.float32)
    cos, sin = _split_tables(made)
    layout = TableLayout(
        _columns(cos, once=isinstance(made, Tensor)),
        is_complex=isinstance(made, Tensor),
        follows_input=_split_tables(half)[0].dtype == torch.bfloat16,
        axes=encoding.axes,
    )
    ours = at[None] if encoding.axes is None else points.movedim(0, -1)
    wide = all(buffer.element_size() >= 4 for buffer in module.buffers())
    return orient(layout, cos, sin, encoding, ours, near=NEAR if wide else ROUNDED)


def orient(
    layout: TableLayout,
    cos: Tensor,
    sin: Tensor,
    encoding: Rotary,
    positions: Tensor,
    *,
    near: float,
) -> TableLayout:
    """The layout with its direction: which sign of sines makes the model's tables the encoding's.

    cos, sin    the model's own tables at positions, (…, width)
    encoding    what the config says of them
    near        how far apart they may be

    Raise an error if they differ: what is swapped is then not what was read.
    """
    own = encoding.at(PROBED + 1).cos_sin(positions, dtype=torch.float64)
    if own[0].shape[-1] != layout.pairs:
        raise ValueError(
            f"model must turn the {own[0].shape[-1]} pairs of channels that its config says; got "
            f"tables for {layout.pairs}"
        )
    read_cos, read_sin = (table[..., torch.from_numpy(layout.columns)] for table in own)
    forth, back = (
        max(float((cos - read_cos).abs().max()), float((sin - sign * read_sin).abs().max()))
        for sign in (1, -1)
    )
    if min(forth, back) > near:
        raise ValueError(
            "model must have the tables that its config says; got cosines and sines that differ "
            f"from {encoding} by {min(forth, back):.2g}"
        )
    return replace(layout, backwards=back < forth)


def _split_tables(made: Any) -> tuple[Tensor, Tensor]:
    """Cosines and sines; results of other kinds are not understood."""
    if isinstance(made, Tensor) and made.is_complex():
        return made.real, made.imag
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], Tensor):
        return made
    raise ValueError(
        "model must have a rotary module that returns (cos, sin) or a complex table; "
        f"got {type(made).__name__}"
    )


def _columns(table: Tensor, *, once: bool) -> np.ndarray:
    """The pair of each column, from columns that are equal: (…, width)."""
    width = table.shape[-1]
    pairs = width // 2
    if once:
        return np.arange(width)
    if width % 2 == 0 and torch.equal(table[..., :pairs], table[..., pairs:]):
        return np.tile(np.arange(pairs), 2)
    if width % 2 == 0 and torch.equal(table[..., ::2], table[..., 1::2]):
        return np.repeat(np.arange(pairs), 2)
    return np.arange(width)
