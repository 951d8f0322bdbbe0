"""Measure what a swapped model computes, layer by layer, against its encodings."""

import inspect
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from posenc.core.hints import hinted
from posenc.models.oracle import compare_attention, compare_rotation
from posenc.models.plan import Planned
from posenc.models.recording import Recorded, record
from posenc.models.report import Row, SwapReport
from posenc.models.swap import Swapped, find_record

LENGTH, PADDING = 13, 3
"""Tokens of the text, and of its padding; a number that no model has heads of."""
RELATIVE = {torch.float64: 1e-9, torch.float32: 1e-3, torch.float16: 0.05, torch.bfloat16: 0.1}
"""How far logits of two ways through a model may be apart, relative to the largest: in both, sums
are taken in another order. A wrong position changes them by about their size."""


@hinted("verify")
def verify(model: nn.Module) -> SwapReport:
    """Measure what a swapped model computes: what is where, layer by layer, and the proof.

    A random text goes through the model. In each layer, what the model's own code made of queries
    and keys, or our attention of values, is held against the encoding's formulas in float64. Then
    the text goes through it token by token with a cache, and with padding on its left.

    >>> from transformers import AutoModelForCausalLM, LlamaConfig
    >>> config = LlamaConfig(hidden_size=64, num_attention_heads=4, num_hidden_layers=2,
    ...                      intermediate_size=64, vocab_size=32)
    >>> import posenc as pe
    >>> model = pe.models.swap(AutoModelForCausalLM.from_config(config), pe.RoPE(16))
    >>> print(pe.models.verify(model))
    llama, 2 layers, float32: everything is as it should be
      layer 0  RoPE(16)  rotated queries and keys ... (bound ...)  holds
      layer 1  RoPE(16)  rotated queries and keys ... (bound ...)  holds
      model    RoPE(16)  token by token ... (bound ...)  holds
      model    RoPE(16)  left-padded ... (bound ...)  holds
    note: pairs of channels are those of the model, halves
    """
    swapped = find_record(model)
    if swapped is None:
        raise ValueError("model must have been swapped; got one that has its own encoding")
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return _measure(model, swapped)
    finally:
        model.train(training)


def _measure(model: Any, swapped: Swapped) -> SwapReport:
    anatomy = swapped.anatomy
    rotary = next((e.in_tables for e in swapped.planned if e.in_tables is not None), None)
    axes = None if rotary is None else rotary.axes
    like = next(model.parameters())
    size = model.get_input_embeddings().num_embeddings
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(size, (1, LENGTH), generator=generator).to(like.device)
    points = np.arange(LENGTH)
    options: dict[str, Any] = {}
    if axes is not None:  # every axis somewhere else
        points = np.stack([np.roll(points, axis) for axis in range(axes)], axis=-1)
        options["position_ids"] = torch.from_numpy(points.T.copy())[:, None].to(like.device)
    with record(anatomy) as seen:
        logits = _logits(model(tokens, **options))
    rows = [row for each in swapped.planned for row in _measure_layer(swapped, each, seen, points)]
    named = ", ".join(dict.fromkeys(str(each.encoding) for each in swapped.planned))
    if axes is not None:
        logits = _logits(model(tokens, position_ids=_count(0, LENGTH, axes, tokens)))
    bound = RELATIVE[like.dtype] * float(logits.abs().max())
    ways = {"left-padded": _pad} if _takes_positions(model) else {}
    if all(getattr(each.layer.attention, "is_causal", True) for each in swapped.planned):
        ways = {"token by token": _decode} | ways
    for what, run in ways.items():
        apart = run(model, tokens, axes) - logits
        rows.append(Row("model", what, named, float(apart.abs().max()), bound))
    dtype = str(like.dtype).removeprefix("torch.")
    subject = f"{anatomy.positions.model_type}, {len(anatomy.layers)} layers, {dtype}"
    return SwapReport(subject, tuple(rows), _find_notes(swapped))


def _measure_layer(
    swapped: Swapped, planned: Planned, seen: Recorded, points: np.ndarray
) -> list[Row]:
    number = planned.layer.number
    where, named = f"layer {number}", str(planned.encoding)
    if not planned.is_new:
        return [Row(where, "unchanged, in the model's own code", named, 0.0, 0.0)]
    params = _read_params(swapped, planned)
    rows: list[Row] = []
    if turned := seen.rotations[number]:
        own = planned.in_tables is not None
        pairing = swapped.anatomy.pairing
        made = compare_rotation(turned, planned.in_tables, points, params if own else None, pairing)
        if own or planned.on_logits is None:
            what = "rotated queries and keys" if own else "queries and keys, not rotated"
            rows.append(Row(where, what, named, *made))
    elif planned.in_tables is not None:
        rows.append(Row(where, "its rotation was not seen", named, float("nan"), 0.0))
    if planned.on_logits is not None:
        given = params if planned.on_logits.parameters() else None
        (call,) = seen.attention[number]
        made = compare_attention(call, planned.on_logits, given, points)
        rows.append(Row(where, "output of attention", named, *made))
    return rows


def _read_params(swapped: Swapped, planned: Planned) -> dict[str, np.ndarray] | None:
    """What the encoding of a layer has learned, in float64."""
    if swapped.module is None:
        return None
    params = swapped.module.owner_of(planned.encoding).tensors()
    return {name: x.double().cpu().numpy() for name, x in params.items()} or None


def _logits(out: Any) -> Tensor:
    """The logits, or the last hidden states of a model without a head, in float64."""
    return out[0].double()


def _takes_positions(model: Any) -> bool:
    return "position_ids" in inspect.signature(model.forward).parameters


def _count(start: int, end: int, axes: int, like: Tensor) -> Tensor:
    """Positions of a text, the same on every axis: (axis, 1, seq)."""
    return torch.arange(start, end, device=like.device).expand(axes, 1, -1)


def _decode(model: Any, tokens: Tensor, axes: int | None) -> Tensor:
    """The logits of a text that goes through the model token by token, with a cache."""
    made: list[Tensor] = []
    cache = None
    for i in range(tokens.shape[1]):
        # a model that counts on axes would go on from the last text that it has seen
        where = {} if axes is None else {"position_ids": _count(i, i + 1, axes, tokens)}
        out = model(tokens[:, i : i + 1], past_key_values=cache, use_cache=True, **where)
        cache = out.past_key_values
        made.append(_logits(out))
    return torch.cat(made, dim=1)


def _pad(model: Any, tokens: Tensor, axes: int | None) -> Tensor:
    """The logits of a text with padding on its left."""
    padded = torch.cat([tokens[:, :PADDING], tokens], dim=1)
    mask = torch.ones_like(padded)
    mask[:, :PADDING] = 0
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    if axes is not None:
        positions = positions.expand(axes, -1, -1)
    return _logits(model(padded, attention_mask=mask, position_ids=positions))[:, PADDING:]


def _find_notes(swapped: Swapped) -> tuple[str, ...]:
    """What else there is to know."""
    notes: list[str] = []
    if any(each.in_tables is not None for each in swapped.planned):
        notes.append(f"pairs of channels are those of the model, {swapped.anatomy.pairing}")
    dim = swapped.anatomy.positions.head_dim
    scaling = vars(swapped.planned[0].layer.attention).get("scaling")
    if scaling is not None and dim is not None and abs(scaling * dim**0.5 - 1) > 1e-6:
        notes.append(
            f"the model multiplies its products by {scaling:.6g}, {scaling * dim**0.5:.6g} of "
            f"1 / sqrt({dim}), which stays"
        )
    return tuple(notes)
