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
from posenc.i18n import N_, either, translatable
from posenc.interop.conventions import NO_ATTENTION, ROTARY, RotaryConvention
from posenc.interop.fields import (
    MOST_ENTRIES,
    Fields,
    disagreement,
    require_agreement,
    require_few,
    shorten,
)
from posenc.interop.layers import choose_rotating, read_layer_types
from posenc.interop.parameters import Backwards, Parameters
from posenc.layouts import SpaceThenTime
from posenc.scalings import YaRN
from posenc.temperatures import (
    Llama4Temperature,
    MinistralTemperature,
    PowerTemperature,
    Tempered,
)

BASES = (
    *("rope_theta", "rotary_emb_base", "global_rope_theta", "compress_rope_theta"),
    "attn_config.rope_theta",  # DBRX
)
LOCAL_BASES = ("rope_local_base_freq", "local_rope_theta", "swa_rope_theta")
MOST_AXES = 8
"""Limit on the axes of M-RoPE, each of which has tables; models have three or four."""
WIDTHS = ("rotary_dim", "qk_rope_head_dim", "attn_rotary_emb")
SHARES = (
    *("partial_rotary_factor", "rotary_pct", "rope_pct", "rope_percent", "rotary_emb_fraction"),
)


def read_rotary(fields: Fields, convention: RotaryConvention) -> tuple[Encoding, ...]:
    """The encoding of each layer."""
    if convention.only_if is not None:
        name, wanted = convention.only_if
        if (value := fields.get(name)) != wanted:
            template = N_("{name}={value!r}: the model has no rotary encoding")
            fields.add_note(template, name=name, value=value)
            return (NoPE(),) * fields.layers()
    if convention.required and not any(fields.values.get(name) for name in convention.required):
        raise fields.missing(either(convention.required))
    _note_doubts(fields)
    types = read_layer_types(fields, convention)
    fields.parts = tuple(types)
    thetas = fields.per_layer("layer_rope_theta", len(types))
    for theta in thetas or ():
        rules.real("each of layer_rope_theta", 0 if theta is None else theta, least=0)
    rotating = choose_rotating(fields, convention, types)
    if thetas is not None:
        rotating = [
            rotates and bool(theta) for rotates, theta in zip(rotating, thetas, strict=True)
        ]
    built: dict[tuple[object, ...], Encoding] = {}
    keys = list(zip(types, rotating, thetas or [None] * len(types), strict=True))
    for kind, rotates, theta in dict.fromkeys(keys):
        layer = LayerReader(fields, convention, kind)
        built[kind, rotates, theta] = layer.read(theta) if rotates else layer.read_unrotated()
    return tuple(built[key] for key in keys)


def is_plain(fields: Fields) -> bool:
    """Whether a file turns off the latent attention that it has fields for (DeepSeek-VL2)."""
    widths = [fields.values.get(name) for name in ("qk_nope_head_dim", "qk_rope_head_dim")]
    return fields.values.get("use_mla") is False or widths == [0, 0]


def drop_latent(fields: Fields, convention: RotaryConvention) -> RotaryConvention:
    """The convention of a model type, or that of its attention without latents."""
    if not is_plain(fields):
        return convention
    fields.values = {name: v for name, v in fields.values.items() if name != "qk_rope_head_dim"}
    if convention.latent is None:
        return convention
    fields.add_note(
        "use_mla is false or the latent widths are 0: its attention is plain and pairs halves, as "
        "in vLLM"
    )
    return replace(convention, latent=None, rotated="leading", pairing="halves")


def _note_doubts(fields: Fields) -> None:
    """Say where public code or measurements disagree about a model type."""
    if fields.model_type == "hy_v4":
        fields.add_note(
            "transformers pairs hy_v4 by halves, which is read here; a public report "
            "(WestWaters/pollard-weights#70) measures interleaved as right: compare both"
        )
    if fields.model_type == "minimax" and fields.values.get("rotary_dim") is not None:
        fields.add_note(
            "rotary_dim is read, as in vLLM and llama.cpp; transformers 5.22.2 ignores it in "
            "minimax and rotates every channel"
        )


