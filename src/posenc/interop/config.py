"""Read the positional encodings in a Hugging Face config.json, without transformers."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

from posenc.core import rules
from posenc.core.encoding import Encoding
from posenc.core.hints import hinted
from posenc.core.rotation import Pairing
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import PAIRINGS
from posenc.i18n import N_, translatable
from posenc.interop.absolute import read_absolute, read_whisper
from posenc.interop.biases import read_alibi, read_swin, read_t5
from posenc.interop.conventions import (
    ABSOLUTE,
    ALIBI,
    NO_POSITIONS,
    READ_FIELDS,
    ROTARY,
    SWIN,
    T5,
    RotaryConvention,
)
from posenc.interop.fields import HEADS, Fields
from posenc.interop.model import ModelPositions, format_ranges, group_layers
from posenc.interop.rotary import read_rotary

Config = Mapping[str, object] | str | PathLike[str]

NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
"""Fields in which a multimodal model keeps the config of its text model."""


@hinted("read_config")
def read_config(config: Config, *, pairing: Pairing | None = None) -> ModelPositions:
    """Read the positional encoding of each layer of a model from its config.json.

    config   a path, the text of the file, or a dict, as written by transformers 4 or 5
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
    fields = read_fields(config, pairing)
    if pairing is not None:
        rules.one_of("pairing", pairing, PAIRINGS)
    layers, length, head_dim = _read_layers(fields, pairing)
    # heads differ between the stages of Swin
    found = None if fields.model_type in SWIN else fields.first(*HEADS)
    heads = None if found is None else rules.whole(*found, least=1)
    parts = fields.parts if len(set(fields.parts)) > 1 else ()
    parts = parts if len(parts) == len(layers) else ()
    notes = tuple(fields.notes)
    return ModelPositions(fields.model_type, layers, length, heads, head_dim, notes, parts)


def read_fields(config: Config, pairing: Pairing | None = None) -> Fields:
    """The fields of a config's text model, with the model type that decides the conventions."""
    values = _select_text_config(load_config(config))
    return Fields(values, _resolve_model_type(values, pairing))


@hinted("from_config")
def from_config(
    config: Config, layer: int | None = None, *, pairing: Pairing | None = None
) -> Encoding:
    """Read the encoding of one layer of a model, or the one that all its layers share.

    config   a path, the text of the file, or a dict, as in `read_config`
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
    if name == "whisper":
        return (*read_whisper(fields), None)
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
    convention = ROTARY.get(name, RotaryConvention())
    if pairing is not None:
        if name in ROTARY and pairing != convention.pairing:
            template = N_("pairing {pairing} as requested; {name} uses {usual}")
            fields.add_note(template, pairing=pairing, name=name, usual=convention.pairing)
        convention = replace(convention, pairing=pairing)
    _refuse_unread(fields)
    layers = read_rotary(fields, convention)
    lengths = (layer.trained_length for layer in layers)
    length = next((n for n in lengths if n is not None), None) or fields.length()
    dims = {layer.dim for layer in layers if layer.dim is not None}
    return layers, length, dims.pop() if len(dims) == 1 else None


def _resolve_model_type(values: Mapping[str, object], pairing: Pairing | None) -> str:
    name = values.get("model_type")
    if name is None and pairing is not None:
        return "unknown"
    if not isinstance(name, str):
        template = N_("model_type must be a string; got model_type={name!r}")
        raise translatable(ValueError, template, name=name)
    known = ROTARY.keys() | ABSOLUTE.keys() | ALIBI | T5 | SWIN | NO_POSITIONS | {"whisper"}
    for candidate in (name, f"{name}_text"):
        if candidate in known:
            return candidate
    if pairing is not None:
        return name
    template = N_(
        "model_type must be a known one, unless pairing is given (`posenc config --pairing halves`,"
        " in Python read_config(…, pairing='halves')); got model_type={name!r}"
    )
    raise translatable(ValueError, template, name=name)


ABOUT_POSITIONS = re.compile(r"rope|rotary|theta|alibi|position_embeddings?_type")


def _refuse_unread(fields: Fields) -> None:
    """Refuse fields that seem to be about positions and would be ignored."""
    for name, value in fields.values.items():
        if ABOUT_POSITIONS.search(name) and name not in READ_FIELDS:
            template = N_("{name} must be a field that {model_type!r} has; got {name}={value!r}")
            named = {"name": name, "model_type": fields.model_type, "value": value}
            raise translatable(ValueError, template, **named)
    kind = fields.get("position_embedding_type", "position_embeddings_type")
    if kind not in (None, "absolute", "rotary", "rope") or fields.get("alibi"):
        name, value = ("alibi", True) if fields.get("alibi") else ("position_embedding_type", kind)
        template = N_(
            "{name} must agree with the rotary encoding of {model_type!r}; got {name}={value!r}"
        )
        named = {"name": name, "model_type": fields.model_type, "value": value}
        raise translatable(ValueError, template, **named)


def shorten(text: str) -> str:
    """Shorten a path or a text to one line of at most 256 characters, for a message.

    >>> shorten("a" * 1000)[-4:], len(shorten("a" * 1000))
    ('aaa…', 256)
    """
    line = " ".join(text.splitlines())
    return line if len(line) <= 256 else line[:255] + "…"


def _select_text_config(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a config that describes its text model."""
    while name := next((n for n in NESTED if isinstance(values.get(n), Mapping)), None):
        values = {"model_type": values.get("model_type"), **values[name]}
    if (given := values.get("text_config")) is not None:
        template = N_("text_config must be an object; got text_config={given!r}")
        raise translatable(ValueError, template, given=given)
    return values


def load_config(config: object) -> Mapping[str, object]:
    """Load a config: a dict, the text of a JSON object, a file, or the config.json in a folder."""
    if isinstance(config, Mapping):
        return cast(Mapping[str, object], config)
    if not isinstance(config, str | PathLike):
        raise TypeError(f"config must be a path, its text or a dict; got {config!r}")
    source = shorten(str(config))
    try:
        if isinstance(config, str) and config.lstrip().startswith("{"):
            text = config
        else:
            path = Path(config)
            path = path / "config.json" if path.is_dir() else path
            source = shorten(str(path))
            text = path.read_text(encoding="utf-8")
        values = json.loads(text)
    except OSError as error:
        raise ValueError(f"config must be a readable file; {source}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"config must be JSON; {source}: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"config must be a JSON object; {source} has {type(values).__name__}")
    return cast(Mapping[str, object], values)
