"""Find in a model of transformers where positions come in: its rotary module and its attention."""

import inspect
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor, nn

from posenc.core.encoding import MECHANISMS, Encoding, unwrap
from posenc.core.mechanisms import Rotary
from posenc.core.rotation import Pairing
from posenc.interop.config import read_config
from posenc.interop.model import ModelPositions
from posenc.models.layout import (
    NEAR,
    PROBED,
    ROUNDED,
    TableLayout,
    orient,
    probe_layout,
    takes_layer_type,
)

STORED = "embed_positions"
"""The buffer in which GPT-J and CodeGen keep the sines and cosines of every position."""


@dataclass(frozen=True, eq=False)
class Layer:
    """An attention module of a model: which layer it is in, and of which type."""

    number: int
    layer_type: str | None
    attention: nn.Module


@dataclass(frozen=True, eq=False)
class Anatomy:
    """Where positions come into a model.

    owner      the part of the model that has the layers and, mostly, the rotary module
    name       the attribute under which it has it; None if each attention stores its own table
    layers     the attention modules, in their order
    positions  what its config says of each layer
    layouts    the layout of the tables for each type of layer; under None without types
    """

    owner: Any
    name: str | None
    layers: tuple[Layer, ...]
    positions: ModelPositions
    layouts: dict[str | None, TableLayout]

    @property
    def rotary(self) -> nn.Module:
        """The rotary module."""
        assert self.name is not None
        return self.owner.get_submodule(self.name)

    @property
    def pairing(self) -> Pairing:
        """The pairing that the model's weights are for."""
        inner = (unwrap(encoding) for encoding in self.positions.layers)
        return next(each.pairing for each in inner if isinstance(each, Rotary))

    def encoding_of(self, layer: Layer) -> Encoding:
        """What the config says of a layer."""
        return self.positions.layers[layer.number]

    def layout_of(self, layer: Layer) -> TableLayout:
        """The layout of the tables that a layer takes."""
        return self.layouts[layer.layer_type if layer.layer_type in self.layouts else None]


def find_anatomy(model: Any, *, pairing: Pairing | None = None) -> Anatomy:
    """Find the rotary module and the attention of a model, or say why they cannot be found.

    model     a PreTrainedModel of transformers
    pairing   as in `read_config`, for a model type that is not known
    """
    config = model.config.get_text_config()
    positions = read_config(config, pairing=pairing)
    kind, first = positions.model_type, unwrap(positions.layers[0])
    if not any(isinstance(unwrap(encoding), Rotary) for encoding in positions.layers):
        where = "" if first.mechanism is None else f", {MECHANISMS[first.mechanism]}"
        raise ValueError(
            "model must rotate its queries and keys, since its rotation is what is swapped; "
            f"got {kind}, which has {type(first).__name__}{where}"
        )
    found = [
        (module, name)
        for module in model.modules()
        for name, child in module.named_children()
        if _is_rotary(child) and _is_text(module, config)
    ]
    if len(found) > 1:
        listed = ", ".join(name for _, name in found)
        raise ValueError(
            f"model must have one rotary module; got {kind}, which has {len(found)}: {listed}"
        )
    if not found:
        return _find_stored(model, positions)
    owner, name = found[0]
    layers = _find_layers(owner, config)
    module: nn.Module = owner.get_submodule(name)
    layouts: dict[str | None, TableLayout] = {}
    for layer in layers:
        layer_type = layer.layer_type if takes_layer_type(module) else None
        own = unwrap(positions.layers[layer.number])
        if layer_type not in layouts and isinstance(own, Rotary):
            layouts[layer_type] = probe_layout(module, layer_type, own)
    return Anatomy(owner, name, layers, positions, layouts)


def _is_rotary(module: nn.Module) -> bool:
    """Whether a module makes tables out of positions and frequencies."""
    names = inspect.signature(module.forward).parameters
    waves = any(name.endswith("inv_freq") for name, _ in module.named_buffers(recurse=False))
    return "position_ids" in names and waves


def _is_text(module: Any, config: Any) -> bool:
    """Whether a part of a model is its text model, and not its vision tower."""
    own: Any = getattr(module, "config", None)
    return own is not None and own.model_type == config.model_type


def _find_layers(owner: nn.Module, config: Any) -> tuple[Layer, ...]:
    """The innermost modules that know their layer and take tables."""
    found = [module for module in owner.modules() if _is_attention(module)]
    inner = [m for m in found if not any(n is not m and n in found for n in m.modules())]
    types = getattr(config, "layer_types", None)
    layers: list[Layer] = []
    for module in inner:
        number = cast(int, module.layer_idx)
        layers.append(Layer(number, None if types is None else types[number], module))
    if not layers:
        raise ValueError(
            "model must hand its tables to attention modules as position_embeddings; "
            f"got {config.model_type}, which does not"
        )
    return tuple(sorted(layers, key=lambda layer: layer.number))


def _is_attention(module: nn.Module) -> bool:
    numbered = isinstance(getattr(module, "layer_idx", None), int)
    return numbered and "position_embeddings" in inspect.signature(module.forward).parameters


def _find_stored(model: Any, positions: ModelPositions) -> Anatomy:
    """A model whose attention modules each store a table of sines and cosines."""
    stored = [
        module
        for module in model.modules()
        if isinstance(dict(module.named_buffers(recurse=False)).get(STORED), Tensor)
    ]
    own = unwrap(positions.layers[0])
    if not stored or not isinstance(own, Rotary):
        raise ValueError(
            "model must have a rotary module, or a table of sines and cosines in each attention; "
            f"got {positions.model_type}, in which neither was found"
        )
    layers = tuple(Layer(cast(int, m.layer_idx), None, m) for m in stored)
    table = stored[0].get_buffer(STORED)[:PROBED]
    sin, cos = table.chunk(2, dim=-1)
    layout = TableLayout.of_pairs(sin.shape[-1], None)
    near = NEAR if table.element_size() >= 4 else ROUNDED
    at = torch.arange(len(table), device=table.device)
    layout = orient(layout, cos, sin, own, at, near=near)
    return Anatomy(model, None, layers, positions, {None: layout})
