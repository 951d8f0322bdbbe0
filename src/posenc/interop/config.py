"""Positional encodings out of a Hugging Face config.json, without transformers."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import Any, cast

from posenc.core import rules
from posenc.core.hints import hinted
from posenc.core.mechanisms import Encoding
from posenc.core.rotation import Pairing
from posenc.encodings import NoPE
from posenc.encodings.rope import PAIRINGS
from posenc.i18n import said
from posenc.interop.absolute import absolute_layers, whisper_layers
from posenc.interop.biases import alibi_layers, swin_layers, t5_layers
from posenc.interop.conventions import (
    ABSOLUTE,
    ALIBI,
    NO_POSITIONS,
    ROTARY,
    SWIN,
    T5,
    RotaryConvention,
)
from posenc.interop.fields import HEADS, Fields
from posenc.interop.model import ModelPositions, format_ranges, group_layers
from posenc.interop.rotary import rotary_layers
from posenc.temperatures import Tempered

Config = Mapping[str, Any] | str | PathLike[str]

NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
"""Where a model of pictures or sound keeps the config of its text model."""


@hinted("read_config")
def read_config(config: Config, *, pairing: Pairing | None = None) -> ModelPositions:
    """The positional encodings of a model, from its config.json (a path, its text, or a dict).

    Reads the spellings of transformers 4 and 5. What the file leaves to the model's code comes from
    the conventions of its `model_type`, with a note; an unknown model type needs
    its `pairing`, and its base in the file.

    >>> model = read_config({"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4,
    ...                      "num_hidden_layers": 2, "max_position_embeddings": 2048})
    >>> model.layers[0]
    RoPE(dim=16, base=10000.0, pairing='halves', rotary_dim=16, rotated='leading', scaling=None)
    >>> model.notes
    ('base 10,000 is what llama has; the file does not say',)
    """
    fields = fields_of(config, pairing)
    if pairing is not None:
        rules.one_of("pairing", pairing, PAIRINGS)
    layers, length, head_dim = _read(fields, pairing)
    names = () if fields.model_type in SWIN else HEADS  # whose stages have different numbers
    found = fields.first(*names)
    heads = rules.whole(found[0], found[1], least=1) if found is not None else None
    notes = tuple(fields.notes)
    return ModelPositions(
        fields.model_type, layers, length, heads, head_dim, notes, _parts(fields, layers)
    )


def fields_of(config: Config, pairing: Pairing | None = None) -> Fields:
    """The fields of the text model in a config, under the model type that decides conventions."""
    values = _text(_loaded(config))
    return Fields(values, _model_type(values, pairing))


@hinted("from_config")
def from_config(
    config: Config, layer: int | None = None, *, pairing: Pairing | None = None
) -> Encoding:
    """The encoding of a model's layer, or the one that all its layers share.

    >>> config = {"model_type": "smollm3", "hidden_size": 64, "num_attention_heads": 4,
    ...           "num_hidden_layers": 4, "rope_theta": 5e6, "no_rope_layers": [1, 1, 1, 0]}
    >>> from_config(config, layer=3)
    NoPE()
    >>> from_config(config)
    Traceback (most recent call last):
    ValueError: layer must be named, as layers differ: 0-2 RoPE, 3 NoPE; got layer=None
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
        raise ValueError(f"layer must be named, as layers differ: {listed}; got layer=None")
    return layers[0]


def _parts(fields: Fields, layers: tuple[Encoding, ...]) -> tuple[str, ...]:
    """The parts of the layers, where the file's reader has counted as many."""
    parts = fields.parts
    return parts if len(parts) == len(layers) and len(set(parts)) > 1 else ()


def _read(
    fields: Fields, pairing: Pairing | None
) -> tuple[tuple[Encoding, ...], int | None, int | None]:
    """Layers, trained length and head dim."""
    name = fields.model_type
    if name == "whisper":
        return (*whisper_layers(fields), None)
    if name in ALIBI and (layers := alibi_layers(fields)) is not None:
        return layers, fields.length(), None
    if name in T5 | SWIN:
        return t5_layers(fields) if name in T5 else swin_layers(fields), None, None
    absolute = ABSOLUTE.get(name)
    if name == "esm" and fields.get("position_embedding_type", default="absolute") == "absolute":
        absolute = ABSOLUTE["roberta"]
    if absolute is not None:
        return (*absolute_layers(fields, absolute), None)
    if name in NO_POSITIONS:
        return (NoPE(),) * fields.layers(), fields.length(), None
    convention = ROTARY.get(name, RotaryConvention())
    if pairing is not None:
        if name in ROTARY and pairing != convention.pairing:
            fields.add_note(
                "pairing {pairing} as asked; {name} has {usual}",
                pairing=pairing,
                name=name,
                usual=convention.pairing,
            )
        convention = _paired(convention, pairing)
    _understood(fields)
    layers = rotary_layers(fields, convention)
    rotating = [inner(layer) for layer in layers]
    lengths = [_original(layer) for layer in rotating]
    length = next((n for n in lengths if n is not None), None) or fields.length()
    dims = {cast(Any, layer).dim for layer in rotating if hasattr(layer, "dim")}
    return layers, length, dims.pop() if len(dims) == 1 else None


