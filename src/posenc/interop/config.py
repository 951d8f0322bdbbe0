"""Read the positional encodings in a Hugging Face config.json, without transformers."""

from collections.abc import Mapping
from dataclasses import replace

from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.core.rotation import Pairing
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import PAIRINGS
from posenc.i18n import N_, either, translatable
from posenc.interop.absolute import read_absolute, read_led, read_whisper
from posenc.interop.biases import read_alibi, read_swin, read_t5
from posenc.interop.conventions import (
    ABSOLUTE,
    ALIBI,
    ALWAYS_REFUSED,
    KNOWN,
    NO_POSITIONS,
    ROTARY,
    SWIN,
    T5,
    TOWERS,
    RotaryConvention,
)
from posenc.interop.fields import HEADS, Fields
from posenc.interop.loading import (
    NESTED,
    Config,
    load_config,
    select_stacks,
    select_text_config,
)
from posenc.interop.model import ModelPositions, format_ranges, group_layers
from posenc.interop.refusals import LATENT, REFUSED, refuse_unknown, refuse_unread
from posenc.interop.rotary import drop_latent, read_pairing, read_rotary
from posenc.interop.towers import read_tower


@hinted("read_config")
def read_config(config: Config, *, pairing: Pairing | None = None) -> ModelPositions:
    """Read the positional encoding of each layer of a model from its config.json.

    config   a path, the text of the file, a dict, or a config object of transformers, 4 or 5
    pairing  'interleaved' or 'halves': required if the model type is unknown, whose file must then
             have the base

    What the file leaves to the model's code comes from the conventions of its `model_type`; a note
    says so.

    >>> model = read_config({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
    ...                      "num_hidden_layers": 2, "max_position_embeddings": 2048})
    >>> model.layers[0]
    RoPE(16, pairing='halves')
    >>> model.notes
    ('base 10,000 is the default of llama; the file does not set it',)
    """
    if pairing is not None:
        rules.one_of("pairing", pairing, PAIRINGS)
    values = load_config(config)
    stacks = select_stacks(values)
    if stacks is None:
        return _read_model(values, pairing)
    encoder, decoder = (_read_stack(part, values, stacks[part], pairing) for part in stacks)
    return _join_stacks(values, encoder, decoder)


def _read_model(values: Mapping[str, object], pairing: Pairing | None) -> ModelPositions:
    """The positions of a model, or of one stack."""
    fields = _select_fields(values, pairing)
    layers, length, head_dim = _read_layers(fields, pairing)
    # heads differ between the stages of Swin
    found = None if fields.model_type in SWIN else fields.first(*HEADS)
    heads = None if found is None else rules.whole(*found, least=1)
    parts = fields.parts if len(set(fields.parts)) > 1 else ()
    parts = parts if len(parts) == len(layers) else ()
    notes = tuple(fields.notes)
    return ModelPositions(fields.model_type, layers, length, heads, head_dim, notes, parts)


def _read_stack(
    part: str, whole: Mapping[str, object], own: Mapping[str, object], pairing: Pairing | None
) -> ModelPositions:
    """The positions of the encoder or the decoder, whose own config is `own`."""
    if select_stacks(own) is not None:
        template = N_("the {part} must be one stack; it has an encoder and a decoder itself")
        raise translatable(ValueError, template, part=part)
    # of a model that has both stacks itself, such as BART, a decoder has one alone
    alone = {"is_encoder_decoder": False} if part == "decoder" else {}
    try:
        return _read_model({"model_type": whole.get("model_type"), **own, **alone}, pairing)
    except (ValueError, TypeError) as error:
        template = N_(
            "the {part} needs a config that can be read: {error}; to read the {other} alone, pass "
            "the object under '{other}'"
        )
        other = "decoder" if part == "encoder" else "encoder"
        raise translatable(type(error), template, part=part, other=other, error=error) from error


def _join_stacks(
    values: Mapping[str, object], encoder: ModelPositions, decoder: ModelPositions
) -> ModelPositions:
    """An encoder and a decoder that have configs of their own, as one model."""
    fields = Fields(values, str(values.get("model_type") or decoder.model_type))
    fields.note_stacks(len(encoder.layers), len(decoder.layers))
    notes = tuple(dict.fromkeys((*fields.notes, *encoder.notes, *decoder.notes)))
    return replace(
        decoder,
        model_type=fields.model_type,
        layers=encoder.layers + decoder.layers,
        notes=notes,
        parts=fields.parts,
    )


def read_fields(config: Config, pairing: Pairing | None = None) -> Fields:
    """The fields of a config's text model, with the model type that decides the conventions."""
    return _select_fields(load_config(config), pairing)


def _select_fields(values: Mapping[str, object], pairing: Pairing | None) -> Fields:
    name = values.get("model_type")
    if isinstance(name, str) and name in ALWAYS_REFUSED:
        raise refuse_unknown(name, values)
    text = select_text_config(values)
    fields = Fields(text, _resolve_model_type(text, pairing))
    if text is not values:
        _note_parts(fields, values)
    return fields


