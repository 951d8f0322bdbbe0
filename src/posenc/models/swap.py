"""Swap the positional encoding of a model of transformers, and undo it."""

from dataclasses import dataclass
from typing import Any, TypeVar

import torch
import transformers
from torch import Tensor, nn
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.core.mechanisms import Unbiased
from posenc.core.rotation import Pairing
from posenc.models.anatomy import STORED, Anatomy, find_anatomy
from posenc.models.attention import NAME, PLACE, InLayer, attend_in_model, hand_over
from posenc.models.layout import takes_layer_type
from posenc.models.plan import Encodings, Planned, plan_layers
from posenc.models.tables import RotaryTables, StillTables, SwappedRotary
from posenc.models.turning import place_turns, remove_turns
from posenc.torch.parameters import EncodingModule

RECORD = "posenc_swap"
"""The attribute that says what was swapped, of the part of a model that has the layers."""

Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True, eq=False)
class Swapped:
    """What was put into a model, and what it had before.

    anatomy     where positions come in
    planned     what each layer has
    module      what took the place of the rotary module; None where attention stores its tables
    before      the rotary module that the model had, or the table of each attention
    attention   the attention implementation that the model had; None if it still has it
    """

    anatomy: Anatomy
    planned: tuple[Planned, ...]
    module: SwappedRotary | None
    before: nn.Module | tuple[Tensor, ...]
    attention: str | None


@hinted("swap")
def swap(model: Model, encoding: Encodings, *, pairing: Pairing | None = None) -> Model:
    """Put another positional encoding into a model of transformers, and return the model.

    model      a PreTrainedModel that rotates its queries and keys
    encoding   any mechanism but Additive: for every layer (a rotation: for those that rotate), a
               list with one for each layer, or what `read_config` returns
    pairing    as in `read_config`, for a model type that is not known

    A rotation is applied to the pairs of channels that the model's weights are for: its angles
    count, not its `pairing`. Biases and scores go through transformers' AttentionInterface, and the
    model then rotates nothing. What an encoding learns is shared by all layers that have it and
    becomes parameters of the model, with its device and dtype. A second swap replaces the first.
    What cannot be swapped raises a ValueError, and leaves the model as it was.

    >>> from transformers import AutoModelForCausalLM, LlamaConfig
    >>> config = LlamaConfig(hidden_size=64, num_attention_heads=4, num_hidden_layers=2,
    ...                      intermediate_size=64, vocab_size=32)
    >>> model = AutoModelForCausalLM.from_config(config)
    >>> import posenc as pe
    >>> model = pe.models.swap(model, pe.RoPE(16, scaling=pe.YaRN(4, 2048)))
    >>> model = pe.models.swap(model, pe.ALiBi(4))
    """
    if not isinstance(model, transformers.PreTrainedModel):
        raise TypeError(f"model must be a PreTrainedModel; got {type(model).__name__}")
    old = find_record(model)
    if old is not None:
        _remove(old)
    try:
        anatomy = find_anatomy(model, pairing=pairing)
        record = _prepare(anatomy, plan_layers(anatomy, encoding))
    except Exception:
        if old is not None:
            _install(old)
        raise
    _install(record)
    return model


@hinted("restore")
def restore(model: Model) -> Model:
    """Undo `swap`: the model has the modules, tables and attention that it had before.

    >>> from transformers import AutoModel, LlamaConfig
    >>> model = AutoModel.from_config(LlamaConfig(hidden_size=64, num_attention_heads=4,
    ...                                           intermediate_size=64, num_hidden_layers=2))
    >>> import posenc as pe
    >>> own = model.rotary_emb
    >>> pe.models.restore(pe.models.swap(model, pe.NoPE())).rotary_emb is own
    True
    """
    record = find_record(model)
    if record is None:
        raise ValueError("model must have been swapped before; got one that has its own encoding")
    _remove(record)
    return model


