"""The module that takes the place of a model's rotary module."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from posenc.core.arrays import has_float64
from posenc.core.encoding import Encoding, unwrap
from posenc.core.mechanisms import Rotary
from posenc.models.layout import TableLayout
from posenc.models.turning import Turner, annotate
from posenc.torch.parameters import EncodingModule, of_kind


class RotaryTables(EncodingModule):
    """Cosines and sines of a rotary encoding, laid out as a model's code takes them.

    encoding   a rotation, or one in wrappers that act elsewhere
    layout     how the model's code takes tables

    Angles are positions times frequencies in float64, rounded once, whatever dtype the model has.
    """

    def __init__(self, encoding: Encoding, layout: TableLayout):
        rotary = of_kind(unwrap(encoding), Rotary)
        super().__init__(rotary)
        self.whole = encoding
        self.rotary = rotary
        self.layout = layout
        fused = rotary.fuse()
        waves = None if fused is None else fused.waves
        self.turner = None if waves is None else Turner(waves)
        self.columns = torch.from_numpy(layout.columns)
        self.scale = 1.0 if waves is None else waves.scale
        # neither is a buffer: a cast of the model must not round them
        self.frequencies: Tensor | None = None
        self.axis: Tensor | None = None
        if waves is not None:
            self.frequencies = torch.from_numpy(waves.frequencies[layout.columns])
            if waves.axis is not None:
                self.axis = torch.from_numpy(waves.axis[layout.columns])

    def forward(self, x: Tensor, positions: Tensor) -> Any:
        """The tables for hidden states x (batch, seq, width) at positions (batch, seq)."""
        w, at = self.frequencies, positions
        if w is None or w.device != positions.device:
            cos, sin = self._call_encoding(x, positions)
        else:
            if self.axis is None:
                angles = positions[..., None] * w
            else:
                at = self._by_axis(positions)
                angles = at[..., self.axis] * w
            cos, sin = angles.cos(), angles.sin()
            if self.scale != 1:
                cos, sin = self.scale * cos, self.scale * sin
        dtype = self.layout.dtype_for(x)
        if dtype in (torch.bfloat16, torch.float16):  # by way of float32, as everywhere in posenc
            cos, sin = cos.float(), sin.float()
        tables = self.layout.join(cos.to(dtype), sin.to(dtype))
        if self.turner is not None:
            annotate(tables, self.turner, at)
        return tables

    def _call_encoding(self, x: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Tables of an encoding that is not made of waves, such as a learned one."""
        at = positions if self.rotary.axes is None else self._by_axis(positions)
        wide = torch.float64 if has_float64(positions) else torch.float32
        given = (self.tensors(),) if self._shapes else ()
        cos, sin = self.rotary.cos_sin(at, *given, dtype=wide)
        return cos[..., self.columns], sin[..., self.columns]

    def _by_axis(self, positions: Tensor) -> Tensor:
        """Positions with their axes last, as ours have them; M-RoPE has them first."""
        return positions.expand(self.rotary.axes or 1, -1, -1).movedim(0, -1)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> "RotaryTables":
        """Move the frequencies with the model, but never round them."""
        super()._apply(fn, recurse)
        device = fn(torch.empty(0)).device
        if device.type not in ("meta", "mps"):  # mps has no float64: the encoding is asked there
            moved = [None if t is None else t.to(device) for t in (self.frequencies, self.axis)]
            self.frequencies, self.axis = moved
        self.columns = self.columns.to("cpu" if device.type == "meta" else device)
        return self


class StillTables(EncodingModule):
    """Tables that turn nothing, cos 1 and sin 0, for an encoding that acts elsewhere or not at all.

    It owns what that encoding learns.
    """

    def __init__(self, encoding: Encoding, layout: TableLayout):
        super().__init__(encoding)
        self.whole = encoding
        self.layout = layout
        self.turner = Turner(None)

    def forward(self, x: Tensor, positions: Tensor) -> Any:
        """The tables for hidden states x (batch, seq, width) at positions (batch, seq)."""
        rows, width = positions.shape[-2:], len(self.layout.columns)
        cos = torch.ones(*rows, width, dtype=self.layout.dtype_for(x), device=x.device)
        tables = self.layout.join(cos, torch.zeros_like(cos))
        annotate(tables, self.turner, positions)
        return tables


class SwappedRotary(nn.Module):
    """Takes the place of a model's rotary module: tables for each type of layer.

    encodings   a module for each different encoding, with what it learns
    by_type     which of them a type of layer has; under None for a model without types
    carries     whether positions are handed to the attention beside the tables
    """

    def __init__(
        self,
        encodings: list[RotaryTables | StillTables],
        by_type: Mapping[str | None, int],
        *,
        carries: bool,
    ):
        super().__init__()
        self.encodings = nn.ModuleList(encodings)
        self.by_type = dict(by_type)
        self.carries = carries

    def forward(self, x: Tensor, position_ids: Tensor, layer_type: str | None = None) -> Any:
        """What the model's own module returned, or a pair of it and the positions."""
        made = self.encodings[self.by_type[layer_type]](x, position_ids)
        return (made, position_ids) if self.carries else made

    def owner_of(self, encoding: Encoding) -> EncodingModule:
        """The module of an encoding."""
        for module in self.encodings:
            if isinstance(module, RotaryTables | StillTables) and module.whole == encoding:
                return module
        raise ValueError(f"encoding must be one that was swapped in; got {encoding}")
