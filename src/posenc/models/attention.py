"""Attention with an encoding that acts on logits, as transformers calls it."""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from posenc.core.arrays import host
from posenc.core.encoding import unwrap
from posenc.core.mechanisms import Bias, Scores
from posenc.models.key_positions import find_key_positions
from posenc.models.newest import SharedBias, attend_newest, is_newest
from posenc.torch.attention.attend import attend
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

    The mask has what a model hides, sliding windows included. `softcap` squashes products before a
    bias and the mask are added; `s_aux`, a logit of each head, is a sink that only takes weight.
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
    q_pos, scale = others[POSITIONS].to(query.device), scaling or query.shape[-1] ** -0.5
    mask = attention_mask
    if mask is None and causal and query.shape[2] > 1 and not _is_increasing(q_pos):
        mask = _order_mask(query, key)
    windowed = sliding_window is not None
    layer: InLayer = getattr(module, PLACE)
    encoding = layer.encoding
    if softcap is None and s_aux is None and not dropout and is_newest(encoding, query, mask):
        assert isinstance(encoding, Bias)
        of = (encoding, layer.owner, q_pos, key.shape[2], mask)
        bias = layer.shared.find(*of, windowed=windowed)
        return attend_newest(query, key, value, bias, scale=scale).transpose(1, 2), None
    seen, mask = _read_mask(mask)
    is_scores = isinstance(unwrap(encoding), Scores)
    if is_scores and abs(scale * query.shape[-1] ** 0.5 - 1) > 1e-6:
        raise ValueError(
            f"scaling must be 1 / sqrt({query.shape[-1]}) for an encoding that makes the logits "
            f"itself; got scaling={scale}"
        )
    out = attend(
        query,
        key,
        value,
        encoding=encoding,
        params=layer.params(),
        q_pos=q_pos,
        k_pos=find_key_positions(q_pos, key.shape[2], seen, windowed=windowed),
        causal=encoding.causal_only or (causal and mask is None),
        mask=mask,
        scale=None if is_scores else scale,
        softcap=softcap,
        sinks=s_aux,
        dropout=dropout,
    )
    return out.transpose(1, 2).contiguous(), None


def _read_mask(mask: Tensor | None) -> tuple[Tensor, Tensor] | tuple[None, None]:
    """What is seen, of bool, and a mask for `attend`: transformers hides by the least number."""
    if mask is None or mask.dtype == torch.bool:
        return (None, None) if mask is None else (mask, mask)
    seen = mask > torch.finfo(mask.dtype).min
    return seen, torch.where(seen, mask, -math.inf)


def _is_increasing(positions: Tensor) -> bool:
    """Whether order in the text is that of positions, so far as the host can see."""
    values = host(positions)
    return values is not None and bool((values[..., 1:] > values[..., :-1]).all())


def _order_mask(query: Tensor, key: Tensor) -> Tensor:
    """What comes no later in the text: (1, 1, q, k)."""
    seen = torch.ones(query.shape[2], key.shape[2], dtype=torch.bool, device=query.device)
    return seen.tril()[None, None]
