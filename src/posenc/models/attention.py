"""Attention with an encoding that acts on logits, as transformers calls it."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from posenc.core.arrays import disable_autocast, host, working
from posenc.core.encoding import unwrap
from posenc.core.inputs import repeat_heads
from posenc.core.logits import logits
from posenc.core.mechanisms import Bias, Scores
from posenc.models.key_positions import find_key_positions
from posenc.models.newest import SharedBias, attend_newest, is_newest
from posenc.torch.attention import attend
from posenc.torch.parameters import EncodingModule

NAME = "posenc"
"""The name under which transformers knows this attention."""
PLACE = "posenc"
"""The attribute of an attention module that says which encoding it has."""
POSITIONS = "posenc_positions"
"""The argument in which positions reach the attention."""
REFUSED = ("position_bias", "cache", "head_mask")
"""Arguments that other attention functions take, and that would be ignored here."""


@dataclass(frozen=True, eq=False)
class InLayer:
    """The encoding of the logits of a layer, and the module that owns what it learns.

    That is no submodule of the attention, so that parameters which layers share are saved once.
    """

    encoding: Bias | Scores
    owner: EncodingModule | None
    shared: SharedBias = field(default_factory=SharedBias)

    def params(self) -> dict[str, Tensor] | None:
        """What the encoding learns; None if that is nothing."""
        return None if self.owner is None else self.owner.tensors() or None


@dataclass(frozen=True, eq=False)
class Call:
    """One call: queries (batch, heads, q, dim), keys and values, and what is asked of them."""

    query: Tensor
    key: Tensor
    value: Tensor
    q_pos: Tensor
    k_pos: Tensor
    mask: Tensor | None
    causal: bool
    scale: float
    layer: InLayer
    softcap: float | None = None
    sinks: Tensor | None = None
    dropout: float = 0.0


def hand_over(_module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Before an attention module runs: unpack its tables and the positions beside them."""
    tables, positions = kwargs["position_embeddings"]
    return args, kwargs | {"position_embeddings": tables, POSITIONS: positions}


def attend_in_model(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    *,
    scaling: float | None = None,
    dropout: float = 0.0,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: Tensor | None = None,
    **others: Any,
) -> tuple[Tensor, None]:
    """An attention function of transformers: the output (batch, q, heads, dim), and no weights.

    The mask has what a model hides, sliding windows included. `softcap` squashes the logits before
    the mask is applied, and `s_aux`, a logit for each head, is a sink that only takes weight.
    """
    for name in REFUSED:
        if others.get(name) is not None:
            raise ValueError(f"{name} must be None for the attention of posenc; got {name}=…")
    if others.get(POSITIONS) is None:
        raise ValueError(
            f"{type(module).__name__} must hand its keyword arguments on to its attention, which "
            "positions come with; got none"
        )
    causal = bool(getattr(module, "is_causal", True) if is_causal is None else is_causal)
    mask, q_pos = attention_mask, others[POSITIONS].to(query.device)
    visible = (
        mask if mask is None or mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min
    )
    if mask is None and causal and query.shape[2] > 1 and not _is_increasing(q_pos):
        mask = visible = _order_mask(query, key)
    windowed = sliding_window is not None
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    layer: InLayer = getattr(module, PLACE)
    plain = softcap is None and s_aux is None and not dropout and visible is mask
    if plain and is_newest(layer.encoding, query, mask):
        assert isinstance(layer.encoding, Bias)
        of = (layer.encoding, layer.owner, q_pos, key.shape[2], mask)
        bias = layer.shared.find(*of, windowed=windowed)
        return attend_newest(query, key, value, bias, scale=scale).transpose(1, 2), None
    k_pos = find_key_positions(q_pos, key.shape[2], visible, windowed=windowed)
    is_scores = isinstance(unwrap(layer.encoding), Scores)
    if is_scores and abs(scale * query.shape[-1] ** 0.5 - 1) > 1e-6:
        raise ValueError(
            f"scaling must be 1 / sqrt({query.shape[-1]}) for an encoding that makes the logits "
            f"itself; got scaling={scale}"
        )
    call = Call(query, key, value, q_pos, k_pos, mask, causal, scale, layer)
    if plain:
        return _attend(call).transpose(1, 2).contiguous(), None
    call = replace(call, softcap=softcap, sinks=s_aux, dropout=dropout)
    return _attend_written_out(call).transpose(1, 2).contiguous(), None


def _is_increasing(positions: Tensor) -> bool:
    """Whether order in the text is that of positions, so far as the host can see."""
    values = host(positions)
    return values is not None and bool((values[..., 1:] > values[..., :-1]).all())


def _order_mask(query: Tensor, key: Tensor) -> Tensor:
    """What comes no later in the text: (1, 1, q, k)."""
    seen = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device)
    return seen.tril()[None, None]


def _attend(call: Call) -> Tensor:
    """By the fastest form of `attend`."""
    encoding = call.layer.encoding
    is_scores = isinstance(unwrap(encoding), Scores)
    return attend(
        call.query,
        call.key,
        call.value,
        encoding=encoding,
        params=call.layer.params(),
        q_pos=call.q_pos,
        k_pos=call.k_pos,
        causal=encoding.causal_only or (call.causal and call.mask is None),
        mask=call.mask,
        scale=None if is_scores else call.scale,
    )


def _attend_written_out(call: Call) -> Tensor:
    """softmax(squashed logits + mask) v, step by step, in float32 at least."""
    wide = working(torch, call.query.dtype)
    q, k, v = (x.to(wide) for x in (call.query, call.key, call.value))
    k, v = repeat_heads("k", k, q), repeat_heads("v", v, q)
    encoding, params = call.layer.encoding, call.layer.params()
    if not isinstance(unwrap(encoding), Scores):
        q = q * (call.scale * (math.sqrt(q.shape[-1]) if encoding.scaled else 1.0))
    with disable_autocast(q):
        made = logits(encoding, q, k, call.q_pos, call.k_pos, params)
        if call.softcap is not None:
            made = call.softcap * torch.tanh(made / call.softcap)
        mask = call.mask
        if mask is None and call.causal and q.shape[2] > 1:
            mask = _order_mask(q, k)
        if mask is not None:
            made = made.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else made + mask
        if call.sinks is not None:
            sink = call.sinks.to(wide)[None, :, None, None].expand(*made.shape[:3], 1)
            weights = torch.cat([made, sink], dim=-1).softmax(-1)[..., :-1]
        else:
            weights = made.softmax(-1)
        weights = weights.masked_fill(made == -math.inf, 0.0)  # 0, too, of a query that sees none
        weights = nn.functional.dropout(weights, call.dropout)
        if isinstance(encoding, Scores):
            out = encoding.mix(weights, v, call.q_pos, call.k_pos, params)
        else:
            out = weights @ v
    return out.to(call.query.dtype)
