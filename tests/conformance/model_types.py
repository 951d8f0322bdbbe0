"""Read the default config of every model type of the installed transformers."""

import json
import warnings
from dataclasses import dataclass
from functools import cache
from typing import Any

from transformers.models.auto.configuration_auto import CONFIG_MAPPING, CONFIG_MAPPING_NAMES

import posenc as pe
from posenc.interop.model import group_layers


@dataclass(frozen=True)
class Reading:
    """What `read_config` makes of a default config: the names of its encodings, or a sentence."""

    name: str
    layers: tuple[str, ...]
    refusal: str = ""


def read_default(name: str, config: dict[str, Any]) -> Reading:
    """Read a config as it would be written to a file."""
    try:
        model = pe.read_config(config)
    except (ValueError, TypeError) as error:
        return Reading(name, (), str(error))
    groups = group_layers(model.layers)
    return Reading(name, tuple(dict.fromkeys(type(encoding).__name__ for encoding, _ in groups)))


@cache
def readings() -> dict[str, Reading]:
    """The reading of each model type whose config class has defaults, in alphabetical order."""
    found: dict[str, Reading] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, about token ids and rotary parameters
        for name in sorted(CONFIG_MAPPING_NAMES):
            try:
                config = json.loads(CONFIG_MAPPING[name]().to_json_string())
            except Exception:  # a class without usable defaults fails in its own way
                continue
            found[name] = read_default(name, config)
    return found