class LayerReader:
    """Reads the encoding of the layers of one type."""

    def __init__(self, fields: Fields, convention: RotaryConvention, kind: str) -> None:
        self.fields = fields
        self.convention = convention
        self.kind = kind
        self.local = convention.local_base is not None and "sliding" in kind

    def read_unrotated(self) -> Encoding:
        """The encoding of a layer without rotation: NoPE, with a temperature in some models."""
        if self.kind in NO_ATTENTION:
            return NoPE()
        if self.convention.temperature == "beam":
            return Tempered(NoPE(), PowerTemperature())
        if self.convention.temperature == "llama4" and self._is_tuned():
            floor_scale = rules.real("floor_scale", self.fields.get("floor_scale", default=8192))
            scale = rules.real("attn_scale", self.fields.get("attn_scale", default=0.1))
            return Tempered(NoPE(), Llama4Temperature(floor_scale, scale))
        return NoPE()

    def _is_tuned(self) -> bool:
        """Whether queries of Llama 4 have a temperature; Scout's file has 4 for true."""
        name = "attn_temperature_tuning"
        value = self.fields.get(name, default=True)
        return value if isinstance(value, bool) else rules.whole(name, value, least=0) > 0

    def _require_no_ratio(self) -> None:
        """Refuse the rope_ratio of ChatGLM, which has two meanings under one model type."""
        if (ratio := self.fields.get("rope_ratio", default=1)) != 1:
            template = N_(
                "rope_ratio must be 1, since the file does not say whether positions are divided "
                "by it, as in ChatGLM2 (RoPE(…, scaling=Interpolation({ratio!r}))), or the base "
                "is multiplied, as in ChatGLM3 and GLM-4; got rope_ratio={ratio!r}"
            )
            raise translatable(ValueError, template, ratio=ratio)

    def read(self, theta: object) -> Encoding:
        """The encoding of a layer that rotates; `theta` is its own base, where layers list them."""
        convention = self.convention
        parameters = self._read_parameters()
        if parameters is None:
            return self.read_unrotated()
        base = self._read_base(parameters) if theta is None else theta
        self._require_no_ratio()
        name = "rope_theta" if theta is None else "layer_rope_theta"
        base = rules.real(name, base, least=1e-6, most=1e18)
        dim, rotary_dim, share = self._read_widths(parameters)
        self.fields.count_encoding(dim)
        scaling = parameters.scaling(pairs=rotary_dim // 2, share=share)
        if isinstance(scaling, YaRN) and convention.latent and scaling.softmax_factor() != 1.0:
            template = N_(
                "the softmax scale is also multiplied by {factor:.4f}, the square of "
                "mscale_all_dim's factor"
            )
            self.fields.add_note(template, factor=scaling.softmax_factor())
        sections = parameters.get("mrope_section") or convention.sections
        if sections is not None:
            return self._build_mrope(parameters, dim, rotary_dim, base, sections)
        rope = RoPE(
            dim,
            base=base,
            pairing=read_pairing(self.fields, self.convention),
            rotary_dim=rotary_dim,
            rotated=convention.rotated,
            scaling=Backwards() if convention.backwards and scaling is None else scaling,
        )
        beta, length = parameters.number("llama_4_scaling_beta"), parameters.original_length()
        if convention.temperature != "ministral" or not beta or length is None:
            return rope
        return Tempered(rope, MinistralTemperature(length, beta))

    def _read_parameters(self) -> Parameters | None:
        """The rope parameters of the layer type: its own, or those of all layers."""
        found = self.fields.first("rope_parameters", "rope_scaling")
        name, values = found or ("rope_parameters", {})
        if not isinstance(values, Mapping):
            template = N_("{name} must be an object or null; got {name}={values!r}")
            raise translatable(TypeError, template, name=name, values=values)
        require_few(name, values, MOST_ENTRIES)
        if any(isinstance(value, Mapping) for value in values.values()):
            return self._select_parameters(name, values)
        if self.local and not self.convention.local_scaled:
            values = {}
        elif self.convention.parameters and not values.keys() - {"rope_theta"}:
            values = {**self.convention.parameters, **values}
            self.fields.note_default(f"{name}.rope_type", values["rope_type"])
        return Parameters(values, self.fields, name)

    def _select_parameters(self, name: str, values: Mapping[str, Any]) -> Parameters | None:
        """The layer type's own parameters, of those by type; None if they are null."""
        label = self.kind
        if label not in values and {"main", "compress"} <= values.keys():  # DeepSeek-V4
            label = "main" if "sliding" in label else "compress"
        if label not in values:
            template = N_("{name} must have parameters for the layer type {kind!r}")
            raise translatable(ValueError, template, name=name, kind=self.kind)
        for key, value in values.items():
            if value is not None and not isinstance(value, Mapping):
                template = N_(
                    "{name} must be flat or have an object for each layer type; got {key}={value!r}"
                )
                raise translatable(ValueError, template, name=name, key=key, value=value)
        own = values[label]
        return None if own is None else Parameters(own, self.fields, f"{name}.{label}")

    def _read_base(self, parameters: Parameters) -> object:
        fields, convention = self.fields, self.convention
        names = LOCAL_BASES if self.local else BASES
        if fields.model_type == "deepseek_v4":  # its rope_theta is for the local layers
            names = ("rope_theta",) if self.local else ("compress_rope_theta",)
        outer, inner = fields.first(*names), parameters.get("rope_theta")
        if inner is not None:
            if outer is not None:
                require_agreement(outer, (f"{parameters.name}.rope_theta", inner))
            return inner
        if outer is not None:
            return outer[1]
        if fields.model_type not in ROTARY:
            raise fields.missing("rope_theta")
        base = convention.local_base if self.local else convention.base
        template = N_("base {base:,.10g} is the default of {model}; the file does not set it")
        if self.local:
            template = N_(
                "base {base:,.10g} is the default of {model} in its local layers; the file does "
                "not set it"
            )
        fields.add_note(template, base=base, model=fields.model_type)
        return base

    def _read_widths(self, parameters: Parameters) -> tuple[int, int, float]:
        """Channels of a head, channels that rotate, and the share for p-RoPE."""
        fields, convention = self.fields, self.convention
        if convention.latent is not None:
            still = fields.whole("qk_nope_head_dim", default=convention.latent[0])
            rotating = fields.whole("qk_rope_head_dim", default=convention.latent[1])
            return still + rotating, rotating, 1.0
        dim = fields.head_dim(widen=convention.widen)
        if convention.global_head_dim is not None and self.kind == "full_attention":
            dim = self._read_global_head_dim(convention.global_head_dim)
        stated, share = self._read_share(parameters), convention.share
        if stated is not None:
            share = stated[1]
        elif self.local and convention.local_share is not None:
            share = convention.local_share
        if stated is None and share != 1.0 and fields.first(*WIDTHS) is None:
            fields.note_default("partial_rotary_factor", share)
        if parameters.type == "proportional":
            return dim, dim, share
        rotary_dim, found = int(dim * share), fields.first(*WIDTHS)
        if found is not None:
            given = rules.dim(*found)
            if stated is not None and rotary_dim != given:
                raise disagreement((found[0], given), stated)
            rotary_dim = given
        elif convention.rotary_dim is not None and "rotary_dim" not in fields.values:
            fields.note_default("rotary_dim", rotary_dim := convention.rotary_dim)
        return dim, rotary_dim, share

    def _read_global_head_dim(self, default: int) -> int:
        """Channels of a head in the global layers; transformers 5 writes them layer by layer."""
        name, listed = "per_layer_config", self.fields.values.get("per_layer_config")
        if not listed:
            most = rules.MOST_CHANNELS
            return self.fields.whole("global_head_dim", default=default, most=most)
        entries = list(listed.values()) if isinstance(listed, Mapping) else []
        dims = [entry.get("head_dim") for entry in entries if isinstance(entry, Mapping)]
        if (
            len(entries) > MOST_ENTRIES
            or len(dims) < len(entries)
            or any(d != dims[0] for d in dims)
        ):
            template = N_(
                "{name} must have the same head_dim in each global layer; got {name}={value}"
            )
            value = shorten(repr(listed), 80)
            raise translatable(ValueError, template, name=name, value=value)
        if not dims or dims[0] is None:
            return self.fields.head_dim()
        return rules.whole(f"{name}.head_dim", dims[0], least=1, most=rules.MOST_CHANNELS)

    def _read_share(self, parameters: Parameters) -> tuple[str, float] | None:
        """The field for the fraction of channels that rotate, with its value, if there is one."""
        name = "partial_rotary_factor"
        found, inner = self.fields.first(*SHARES), parameters.get(name)
        if inner is not None:
            if found is not None:
                require_agreement(found, (f"{parameters.name}.{name}", inner))
            found = (name, inner)
        return None if found is None else (found[0], rules.real(*found, least=0, most=1))

    def _build_mrope(
        self, parameters: Parameters, dim: int, rotary_dim: int, base: float, sections: object
    ) -> Encoding:
        """RoPE over several axes; for text alone they are equal, which makes it plain RoPE."""
        convention, pairs = self.convention, rotary_dim // 2
        if not isinstance(sections, list | tuple):
            template = N_("mrope_section must be a list of whole numbers; got {sections!r}")
            raise translatable(TypeError, template, sections=sections)
        require_few("mrope_section", sections, MOST_AXES)
        for section in sections:
            rules.whole("each of mrope_section", section, least=0)
        if parameters.get("mrope_section") is None:
            self.fields.note_default("mrope_section", list(sections))
        if sum(sections) != pairs:
            template = N_(
                "mrope_section must add up to the {pairs} pairs; got mrope_section={sections}"
            )
            raise translatable(ValueError, template, pairs=pairs, sections=list(sections))
        order = convention.section_order
        if parameters.get("mrope_interleaved") or parameters.get("interleaved"):
            order = "interleaved"
        if order == "ernie":
            return _build_ernie(dim, base, tuple(sections), convention.pairing)
        rope = AxialRoPE.mrope(
            dim,
            sections=tuple(sections),
            interleaved=order == "interleaved",
            base=base,
            pairing=convention.pairing,
            rotary_dim=rotary_dim,
            scaling=parameters.scaling(pairs=pairs, share=1.0),
        )
        return replace(rope, rotated=convention.rotated)


def _build_ernie(dim: int, base: float, sections: tuple[int, ...], pairing: Pairing) -> Encoding:
    """ERNIE 4.5 VL: height and width alternate over the fast pairs, time has the slow ones."""
    if len(sections) != 3 or sections[0] != sections[1]:
        template = N_("mrope_section must be [n, n, m] for 'ernie4_5_vl_moe'; got {sections}")
        raise translatable(ValueError, template, sections=list(sections))
    height, width, time = sections
    return AxialRoPE(dim, SpaceThenTime((time, height, width), base=base), pairing=pairing)


def read_pairing(fields: Fields, convention: RotaryConvention) -> Pairing:
    """The pairing that the file states, or that of the model type."""
    if fields.values.get("rope_interleave") is None:
        return convention.pairing
    return "interleaved" if fields.flag("rope_interleave", default=True) else "halves"
