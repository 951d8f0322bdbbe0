"""Which layers of a rotary model are local or global, and which of them rotate."""

from typing import Any

from posenc.core import rules
from posenc.i18n import N_, translatable
from posenc.interop.conventions import NO_ATTENTION, RotaryConvention
from posenc.interop.fields import Fields, require_few, shorten

GLOBAL = "full_attention"
FLAGS = (
    ("attn_type_list", "linear_attention", GLOBAL),
    ("hybrid_layer_pattern", GLOBAL, "sliding_attention"),
)
"""Fields that list 0 or 1 for each layer (MiniMax-Text-01, MiMo-V2), and what either means."""


def read_layer_types(fields: Fields, convention: RotaryConvention) -> list[str]:
    """The type of each layer: listed in the file, or alternating as in the config class."""
    count = fields.layers()
    listed = _read_listed_types(fields, count)
    if listed is None:
        return _alternate(fields, convention, count)
    for kind in listed:
        if not isinstance(kind, str):
            template = N_("each of layer_types must be a string; got {kind!r}")
            raise translatable(TypeError, template, kind=kind)
    if convention.global_last == "always" and listed[-1] != GLOBAL:
        template = N_("the last layer is global in {model}, though layer_types says {kind!r}")
        fields.add_note(template, model=fields.model_type, kind=listed[-1])
        listed[-1] = GLOBAL
    return listed


def _read_listed_types(fields: Fields, count: int) -> list[Any] | None:
    listed = fields.per_layer("layer_types", count)
    for name in ("layers_block_type", "block_types"):
        pattern = fields.values.get(name)
        if not listed and pattern:
            if not isinstance(pattern, list):
                template = N_("{name} must be a list of layer types; got {name}={pattern!r}")
                raise translatable(TypeError, template, name=name, pattern=pattern)
            listed = _repeat(pattern, count)
    for name in ("attn_layer_indices", "full_attn_idxs"):
        if listed is None and isinstance(where := fields.values.get(name), list):
            require_few(name, where)
            full = {rules.whole(f"each of {name}", i, least=0) for i in where}
            listed = [GLOBAL if i in full else "linear_attention" for i in range(count)]
    for name, zero, one in FLAGS:
        if listed is None and (flags := fields.per_layer(name, count)) is not None:
            _require_flags(name, flags)
            listed = [one if flag else zero for flag in flags]
    return listed


def _require_flags(name: str, flags: list[Any]) -> None:
    if any(flag not in (0, 1) for flag in flags):
        template = N_("each of {name} must be 0 or 1; got {name}={flags}")
        raise translatable(ValueError, template, name=name, flags=shorten(repr(flags), 80))


def _repeat(pattern: Any, count: int) -> list[Any]:
    return [pattern[i % len(pattern)] for i in range(count)]


def _has_no_window(fields: Fields) -> bool:
    return not fields.values.get("sliding_window", True)


def _alternate(fields: Fields, convention: RotaryConvention, count: int) -> list[str]:
    if convention.every is None or (convention.every_field and _has_no_window(fields)):
        return [GLOBAL] * count
    every: Any = convention.every
    if convention.every_field:
        every = fields.get_or_note(convention.every_field, convention.every)
    if isinstance(every, str) and every and set(every) <= {"L", "G"}:  # EXAONE's "LLLG"
        everywhere = [letter == "G" for letter in _repeat(every, count)]
        everywhere[-1] = True
    else:
        every = rules.whole(convention.every_field or "every", every, least=1)
        first = 0 if convention.global_first else 1
        everywhere = [(i + first) % every == 0 for i in range(count)]
    if convention.global_last:
        everywhere[-1] = True
    return [GLOBAL if is_global else convention.local_type for is_global in everywhere]


def choose_rotating(fields: Fields, convention: RotaryConvention, types: list[str]) -> list[bool]:
    """Whether each layer rotates."""
    if convention.unrotated_every is not None:
        flags = fields.per_layer("no_rope_layers", len(types))
        if flags is None:
            name = "no_rope_layer_interval"
            every = rules.whole(name, fields.get_or_note(name, convention.unrotated_every), least=1)
            return [(i + 1) % every != 0 for i in range(len(types))]
        _require_flags("no_rope_layers", flags)
        fields.add_note("despite its name, no_rope_layers is 1 where a layer has RoPE")
        return [bool(flag) for flag in flags]
    for kind in sorted(set(types) & NO_ATTENTION):
        template = N_("layers of type {kind} have no attention and therefore no positions")
        fields.add_note(template, kind=kind)
    # EXAONE 4 without a window rotates in every layer
    everywhere = convention.rotates_globally or _has_no_window(fields)
    return [(everywhere or kind != GLOBAL) and kind not in NO_ATTENTION for kind in types]