def _note_parts(fields: Fields, values: Mapping[str, object]) -> None:
    """Name the parts beside the text model, which are not read."""
    objects = [name for name, value in values.items() if isinstance(value, Mapping) and value]
    parts = [name for name in objects if name.endswith("_config") and name not in NESTED]
    parts = [name for name in parts if name not in ("quantization_config", "generation_config")]
    if parts:
        template = N_("the text model is read; pass the object under {parts} to read that part")
        fields.add_note(template, parts=either(parts[:8]))


@hinted("from_config")
def from_config(
    config: Config, layer: int | None = None, *, pairing: Pairing | None = None
) -> Encoding:
    """Read the encoding of one layer of a model, or the one that all its layers share.

    config   a path, the text of the file, a dict or a config object, as in `read_config`
    layer    counted from 0; may be left out if all layers have the same encoding
    pairing  as in `read_config`

    >>> config = {"model_type": "smollm3", "hidden_size": 64, "num_attention_heads": 4,
    ...           "num_hidden_layers": 4, "rope_theta": 5e6, "no_rope_layers": [1, 1, 1, 0]}
    >>> from_config(config, layer=3)
    NoPE()
    >>> from_config(config)
    Traceback (most recent call last):
    ValueError: layer must be given, since the layers differ: 0-2 RoPE, 3 NoPE; got layer=None
    """
    layers = read_config(config, pairing=pairing).layers
    if layer is not None:
        if not 0 <= rules.whole("layer", layer) < len(layers):
            raise ValueError(f"layer must be one of 0 .. {len(layers) - 1}; got layer={layer}")
        return layers[layer]
    if any(other != layers[0] for other in layers):
        listed = ", ".join(
            f"{format_ranges(where)} {type(encoding).__name__}"
            for encoding, where in group_layers(layers)
        )
        raise ValueError(f"layer must be given, since the layers differ: {listed}; got layer=None")
    return layers[0]


def _read_layers(
    fields: Fields, pairing: Pairing | None
) -> tuple[tuple[Encoding, ...], int | None, int | None]:
    """The encoding of each layer, the trained length and the head dim."""
    name = fields.model_type
    if name in ("whisper", "led"):
        return (*(read_whisper if name == "whisper" else read_led)(fields), None)
    if name in ALIBI and (layers := read_alibi(fields)) is not None:
        return layers, fields.length(), None
    if name in T5 | SWIN:
        return read_t5(fields) if name in T5 else read_swin(fields), None, None
    absolute = ABSOLUTE.get(name)
    if name == "esm" and fields.get("position_embedding_type", default="absolute") == "absolute":
        absolute = ABSOLUTE["roberta"]
    if absolute is not None:
        return (*read_absolute(fields, absolute), None)
    if name in NO_POSITIONS:
        return (NoPE(),) * fields.layers(), fields.length(), None
    return _read_rotating(fields, pairing)


def _read_rotating(
    fields: Fields, pairing: Pairing | None
) -> tuple[tuple[Encoding, ...], int | None, int | None]:
    """The same of a tower or a text model that rotates."""
    name = fields.model_type
    if name in TOWERS:
        layers = read_tower(fields, TOWERS[name])
        return layers, None, layers[0].dim
    convention = drop_latent(fields, ROTARY.get(name, RotaryConvention()))
    if pairing is not None:
        usual = read_pairing(fields, convention)
        stated = fields.values.get("rope_interleave") is not None
        if (name in ROTARY or stated) and pairing != usual:
            template = N_("pairing {pairing} as requested; {name} uses {usual}")
            fields.add_note(template, pairing=pairing, name=name, usual=usual)
        convention = replace(convention, pairing=pairing)
        fields.values = {**fields.values, "rope_interleave": None}  # the argument counts
    refuse_unread(fields, convention)
    if name not in ROTARY and any(fields.values.get(each) is not None for each in LATENT):
        # both widths are in the file: refuse_unread asks for them
        convention = replace(convention, latent=(0, 0), rotated="trailing")
    layers = read_rotary(fields, convention)
    lengths = (layer.trained_length for layer in layers)
    length = next((n for n in lengths if n is not None), None) or fields.length()
    dims = {layer.dim for layer in layers if layer.dim is not None}
    return layers, length, dims.pop() if len(dims) == 1 else None


def _resolve_model_type(values: Mapping[str, object], pairing: Pairing | None) -> str:
    name = values.get("model_type")
    if name is None and pairing is not None:
        return "unknown"
    if name is None:
        raise refuse_unknown(name, values)
    if not isinstance(name, str):
        template = N_("model_type must be a string; got model_type={name!r}")
        raise translatable(ValueError, template, name=name)
    if "patch_size" in values and f"{name}_vision" in TOWERS.keys() | REFUSED.keys():
        name = f"{name}_vision"  # the vision_config of Qwen2.5-VL has the type of the whole model
    for candidate in (name, f"{name}_text", f"{name}_text_model"):
        if candidate in KNOWN:
            return candidate
    if pairing is not None and name not in REFUSED:
        return name
    raise refuse_unknown(name, values)
