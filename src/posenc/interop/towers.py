"""Towers for images and video, which rotate by the axes of patches."""

from collections.abc import Mapping

from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.encodings.axial import AxialRoPE
from posenc.i18n import N_, translatable
from posenc.interop.conventions import TowerConvention
from posenc.interop.fields import HEAD_DIM, LAYERS, MOST_LAYERS, Fields, require_agreement

TYPES = ("axial", "default")
"""The rope_types of a tower, which mean the same: none scales the frequencies."""


def read_tower(fields: Fields, convention: TowerConvention) -> tuple[Encoding, ...]:
    """The rotation of each layer of a tower.

    >>> from posenc.interop.conventions import TOWERS
    >>> fields = Fields({"depth": 2, "embed_dim": 64, "num_heads": 4}, "qwen2_vl_vision")
    >>> read_tower(fields, TOWERS["qwen2_vl_vision"])[0]
    AxialRoPE(16, Split(), pairing='halves')
    """
    layers = fields.whole(*LAYERS, "depth", default=fields.sizes.layers, most=MOST_LAYERS)
    dim = _read_head_dim(fields, convention)
    fields.count_encoding(dim)
    base = rules.real("rope_theta", _read_base(fields, convention), least=1, most=1e18)
    return (_build(fields, convention, dim, base),) * layers


def _build(fields: Fields, convention: TowerConvention, dim: int, base: float) -> Encoding:
    match convention.layout:
        case "centres":
            fields.add_note(
                "positions are the rows and columns of the centres of patches, from -1 to 1; class "
                "and register tokens do not rotate"
            )
            return AxialRoPE.dinov3(dim, base=base)
        case "even, odd":
            fields.add_note("positions are the rows and columns of patches: grid(height, width)")
            return AxialRoPE.pixtral(dim, base=base)
        case "time, rows, columns":
            fields.add_note("positions are the times, rows and columns of patches")
            shares = (dim // 6,) * 3  # the channels that are left over do not rotate
            return AxialRoPE.split(dim, axes=3, base=base, pairing="halves", shares=shares)
        case _:
            fields.add_note("positions are the rows and columns of patches: grid(height, width)")
            return AxialRoPE.qwen2_vl_vision(dim, base=base)


def _read_head_dim(fields: Fields, convention: TowerConvention) -> int:
    if fields.first(*HEAD_DIM) is not None or fields.sizes.head_dim:
        return fields.head_dim()
    most, heads = rules.MOST_CHANNELS, fields.heads()
    width = fields.whole(*convention.dim, default=fields.sizes.hidden, most=most)
    if width % heads:
        template = N_(
            "{name} must be a multiple of the number of heads; got {name}={width}, heads={heads}"
        )
        raise translatable(ValueError, template, name=convention.dim[0], width=width, heads=heads)
    return width // heads


def _read_base(fields: Fields, convention: TowerConvention) -> object:
    """rope_theta, in the object of transformers 5 or beside it; transformers 4 often had none."""
    parameters = fields.get("rope_parameters", "rope_scaling", default={})
    if not isinstance(parameters, Mapping):
        template = N_("{name} must be an object or null; got {name}={values!r}")
        raise translatable(TypeError, template, name="rope_parameters", values=parameters)
    if (kind := parameters.get("rope_type", "axial")) not in TYPES:
        template = N_("{name}.{key} must be one of {known}; got {key}={value!r}")
        named = {"name": "rope_parameters", "key": "rope_type", "known": ", ".join(TYPES)}
        raise translatable(ValueError, template, value=kind, **named)
    outer, inner = fields.first("rope_theta"), parameters.get("rope_theta")
    if outer is not None and inner is not None:
        require_agreement(outer, ("rope_parameters.rope_theta", inner))
    base = inner if outer is None else outer[1]
    if base is None:
        template = N_("base {base:,.10g} is the default of {model}; the file does not set it")
        fields.add_note(template, base=convention.base, model=fields.model_type)
    return convention.base if base is None else base
