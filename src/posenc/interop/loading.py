"""Load a config from a file, a text, a dict or an object, and find its text model in it."""

import json
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from posenc.i18n import N_, translatable
from posenc.interop.fields import shorten


@runtime_checkable
class HasDict(Protocol):
    """A config object, such as those of transformers."""

    def to_dict(self) -> dict[str, Any]:
        """The fields of the file that the object would be written to."""
        ...


Config = Mapping[str, object] | str | PathLike[str] | HasDict

NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
"""Fields in which a multimodal model keeps the config of its text model."""
MOST_NESTED = 8
"""Limit on configs within configs; a dict may contain itself."""


def select_stacks(values: Mapping[str, Any]) -> dict[str, Mapping[str, Any]] | None:
    """The configs of an encoder and a decoder that have one each, else None.

    >>> select_stacks({"encoder": {"model_type": "vit"}, "decoder": {"model_type": "gpt2"}})
    {'encoder': {'model_type': 'vit'}, 'decoder': {'model_type': 'gpt2'}}
    """
    stacks = {name: values.get(name) for name in ("encoder", "decoder")}
    if values.get("text_config") is not None or not all(
        isinstance(stack, Mapping) for stack in stacks.values()
    ):
        return None
    return cast(dict[str, Mapping[str, Any]], stacks)


def select_text_config(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a config that describes its text model."""
    depth = 0
    while name := next((n for n in NESTED if isinstance(values.get(n), Mapping)), None):
        depth += 1
        if depth > MOST_NESTED:
            template = N_("{name} must be at most {most} configs deep; got more")
            raise translatable(ValueError, template, name=name, most=MOST_NESTED)
        values = {"model_type": values.get("model_type"), **values[name]}
    if (given := values.get("text_config")) is not None:
        template = N_("text_config must be an object; got text_config={given!r}")
        raise translatable(ValueError, template, given=given)
    return values


def load_config(config: object) -> Mapping[str, object]:
    """Load a config: a dict, the text of a JSON object, a file, or the config.json in a folder.

    >>> load_config('{"model_type": "llama"}')
    {'model_type': 'llama'}
    """
    if isinstance(config, HasDict) and not isinstance(config, type):
        config = config.to_dict()
    if isinstance(config, Mapping):
        return cast(Mapping[str, object], config)
    if not isinstance(config, str | PathLike):
        rule = "config must be a path, its text, a dict or a config object with to_dict()"
        raise TypeError(f"{rule}; got {shorten(repr(config))}")
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
        template = N_("config must be a readable file; {source}: {why}")
        raise translatable(ValueError, template, source=source, why=error.strerror) from error
    except (ValueError, RecursionError) as error:
        template = N_("config must be JSON; {source}: {why}")
        raise translatable(ValueError, template, source=source, why=str(error)) from error
    if not isinstance(values, dict):
        template = N_("config must be a JSON object; {source} has {kind}")
        kind = type(values).__name__
        raise translatable(ValueError, template, source=source, kind=kind)
    return cast(Mapping[str, object], values)
