"""Does `posenc.from_config` read the same encoding out of the config.json that they would write?"""

import json
from typing import Any

import numpy as np

import posenc as pe
from posenc.core.encoding import unwrap
from tests.conformance.cases import LENGTH, Ours, width


def disagreement(config: Any, layer_type: str | None, ours: Ours) -> str:
    """What differs between from_config's encoding and the one that was compared; "" if nothing."""
    written = json.loads(config.to_json_string())
    try:
        layers = [unwrap(layer) for layer in pe.read_config(written).layers]
    except (ValueError, TypeError) as error:
        return f"refuses: {error}"
    kinds = getattr(config, "layer_types", None)
    if layer_type and kinds and layer_type in kinds:
        layers = [layers[kinds.index(layer_type)]]
    read = [one.at(LENGTH) for one in layers if isinstance(one, pe.RoPE | pe.AxialRoPE)]
    found = [_difference(one, ours) for one in dict.fromkeys(read)]  # pyright: ignore
    return "reads no rotation" if not found else "" if "" in found else found[0]


def _difference(read: Ours, ours: Ours) -> str:
    if width(read) != width(ours):
        return f"{width(read)} channels turn, not {width(ours)}"
    if _axes(read) != _axes(ours):
        return f"axes {_axes(read)}, not {_axes(ours)}"
    w, v = read.frequencies(), ours.frequencies()
    if not np.allclose(np.abs(w), v, rtol=1e-12, atol=0):
        return f"frequencies {w[:3]}, not {v[:3]}"
    if read.pairing != ours.pairing:
        return f"pairing {read.pairing}, not {ours.pairing}"
    if abs(read.attention_factor - ours.attention_factor) > 1e-12:
        return f"attention factor {read.attention_factor}, not {ours.attention_factor}"
    return ""


def _axes(encoding: Ours) -> tuple[int, ...]:
    return encoding.axis_of_pair if isinstance(encoding, pe.AxialRoPE) else ()
