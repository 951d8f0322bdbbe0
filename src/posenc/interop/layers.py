"""Which layers of a rotary model are local or global, and which of them rotate."""

from posenc.core import rules
from posenc.i18n import translatable
from posenc.interop.conventions import NO_ATTENTION, RotaryConvention
from posenc.interop.fields import Fields


def read_layer_types(fields: Fields, convention: RotaryConvention) -> list[str]:
    """The type of each layer: listed in the file, or alternating as in the config class."""
    count = fields.layers()
    listed = fields.per_layer("layer_types", count)
    for name in ("layers_block_type", "block_types"):
        listed = (
            listed or (fields.values.get(name) and _repeat_pattern(fields, name, count)) or None
        )
    for name in ("attn_layer_indices", "full_attn_idxs"):
        if listed is None and isinstance(where := fields.values.get(name), list):
            full = {rules.whole(f"each of {name}", i, least=0) for i in where}
            listed = ["full_attention" if i in full else "linear_attention" for i in range(count)]
    if listed is not None:
        for kind in listed:
            if not isinstance(kind, str):
                raise translatable(
                    TypeError, "each of layer_types must be a string; got {kind!r}", kind=kind
                )
        if convention.global_last == "always" and listed[-1] != "full_attention":
            fields.add_note(
                "the last layer is global in {model}, though layer_types says {kind!r}",
                model=fields.model_type,
                kind=listed[-1],
            )
            listed = [*listed[:-1], "full_attention"]
        return listed
    return _alternate(fields, convention, count)


def _repeat_pattern(fields: Fields, name: str, count: int) -> list[str]:
    pattern = fields.values[name]
    if not isinstance(pattern, list):
        raise translatable(
            TypeError,
            "{name} must be a list of layer types; got {name}={pattern!r}",
            name=name,
            pattern=pattern,
        )
    return [pattern[i % len(pattern)] for i in range(count)]


def _alternate(fields: Fields, convention: RotaryConvention, count: int) -> list[str]:
    if convention.every is None:
        return ["full_attention"] * count
    if "sliding_window" in fields.values and not fields.values["sliding_window"]:
        return ["full_attention"] * count
    every = fields.values.get(convention.every_field)
    if every is None:
        fields.note_default(convention.every_field, every := convention.every)
    if isinstance(every, str) and every and set(every) <= {"L", "G"}:  # EXAONE's "LLLG"
        everywhere = [every[i % len(every)] == "G" or i == count - 1 for i in range(count)]
    else:
        every = rules.whole(convention.every_field, every, least=1)
        first = 0 if convention.global_first else 1
        everywhere = [(i + first) % every == 0 for i in range(count)]
    if convention.global_last:
        everywhere[-1] = True
    return ["full_attention" if is_global else convention.local_type for is_global in everywhere]


def choose_rotating(fields: Fields, convention: RotaryConvention, types: list[str]) -> list[bool]:
    """Whether each layer rotates."""
    if convention.unrotated_every is not None:
        flags = fields.per_layer("no_rope_layers", len(types))
        if flags is None:
            every = fields.get("no_rope_layer_interval")
            if every is None:
                fields.note_default("no_rope_layer_interval", every := convention.unrotated_every)
            every = rules.whole("no_rope_layer_interval", every, least=1)
            return [(i + 1) % every != 0 for i in range(len(types))]
        if any(flag not in (0, 1) for flag in flags):
            raise translatable(
                ValueError,
                "each of no_rope_layers must be 0 or 1; got no_rope_layers={flags!r}",
                flags=flags,
            )
        fields.add_note("despite its name, no_rope_layers is 1 where a layer has RoPE")
        return [bool(flag) for flag in flags]
    without = convention.unrotated
    if without and "sliding_window" in fields.values and not fields.values["sliding_window"]:
        without = frozenset[str]()  # EXAONE 4 without a window rotates in every layer
    for kind in sorted(set(types) & NO_ATTENTION):
        fields.add_note(
            "layers of type {kind} have no attention and therefore no positions", kind=kind
        )
    return [kind not in without and kind not in NO_ATTENTION for kind in types]