def inner(encoding: Encoding) -> Encoding:
    """The encoding under a temperature."""
    return encoding.encoding if isinstance(encoding, Tempered) else encoding


def _original(encoding: Encoding) -> int | None:
    return getattr(getattr(encoding, "scaling", None), "original_length", None)


def _paired(convention: RotaryConvention, pairing: Pairing) -> RotaryConvention:
    return replace(convention, pairing=pairing)


def _model_type(values: Mapping[str, Any], pairing: Pairing | None) -> str:
    name = values.get("model_type")
    if name is None and pairing is not None:
        return "unknown"
    if not isinstance(name, str):
        raise said(ValueError, "model_type must be a string; got model_type={name!r}", name=name)
    known = ROTARY.keys() | ABSOLUTE.keys() | ALIBI | T5 | SWIN | NO_POSITIONS | {"whisper"}
    for candidate in (name, f"{name}_text"):
        if candidate in known:
            return candidate
    if pairing is not None:
        return name
    raise said(
        ValueError,
        "model_type must be known, or pairing given ('interleaved' or 'halves'); got "
        "model_type={name!r}",
        name=name,
    )


ABOUT_POSITIONS = re.compile(r"rope|rotary|theta|alibi|position_embeddings?_type")
UNDERSTOOD = frozenset(
    {
        "alibi",
        "alibi_bias_max",
        "compress_rope_theta",
        "global_rope_theta",
        "layer_rope_theta",
        "local_rope_theta",
        "mrope_interleaved",
        "mrope_section",
        "no_rope_layer_interval",
        "no_rope_layers",
        "partial_rotary_factor",
        "partial_rotary_factors",
        "position_embedding_type",
        "position_embeddings_type",
        "qk_rope_head_dim",
        "rope_interleave",
        "rope_local_base_freq",
        "rope_parameters",
        "rope_scaling",
        "rope_scaling_layers",
        "rope_theta",
        "rotary_dim",
        "rotary_emb_base",
        "rotary_embedding_base",
        "rotary_pct",
        "rotary_value",
        "swa_rope_theta",
        "use_mem_rope",
        "use_rotary_embedding",
    }
)
"""Fields of rotary models that posenc reads, or that change nothing about the angles."""


def _understood(fields: Fields) -> None:
    """Refuse what seems to say something about positions and would go unread."""
    for name, value in fields.values.items():
        if ABOUT_POSITIONS.search(name) and name not in UNDERSTOOD:
            raise said(
                ValueError,
                "{name} must be a field that {model_type!r} has; got {name}={value!r}",
                name=name,
                model_type=fields.model_type,
                value=value,
            )
    kind = fields.get("position_embedding_type", "position_embeddings_type")
    if kind not in (None, "absolute", "rotary", "rope") or fields.get("alibi"):
        name, value = ("alibi", True) if fields.get("alibi") else ("position_embedding_type", kind)
        raise said(
            ValueError,
            "{name} must fit {model_type!r}, which rotates; got {name}={value!r}",
            name=name,
            model_type=fields.model_type,
            value=value,
        )


def shortened(text: str) -> str:
    """A path or a text on one line of at most 256 characters, for a message.

    >>> shortened("a" * 1000)[-4:], len(shortened("a" * 1000))
    ('aaa…', 256)
    """
    line = " ".join(text.splitlines())
    return line if len(line) <= 256 else line[:255] + "…"


def _text(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a config that describes the text model."""
    while True:
        name = next((n for n in NESTED if isinstance(values.get(n), Mapping)), None)
        if name is None:
            break
        values = {"model_type": values.get("model_type"), **values[name]}
    if values.get("text_config") is not None:
        raise said(
            ValueError,
            "text_config must be an object; got text_config={given!r}",
            given=values["text_config"],
        )
    return values


def _loaded(config: Any) -> Mapping[str, Any]:
    """A config's contents: a dict, the text of a JSON object, or a file; a folder's config.json."""
    if isinstance(config, Mapping):
        return cast(Mapping[str, Any], config)
    if not isinstance(config, str | PathLike):
        raise TypeError(f"config must be a path, its text or a dict; got {config!r}")
    source = shortened(str(config))
    try:
        if isinstance(config, str) and config.lstrip().startswith("{"):
            text = config
        else:
            path = Path(config)
            path = path / "config.json" if path.is_dir() else path
            source = shortened(str(path))
            text = path.read_text(encoding="utf-8")
        values = json.loads(text)
    except OSError as error:
        raise ValueError(
            f"config must be a file that can be read; {source}: {error.strerror}"
        ) from error
    except (ValueError, RecursionError) as error:
        raise ValueError(f"config must be JSON; {source}: {error}") from error
    if not isinstance(values, dict):
        raise ValueError(f"config must be a JSON object; {source} has {type(values).__name__}")
    return cast(Mapping[str, Any], values)
