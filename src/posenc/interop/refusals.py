"""Refuse what is not read: model types by what they have, and fields that would be ignored."""

from collections.abc import Iterator, Mapping

from posenc.i18n import N_, phrase, translatable
from posenc.interop.clues import ABOUT_POSITIONS, refuse_without_type
from posenc.interop.conventions import (
    ABSOLUTE,
    READ_FIELDS,
    REFUSED,
    ROTARY,
    SWITCHES,
    RotaryConvention,
)
from posenc.interop.fields import Fields, shorten
from posenc.interop.rotary import LOCAL_BASES, is_plain

__all__ = ["LATENT", "REFUSED", "refuse_unknown", "refuse_unread"]

LATENT = ("qk_nope_head_dim", "kv_lora_rank")
"""Fields of multi-head latent attention, in which only the last channels of a head rotate."""
MORE = {
    "patch_size": N_("patches of an image have two axes"),
    "image_size": N_("patches of an image have two axes"),
    "no_rope_layers": N_("some layers do not rotate"),
    "no_rope_layer_interval": N_("some layers do not rotate"),
    "position_encoding_2d": N_("tokens have two positions"),
}
"""Fields of an unknown model that say more than RoPE does."""


def refuse_unknown(name: str | None, values: Mapping[str, object]) -> Exception:
    """The error for a model type that is not read: what it has, or what its file points to.

    >>> refuse_unknown("mamba", {})
    ValueError('mamba has no attention and therefore no positions')
    """
    if name is None or name not in REFUSED:
        return refuse_without_type(name, values, {*ROTARY, *ABSOLUTE})
    objects = [key for key, value in values.items() if isinstance(value, Mapping) and value]
    parts = [key for key in objects if key.endswith(("config", "coder", "head"))]
    listed = shorten(", ".join(parts[:8])) or phrase("its sub-configs")
    return translatable(ValueError, REFUSED[name], model=name, parts=listed)


def refuse_unread(fields: Fields, convention: RotaryConvention) -> None:
    """Refuse fields that are about positions and would be ignored, or that contradict RoPE."""
    if fields.model_type not in ROTARY:
        _refuse_more(fields)
    if fields.model_type == "qwen":
        _refuse_growth(fields)
    if fields.values.get("position_encoding_2d"):
        template = N_(
            "position_encoding_2d must be false: the first ChatGLM rotates each half of a head by "
            "a position of its own, which is not read; got position_encoding_2d=True"
        )
        raise translatable(ValueError, template)
    for name in _find_foreign(fields, convention):
        raise _unknown_field(fields, name)
    for name, value in fields.values.items():
        if value is None or not ABOUT_POSITIONS.search(name) or name in READ_FIELDS:
            continue
        if name in SWITCHES:
            wanted = SWITCHES[name]
            if value != wanted or isinstance(value, bool) != isinstance(wanted, bool):
                raise _contradiction(fields, name, value)
        elif name not in OWN_FIELDS.get(fields.model_type, ()):
            raise _unknown_field(fields, name)
    if fields.get("alibi"):
        raise _contradiction(fields, "alibi", True)
    kind = fields.get("position_embedding_type", "position_embeddings_type")
    if convention.only_if is not None and convention.only_if[0] == "position_embedding_type":
        return
    allowed = [None, "absolute", "rotary", "rope"]
    allowed += ["rope_gptj"] if convention.pairing == "interleaved" else []
    if kind not in allowed:
        raise _contradiction(fields, "position_embedding_type", kind)


GROWTH = ("use_dynamic_ntk", "use_logn_attn")
OWN_FIELDS = {"chatglm": ("rope_ratio", "original_rope")}
"""Fields that one model type alone has."""


def _find_foreign(fields: Fields, convention: RotaryConvention) -> Iterator[str]:
    """The fields of other model types that the file has, and that would be ignored."""
    names: list[str] = []
    if convention.local_base is None:
        names += LOCAL_BASES
    if convention.unrotated_every is None:
        names += ("no_rope_layers", "no_rope_layer_interval")
    if convention.temperature != "llama4":
        names.append("attn_temperature_tuning")
    if convention.latent is None and fields.model_type in ROTARY and not is_plain(fields):
        names += LATENT
    return (name for name in names if fields.values.get(name))


def _unknown_field(fields: Fields, name: str) -> Exception:
    template = N_("{name} must be a field that {model_type!r} has; got {name}={value!r}")
    named = {"name": name, "model_type": fields.model_type, "value": fields.values[name]}
    return translatable(ValueError, template, **named)


def _contradiction(fields: Fields, name: str, value: object) -> Exception:
    template = N_(
        "{name} must agree with the rotary encoding of {model_type!r}; got {name}={value!r}"
    )
    named = {"name": name, "model_type": fields.model_type, "value": value}
    return translatable(ValueError, template, **named)


def _refuse_growth(fields: Fields) -> None:
    """Refuse what the first Qwen does beyond its length, unless the file turns it off."""
    on = [name for name in GROWTH if fields.flag(name, default=True)]
    if on:
        template = N_(
            "{names} must be false: within seq_length {model_type} is RoPE({dim}, pairing="
            "'halves'); beyond it the base grows with 2^ceil(log2(n / seq_length) + 1) - 1 or "
            "queries are multiplied by log(p) / log(seq_length), which posenc does not have"
        )
        named = {"names": ", ".join(on), "model_type": fields.model_type}
        raise translatable(ValueError, template, dim=fields.head_dim(), **named)


def _refuse_more(fields: Fields) -> None:
    """Refuse an unknown model whose fields say more than RoPE does."""
    for name, reason in MORE.items():
        if (value := fields.values.get(name)) is not None:
            template = N_(
                "{name} needs a model_type that is known, since {reason}; got {name}={value!r} "
                "with model_type={model_type!r}"
            )
            named = {"name": name, "value": value, "model_type": fields.model_type}
            raise translatable(ValueError, template, reason=phrase(reason), **named)
    if any(fields.values.get(name) is not None for name in LATENT):
        for name in ("qk_nope_head_dim", "qk_rope_head_dim"):
            if fields.values.get(name) is None:
                raise fields.missing(name)
