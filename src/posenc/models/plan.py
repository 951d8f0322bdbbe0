"""Which encoding goes into which layer of a model, or why it cannot."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from posenc.core.encoding import Encoding, suggest_making, unwrap
from posenc.core.mechanisms import Additive, Bias, Rotary, Scores, Unbiased
from posenc.interop.model import ModelPositions
from posenc.models.anatomy import Anatomy, Layer
from posenc.models.layout import takes_layer_type
from posenc.torch.given import keep_wrappers
from posenc.torch.parameters import draw_params

Encodings = Encoding | Sequence[Encoding] | ModelPositions


@dataclass(frozen=True, eq=False)
class Planned:
    """What a layer is to have.

    encoding    the whole of it, as given
    is_new      False: the layer does not rotate and keeps what it has
    in_tables   the rotation that goes into tables; None: they turn nothing
    on_logits   what acts on logits; None: nothing
    """

    layer: Layer
    encoding: Encoding
    is_new: bool
    in_tables: Rotary | None
    on_logits: Bias | Scores | None


def plan_layers(anatomy: Anatomy, encodings: Encodings) -> tuple[Planned, ...]:
    """What each layer is to have, once it is known that it can."""
    chosen = _list_encodings(anatomy, encodings)
    planned = tuple(_plan(anatomy, layer, chosen[layer.number]) for layer in anatomy.layers)
    _require_one_table(anatomy, planned)
    return planned


def _list_encodings(anatomy: Anatomy, encodings: Encodings) -> Sequence[Encoding | None]:
    """The encoding for each layer; None: it keeps what it has."""
    own = anatomy.positions.layers
    if isinstance(encodings, Encoding):
        if not isinstance(unwrap(encodings), Rotary):
            return [encodings] * len(own)
        return [encodings if isinstance(unwrap(each), Rotary) else None for each in own]
    listed = encodings.layers if isinstance(encodings, ModelPositions) else encodings
    several = isinstance(listed, Sequence) and not isinstance(listed, str)
    parts = listed if several else [listed]
    wrong = [part for part in parts if not isinstance(part, Encoding)]
    if wrong:
        raise TypeError(
            "encoding must be an Encoding, a list with one for each layer, or what read_config "
            f"returns; got {encodings!r}{suggest_making(wrong[0])}"
        )
    if len(listed) != len(own):
        raise ValueError(
            f"encoding must be one, or one for each of {len(own)} layers; got {len(listed)}"
        )
    return [
        None if given == each and not isinstance(unwrap(each), Rotary) else given
        for given, each in zip(listed, own, strict=True)
    ]


def _plan(anatomy: Anatomy, layer: Layer, encoding: Encoding | None) -> Planned:
    own = anatomy.encoding_of(layer)
    if encoding is None:
        return Planned(layer, own, False, None, None)
    inner = unwrap(encoding)
    if own.temperature is not None and encoding.temperature != own.temperature:
        raise ValueError(
            f"encoding must have the temperature of layer {layer.number}, {own.temperature}, which "
            f"the code of {anatomy.positions.model_type} applies; got {encoding}"
        )
    tempered = encoding.temperature is not None and own.temperature is None
    if isinstance(inner, Rotary):
        _check_rotary(anatomy, layer, inner)
        if tempered:
            _require_interface(anatomy, layer, encoding)
        return Planned(layer, encoding, True, inner, keep_wrappers(encoding) if tempered else None)
    acting = encoding if tempered else inner
    if isinstance(inner, Unbiased) and not tempered:
        return Planned(layer, encoding, True, None, None)
    _check_logits(anatomy, layer, encoding, inner)
    assert isinstance(acting, Bias | Scores)
    return Planned(layer, encoding, True, None, acting)


def _check_rotary(anatomy: Anatomy, layer: Layer, rotary: Rotary) -> None:
    """Whether a rotation fits into the tables of a layer."""
    name, kind = type(rotary).__name__, anatomy.positions.model_type
    if not isinstance(unwrap(anatomy.encoding_of(layer)), Rotary):
        raise ValueError(
            f"encoding must not rotate in layer {layer.number}, where {kind} does not; got {name}"
        )
    if not rotary.fits_any_length:
        raise ValueError(
            "encoding must not depend on the length of the text, since a model caches rotated "
            f"keys: settle it with encoding.at(length); got {rotary}"
        )
    if type(rotary).key_cos_sin is not Rotary.key_cos_sin:
        raise ValueError(
            "encoding must rotate keys as it rotates queries, since a model has one table for "
            f"both; got {name}"
        )
    _refuse_needs(rotary)
    layout = anatomy.layout_of(layer)
    if rotary.axes != layout.axes:
        raise ValueError(
            f"encoding must have axes={layout.axes}, as the positions of {kind} do; got {name} "
            f"with axes={rotary.axes}"
        )
    if anatomy.name is None and rotary.parameters():
        raise ValueError(
            f"encoding must not learn where {kind} stores its table of cosines and sines; "
            f"got {name}"
        )
    origin = torch.zeros((1,) if rotary.axes is None else (1, rotary.axes), dtype=torch.int64)
    drawn = {key: torch.from_numpy(x) for key, x in draw_params(rotary).items()}
    pairs = rotary.cos_sin(origin, *([drawn] if drawn else []))[0].shape[-1]
    if pairs != layout.pairs:
        raise ValueError(
            f"encoding must turn {layout.pairs} pairs of channels, as the heads of {kind} do "
            f"({2 * layout.pairs} of {anatomy.positions.head_dim} channels); got {rotary}, which "
            f"turns {pairs}"
        )


def _check_logits(anatomy: Anatomy, layer: Layer, encoding: Encoding, inner: Encoding) -> None:
    """Whether an encoding can act on the logits of a layer."""
    name, kind = type(inner).__name__, anatomy.positions.model_type
    if not isinstance(inner, Bias | Scores):
        added = ", which is added to the embeddings" if isinstance(inner, Additive) else ""
        raise TypeError(f"encoding must be Rotary, Bias or Scores; got {name}{added}")
    _require_interface(anatomy, layer, inner)
    _refuse_needs(inner)
    attention: Any = layer.attention
    if encoding.causal_only and not getattr(attention, "is_causal", True):
        hint = f" ({encoding.two_sided_hint})" if encoding.two_sided_hint else ""
        raise ValueError(
            f"encoding must look both ways{hint}, since {kind} is an encoder; got {name}"
        )
    heads, dim = anatomy.positions.heads, anatomy.positions.head_dim
    if inner.heads not in (None, heads) or inner.dim not in (None, dim):
        raise ValueError(f"encoding must be for {heads} heads of {dim} channels; got {inner}")
    scaling = vars(attention).get("scaling")
    usual = dim is None or scaling is None or abs(scaling * dim**0.5 - 1) < 1e-6
    if isinstance(inner, Scores) and not usual:
        raise ValueError(
            f"encoding must be a rotation or a bias where products are not divided by sqrt({dim}): "
            f"{kind} multiplies them by {scaling:.6g}; got {name}, which computes them itself"
        )


def _require_interface(anatomy: Anatomy, layer: Layer, encoding: Encoding) -> None:
    """Whether the logits of a layer can be reached, and its positions with them."""
    name, kind = type(encoding).__name__, anatomy.positions.model_type
    if anatomy.name is None or not anatomy.owner._can_set_attn_implementation():
        raise ValueError(
            "encoding must be no more than a rotation where a model computes attention in its own "
            f"code, not through transformers' AttentionInterface, as {kind} does; got {name}"
        )
    if anatomy.layout_of(layer).axes is not None:
        raise ValueError(
            "encoding must be no more than a rotation where positions have several axes, as in "
            f"{kind}: they do not say where the keys of a cache are; got {name}"
        )


def _refuse_needs(encoding: Encoding) -> None:
    if "features" in encoding.needs:
        raise ValueError(
            "encoding must not need features, the hidden states of tokens, which attention in a "
            f"model is not given; got {type(encoding).__name__}"
        )


def _require_one_table(anatomy: Anatomy, planned: Sequence[Planned]) -> None:
    """Layers that share a table must be turned alike."""
    typed = anatomy.name is not None and takes_layer_type(anatomy.rotary)
    first: dict[str | None, Planned] = {}
    for each in planned:
        if not each.is_new:
            continue
        key = each.layer.layer_type if typed else None
        other = first.setdefault(key, each)
        if other.in_tables != each.in_tables:
            raise ValueError(
                f"encoding must turn layers {other.layer.number} and {each.layer.number} alike, "
                f"since {anatomy.positions.model_type} has one table for both; "
                f"got {other.encoding} and {each.encoding}"
            )