def find_record(model: nn.Module) -> Swapped | None:
    """What was swapped in a model, however it is wrapped; None if nothing was."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model must be a PreTrainedModel; got {type(model).__name__}")
    found = (vars(module).get(RECORD) for module in model.modules())
    return next((each for each in found if isinstance(each, Swapped)), None)


def _prepare(anatomy: Anatomy, planned: tuple[Planned, ...]) -> Swapped:
    """The modules and tables that are to be put into a model."""
    acts = any(each.on_logits is not None for each in planned)
    config = anatomy.owner.config
    attention = config._attn_implementation if acts else None
    if anatomy.name is None:
        before = tuple(layer.attention.get_buffer(STORED) for layer in anatomy.layers)
        return Swapped(anatomy, planned, None, before, attention)
    typed = takes_layer_type(anatomy.rotary)
    modules: list[RotaryTables | StillTables] = []
    by_type: dict[str | None, int] = {}
    for each in planned:
        if not each.is_new:
            continue
        at = _find_module(modules, each.encoding)
        if at is None:
            at = len(modules)
            modules.append(_make_module(anatomy, each))
        by_type.setdefault(each.layer.layer_type if typed else None, at)
    like = next(anatomy.owner.parameters())
    module = SwappedRotary(modules, by_type, carries=acts).to(like.device, like.dtype)
    return Swapped(anatomy, planned, module, anatomy.rotary, attention)


def _find_module(modules: list[RotaryTables | StillTables], encoding: Encoding) -> int | None:
    return next((i for i, module in enumerate(modules) if module.whole == encoding), None)


def _make_module(anatomy: Anatomy, planned: Planned) -> RotaryTables | StillTables:
    layout = anatomy.layout_of(planned.layer)
    if planned.in_tables is None:
        return StillTables(planned.encoding, layout)
    return RotaryTables(planned.encoding, layout)


def _install(record: Swapped) -> None:
    anatomy = record.anatomy
    setattr(anatomy.owner, RECORD, record)
    if record.module is None or anatomy.name is None:
        for each in record.planned:
            attention = each.layer.attention
            attention.register_buffer(STORED, _make_stored(anatomy, each), persistent=False)
        return
    setattr(anatomy.owner, anatomy.name, record.module)
    place_turns(anatomy)
    if record.attention is None:
        return
    made: list[InLayer] = []
    for each in record.planned:
        owner, acting = _owner_of(record.module, each), each.on_logits or Unbiased()
        alike = (x for x in made if x.encoding == acting and x.owner is owner)
        if (layer := next(alike, None)) is None:
            layer = InLayer(acting, owner)
            made.append(layer)
        setattr(each.layer.attention, PLACE, layer)
        each.layer.attention.register_forward_pre_hook(hand_over, with_kwargs=True)
    anatomy.owner.set_attn_implementation(NAME)


def _owner_of(module: SwappedRotary, planned: Planned) -> EncodingModule | None:
    """The module that has the parameters of what acts on the logits of a layer."""
    if planned.on_logits is None or not planned.on_logits.parameters():
        return None
    return module.owner_of(planned.encoding)


def _make_stored(anatomy: Anatomy, planned: Planned) -> Tensor:
    """The table that GPT-J stores: sines, then cosines, of every position."""
    table = planned.layer.attention.get_buffer(STORED)
    layout, rotary = anatomy.layout_of(planned.layer), planned.in_tables
    at = torch.arange(len(table), device=table.device)
    if rotary is None:
        sin, cos = torch.zeros(len(table), layout.pairs), torch.ones(len(table), layout.pairs)
    else:
        cos, sin = rotary.cos_sin(at, dtype=torch.float32)
    return torch.cat([-sin if layout.backwards else sin, cos], dim=-1).to(table)


def _remove(record: Swapped) -> None:
    anatomy = record.anatomy
    delattr(anatomy.owner, RECORD)
    if isinstance(record.before, tuple):
        for layer, table in zip(anatomy.layers, record.before, strict=True):
            device = layer.attention.get_buffer(STORED).device
            layer.attention.register_buffer(STORED, table.to(device), persistent=False)
        return
    assert anatomy.name is not None
    setattr(anatomy.owner, anatomy.name, record.before)
    remove_turns(anatomy)
    if record.attention is None:
        return
    for layer in anatomy.layers:
        attention: Any = layer.attention
        delattr(attention, PLACE)
        hooks = attention._forward_pre_hooks
        for key in [key for key, hook in hooks.items() if hook is hand_over]:
            del hooks[key]
            del attention._forward_pre_hooks_with_kwargs[key]
    anatomy.owner.set_attn_implementation(record.attention)


def make_mask(
    *,
    q_length: int,
    kv_length: int,
    q_offset: Any = 0,
    kv_offset: int = 0,
    allow_is_causal_skip: bool = True,
    **others: Any,
) -> Tensor | None:
    """The mask of PyTorch's attention, of bool, left out only where its meaning is plain.

    That is where keys are those of the queries, or where one query sees all of a growing cache.
    """
    newest = q_length == 1 and type(q_offset) is int and kv_offset + kv_length == q_offset + 1
    return sdpa_mask(
        q_length=q_length,
        kv_length=kv_length,
        q_offset=q_offset,
        kv_offset=kv_offset,
        allow_is_causal_skip=allow_is_causal_skip and (newest or kv_length == q_length),
        **others,
    )


transformers.AttentionInterface.register(NAME, attend_in_model)
AttentionMaskInterface.register(NAME, make_mask)
