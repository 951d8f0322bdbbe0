"""Read the layers of a rotary model: the parameters of each, and the resulting encoding."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.core.rotation import Pairing
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import RoPE
from posenc.i18n import either, translatable
from posenc.interop.conventions import NO_ATTENTION, ROTARY, RotaryConvention
from posenc.interop.fields import MOST_ENTRIES, Fields, disagreement
from posenc.interop.layers import choose_rotating, read_layer_types
from posenc.interop.parameters import Backwards, Parameters
from posenc.layouts import SpaceThenTime
from posenc.scalings import YaRN
from posenc.temperatures import Llama4Temperature, MinistralTemperature, Tempered

BASES = ("rope_theta", "rotary_emb_base", "global_rope_theta", "compress_rope_theta")
LOCAL_BASES = ("rope_local_base_freq", "local_rope_theta", "swa_rope_theta")


def read_rotary(fields: Fields, convention: RotaryConvention) -> tuple[Encoding, ...]:
    """The encoding of each layer."""
    if convention.only_if is not None:
        name, wanted, default = convention.only_if
        if fields.get(name, default=default) != wanted:
            fields.add_note(
                "{name}={value!r}: the model has no rotary encoding",
                name=name,
                value=fields.get(name),
            )
            return (NoPE(),) * fields.layers()
    if convention.required and not any(fields.values.get(name) for name in convention.required):
        raise translatable(
            ValueError,
            "{name} must be in the config of {model_type!r}; it is missing",
            name=either(convention.required),
            model_type=fields.model_type,
        )
    types = read_layer_types(fields, convention)
    fields.parts = tuple(types)
    thetas = fields.per_layer("layer_rope_theta", len(types))
    for theta in thetas or ():
        rules.real("each of layer_rope_theta", 0 if theta is None else theta, least=0)
    rotating = choose_rotating(fields, convention, types)
    built: dict[tuple[Any, ...], Encoding] = {}
    layers: list[Encoding] = []
    for i, kind in enumerate(types):
        theta = thetas[i] if thetas is not None else None
        key = (kind, rotating[i], theta)
        if key not in built:
            rotates = rotating[i] and (thetas is None or theta)
            built[key] = (
                _build_layer(fields, convention, kind, theta)
                if rotates
                else _build_unrotated(fields, convention, kind)
            )
        layers.append(built[key])
    return tuple(layers)


def _build_unrotated(fields: Fields, convention: RotaryConvention, kind: str) -> Encoding:
    """The encoding of a layer without rotation: NoPE, with a temperature in Llama 4."""
    tuned = convention.temperature == "llama4" and kind not in NO_ATTENTION
    if tuned and fields.flag("attn_temperature_tuning", default=True):
        floor_scale = rules.real("floor_scale", fields.get("floor_scale", default=8192))
        scale = rules.real("attn_scale", fields.get("attn_scale", default=0.1))
        return Tempered(NoPE(), Llama4Temperature(floor_scale, scale))
    return NoPE()


def _build_layer(
    fields: Fields, convention: RotaryConvention, kind: str, theta: object
) -> Encoding:
    """The encoding of a layer of this type; `theta` is its own base, where layers list them."""
    local = convention.local_base is not None and "sliding" in kind
    parameters = _read_parameters(fields, convention, kind, local)
    if parameters is None:
        return NoPE()
    base = _read_base(fields, convention, parameters, local) if theta is None else theta
    base = rules.real(
        "layer_rope_theta" if theta is not None else "rope_theta", base, least=1e-6, most=1e18
    )
    dim, rotary_dim, share = _read_widths(fields, convention, parameters, kind, local)
    fields.count_encoding(dim)
    scaling = parameters.scaling(pairs=rotary_dim // 2, share=share)
    if isinstance(scaling, YaRN) and convention.latent and scaling.softmax_factor() != 1.0:
        fields.add_note(
            "the softmax scale is also multiplied by {factor:.4f}, the square of mscale_all_dim's "
            "factor",
            factor=scaling.softmax_factor(),
        )
    sections = parameters.get("mrope_section") or convention.sections
    if sections is not None:
        return _build_mrope(fields, convention, parameters, dim, rotary_dim, base, sections)
    rope = RoPE(
        dim,
        base=base,
        pairing=_read_pairing(fields, convention),
        rotary_dim=rotary_dim,
        rotated=convention.rotated,
        scaling=Backwards() if convention.backwards and scaling is None else scaling,
    )
    return _add_temperature(parameters, convention, rope)


def _add_temperature(
    parameters: Parameters, convention: RotaryConvention, rope: Encoding
) -> Encoding:
    beta = parameters.number("llama_4_scaling_beta")
    length = parameters.original_length()
    if convention.temperature != "ministral" or not beta or length is None:
        return rope
    return Tempered(rope, MinistralTemperature(length, beta))


def _read_pairing(fields: Fields, convention: RotaryConvention) -> Pairing:
    if fields.values.get("rope_interleave") is None:
        return convention.pairing
    return "interleaved" if fields.flag("rope_interleave", default=True) else "halves"


def _read_parameters(
    fields: Fields, convention: RotaryConvention, kind: str, local: bool
) -> Parameters | None:
    """The rope parameters of a layer type: its own, or those of all layers."""
    found = fields.first("rope_parameters", "rope_scaling")
    name, values = found if found is not None else ("rope_parameters", None)
    if values is not None and not isinstance(values, Mapping):
        raise translatable(
            TypeError,
            "{name} must be an object or null; got {name}={values!r}",
            name=name,
            values=values,
        )
    values = values or {}
    if len(values) > MOST_ENTRIES:
        raise translatable(
            ValueError,
            "{name} must have at most {most:,} entries; got {count:,}",
            name=name,
            most=MOST_ENTRIES,
            count=len(values),
        )
    if any(isinstance(value, Mapping) for value in values.values()):
        label = kind
        if kind not in values and {"main", "compress"} <= values.keys():  # DeepSeek-V4
            label = "main" if "sliding" in kind else "compress"
        if label not in values:
            raise translatable(
                ValueError,
                "{name} must have parameters for the layer type {kind!r}",
                name=name,
                kind=kind,
            )
        for key, value in values.items():
            if value is not None and not isinstance(value, Mapping):
                raise translatable(
                    ValueError,
                    "{name} must be flat or have an object for each layer type; "
                    "got {key}={value!r}",
                    name=name,
                    key=key,
                    value=value,
                )
        if values[label] is None:
            return None
        return Parameters(values[label], fields, f"{name}.{label}")
    if local and not convention.local_scaled:
        return Parameters({}, fields, name)
    if not values.keys() - {"rope_theta"} and convention.parameters:
        defaults = dict(convention.parameters)
        fields.note_default(f"{name}.rope_type", defaults["rope_type"])
        return Parameters({**defaults, **values}, fields, name)
    return Parameters(values, fields, name)


def _read_base(
    fields: Fields, convention: RotaryConvention, parameters: Parameters, local: bool
) -> float:
    inner = parameters.get("rope_theta")
    split = fields.model_type == "deepseek_v4"  # its rope_theta is for the local layers
    names = LOCAL_BASES if local else BASES
    if split:
        names = ("rope_theta",) if local else ("compress_rope_theta",)
    outer = fields.first(*names)
    if inner is not None:
        if outer is not None and outer[1] != inner:
            raise disagreement(outer[0], outer[1], f"{parameters.name}.rope_theta", inner)
        return inner
    if outer is not None:
        return outer[1]
    if fields.model_type not in ROTARY:
        raise translatable(
            ValueError,
            "{name} must be in the config of {model_type!r}; it is missing",
            name="rope_theta",
            model_type=fields.model_type,
        )
    base = convention.base if not local or convention.local_base is None else convention.local_base
    if local:
        fields.add_note(
            "base {base:,.10g} is the default of {model} in its local layers; the file does not "
            "set it",
            base=base,
            model=fields.model_type,
        )
    else:
        fields.add_note(
            "base {base:,.10g} is the default of {model}; the file does not set it",
            base=base,
            model=fields.model_type,
        )
    return base


def _read_widths(
    fields: Fields, convention: RotaryConvention, parameters: Parameters, kind: str, local: bool
) -> tuple[int, int, float]:
    """Channels of a head, channels that rotate, and the share for p-RoPE."""
    if convention.latent is not None:
        still = fields.whole("qk_nope_head_dim", default=convention.latent[0])
        rotating = fields.whole("qk_rope_head_dim", default=convention.latent[1])
        return still + rotating, rotating, 1.0
    dim = fields.head_dim(widen=convention.widen)
    if convention.global_head_dim is not None and kind == "full_attention":
        dim = fields.whole("global_head_dim", default=convention.global_head_dim)
    share = _share_or_default(fields, convention, parameters, local)
    if parameters.type == "proportional":
        return dim, dim, share
    rotary_dim = int(dim * share)
    found = fields.first("rotary_dim", "qk_rope_head_dim")
    if found is not None:
        given = rules.dim(*found)
        stated = _read_share(fields, parameters)
        if stated is not None and int(dim * stated[1]) != given:
            raise disagreement(found[0], given, *stated)
        rotary_dim = given
    elif fields.model_type in ("gptj", "codegen") and "rotary_dim" not in fields.values:
        fields.note_default("rotary_dim", rotary_dim := 64)
    return dim, rotary_dim, share


def _read_share(fields: Fields, parameters: Parameters) -> tuple[str, float] | None:
    """The field for the fraction of channels that rotate, with its value, if the file has it."""
    outer = fields.first("partial_rotary_factor", "rotary_pct")
    inner = parameters.get("partial_rotary_factor")
    if outer is not None and inner is not None and outer[1] != inner:
        name = f"{parameters.name}.partial_rotary_factor"
        raise disagreement(outer[0], outer[1], name, inner)
    if inner is not None:
        outer = ("partial_rotary_factor", inner)
    if outer is None:
        return None
    return outer[0], rules.real(outer[0], outer[1], least=0, most=1)


def _share_or_default(
    fields: Fields, convention: RotaryConvention, parameters: Parameters, local: bool
) -> float:
    stated = _read_share(fields, parameters)
    if stated is not None:
        return stated[1]
    share = convention.share
    if local and convention.local_share is not None:
        share = convention.local_share
    if share != 1.0 and fields.first("rotary_dim", "qk_rope_head_dim") is None:
        fields.note_default("partial_rotary_factor", share)
    return share


def _build_mrope(
    fields: Fields,
    convention: RotaryConvention,
    parameters: Parameters,
    dim: int,
    rotary_dim: int,
    base: float,
    sections: object,
) -> Encoding:
    """RoPE over several axes; for text alone they are equal, which makes it plain RoPE."""
    pairs = rotary_dim // 2
    if not isinstance(sections, list | tuple):
        raise translatable(
            TypeError,
            "mrope_section must be a list of whole numbers; got {sections!r}",
            sections=sections,
        )
    for section in sections:
        rules.whole("each of mrope_section", section, least=0)
    if parameters.get("mrope_section") is None:
        fields.note_default("mrope_section", list(sections))
    share = tuple(sections)
    order = convention.section_order
    if parameters.get("mrope_interleaved") or parameters.get("interleaved"):
        order = "interleaved"
    if sum(share) != pairs:
        raise translatable(
            ValueError,
            "mrope_section must add up to the {pairs} pairs; got mrope_section={sections}",
            pairs=pairs,
            sections=list(share),
        )
    if order == "ernie":
        return _build_ernie(dim, base, share, convention)
    rope = AxialRoPE.mrope(
        dim,
        sections=share,
        interleaved=order == "interleaved",
        base=base,
        pairing=convention.pairing,
        rotary_dim=rotary_dim,
        scaling=parameters.scaling(pairs=pairs, share=1.0),
    )
    return replace(rope, rotated=convention.rotated)


def _build_ernie(
    dim: int, base: float, share: tuple[int, ...], convention: RotaryConvention
) -> Encoding:
    """ERNIE 4.5 VL: height and width alternate over the fast pairs, time has the slow ones."""
    if len(share) != 3 or share[0] != share[1]:
        raise translatable(
            ValueError,
            "mrope_section must be [n, n, m] for 'ernie4_5_vl_moe'; got {sections}",
            sections=list(share),
        )
    height, width, time = share
    layout = SpaceThenTime((time, height, width), base=base)
    return AxialRoPE(dim, layout, pairing=convention.pairing)
