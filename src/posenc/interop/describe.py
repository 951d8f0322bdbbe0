"""Describe the positional encodings of a model, and the differences between two models."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from posenc import scalings
from posenc.core.encoding import Encoding, unwrap
from posenc.encodings.alibi import ALiBi
from posenc.encodings.axial import AxialRoPE
from posenc.encodings.learned import Learned
from posenc.encodings.nope import NoPE
from posenc.encodings.rope import RoPE
from posenc.encodings.sinusoidal import Sinusoidal
from posenc.encodings.swin import SwinBias, SwinV2Bias
from posenc.encodings.t5 import T5Bias
from posenc.interop.model import ModelPositions, format_ranges, group_layers
from posenc.interop.parameters import Backwards
from posenc.temperatures import Tempered

_BLENDED = "slow pairs rotate slower by the factor, fast ones are unchanged, those between blended"
SCALINGS: dict[type[scalings.Scaling], str] = {
    scalings.Interpolation: "every pair rotates slower by the factor",
    scalings.NTK: "a larger base: the slowest pair rotates slower by the factor, the fastest is "
    "unchanged",
    scalings.DynamicNTK: "a larger base once the text is longer than the trained length",
    scalings.YaRN: _BLENDED,
    scalings.Llama3: _BLENDED,
    scalings.LongRoPE: "each pair rotates slower by its own factor, with a second set for long "
    "texts",
    scalings.PerPair: "each pair rotates slower by its own factor",
    scalings.Proportional: "only the fastest pairs rotate",
    Backwards: "pairs rotate the other way",
}

BEYOND: dict[type[Encoding], str] = {
    Learned: "an error: the table has no row for these positions",
    Sinusoidal: "defined at every position, but these were never seen in training",
    ALiBi: "defined: the penalty keeps growing with the distance, so distant tokens fade",
    T5Bias: "defined: all distances beyond max_distance share the last bucket",
    SwinBias: "an error: the table has no row for an offset larger than the window",
    SwinV2Bias: "defined: offsets are scaled to the pretrained window, if one is given",
    NoPE: "no limit: only the causal mask tells the order of tokens",
}

MEANS = {
    "model_type": "different architectures: conventions may differ where the files say nothing",
    "layers": "different numbers of layers",
    "trained_length": "trained on texts of different lengths",
    "heads": "different numbers of heads",
    "schedule": "the encodings alternate differently: compare layers one by one with --layer",
    "encoding": "different encodings: weights are not interchangeable",
    "dim": "heads of different widths: weights do not fit",
    "rotary_dim": "different numbers of channels carry positions",
    "rotated": "different channels of a head carry positions",
    "pairing": "the q and k channels of the weights must be permuted",
    "base": "pairs rotate at different speeds: keys are not interchangeable",
    "scaling": "positions are stretched differently: keys are not interchangeable",
    "attention_factor": "logits are larger by the square of the ratio",
    "temperature": "queries at late positions attend more or less sharply",
    "longest_wavelength": "the slowest pair rotates at a different speed",
    "full_turns": "different numbers of pairs saw all their angles in training",
}
"""What a difference in each field means."""


def describe(model: ModelPositions, *, layer: int | None = None) -> dict[str, Any]:
    """Describe a model's positional encodings as plain data, with an entry for each different one.

    layer  describe only this one, counted from 0

    >>> from posenc import read_config
    >>> model = read_config({"model_type": "bloom", "n_head": 8, "n_layer": 2})
    >>> describe(model)["groups"][0]["encoding"]
    'ALiBi(8)'
    """
    layers = model.layers
    groups = [(layers[layer], [layer])] if layer is not None else group_layers(layers)
    return {
        "model_type": model.model_type,
        "layers": len(layers),
        "heads": model.heads,
        "head_dim": model.head_dim,
        "trained_length": model.trained_length,
        "groups": [
            {"where": format_ranges(where), **_describe_encoding(encoding, model.trained_length)}
            for encoding, where in groups
        ],
        "notes": list(model.notes),
    }


def compare(one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    """List the differences between two descriptions: field, layers, both values, meaning."""
    rows = _compare_fields(one, other, ("model_type", "layers", "trained_length", "heads"), "")
    places = [[group["where"] for group in model["groups"]] for model in (one, other)]
    if places[0] != places[1] and max(map(len, places)) > 1:
        rows.append(_difference("schedule", "; ".join(places[0]), "; ".join(places[1]), ""))
    if len(places[0]) != len(places[1]):
        return rows
    for left, right in zip(one["groups"], other["groups"], strict=True):
        where = f"layers {left['where']}" if len(places[0]) > 1 else ""
        names = ["encoding"]
        if left["name"] == right["name"]:
            names = [name for name in MEANS if name != "encoding"]
        rows += _compare_fields(left, right, names, where)
    return rows


def _compare_fields(
    one: dict[str, object], other: dict[str, object], names: Iterable[str], where: str
) -> list[dict[str, object]]:
    return [
        _difference(name, one.get(name), other.get(name), where)
        for name in names
        if one.get(name) != other.get(name)
    ]


def _difference(name: str, one: object, other: object, where: str) -> dict[str, object]:
    return {"what": name, "where": where, "first": one, "second": other, "means": MEANS[name]}


def _describe_encoding(encoding: Encoding, trained: int | None) -> dict[str, object]:
    under = unwrap(encoding)
    data: dict[str, object] = {"encoding": format_encoding(encoding), "name": type(under).__name__}
    if encoding.temperature is not None:
        data["temperature"] = repr(encoding.temperature)
    if isinstance(under, RoPE | AxialRoPE):
        data |= _describe_rotary(under, trained)
    data["beyond"] = _describe_beyond(under, data)
    return data


def format_encoding(encoding: Encoding) -> str:
    """The repr of an encoding, without long lists."""
    if isinstance(encoding, Tempered):
        return f"Tempered({format_encoding(encoding.encoding)}, {encoding.temperature!r})"
    if isinstance(encoding, AxialRoPE):
        return f"AxialRoPE(dim={encoding.dim}, axes={encoding.axes}, pairing={encoding.pairing!r})"
    if isinstance(encoding, RoPE) and isinstance(encoding.scaling, scalings.LongRoPE):
        return repr(encoding).replace(repr(encoding.scaling), _format_scaling(encoding.scaling))
    return repr(encoding)


def _format_scaling(scaling: scalings.Scaling) -> str:
    if isinstance(scaling, scalings.LongRoPE):
        return (
            f"LongRoPE({len(scaling.short_factor)} short and long factors, "
            f"{scaling.original_length}, attention_factor={scaling.scale:.6g})"
        )
    return repr(scaling)


def _describe_rotary(encoding: RoPE | AxialRoPE, trained: int | None) -> dict[str, object]:
    settled = encoding if encoding.fits_any_length else encoding.at(trained or 1)
    w = np.abs(settled.frequencies())
    waves = 2 * np.pi / w[w > 0]
    if isinstance(encoding, AxialRoPE):
        pairs = np.bincount(encoding.axis_of_pair).tolist()
        data: dict[str, object] = {"axes": encoding.axes, "pairs_per_axis": pairs}
    else:
        data = {"base": encoding.base}
    if (scaling := _scaling(encoding)) is not None:
        data |= {"scaling": _format_scaling(scaling), "does": SCALINGS[type(scaling)]}
    return data | {
        "dim": encoding.dim,
        "pairing": encoding.pairing,
        "rotary_dim": 2 * len(w),
        "rotated": encoding.rotated,
        "attention_factor": encoding.attention_factor,
        "pairs": len(w),
        "still_pairs": int((w == 0).sum()),
        "full_turns": None if trained is None else int((waves <= trained).sum()),
        "longest_wavelength": float(waves.max()) if len(waves) else None,
    }


def _scaling(encoding: Encoding) -> scalings.Scaling | None:
    if isinstance(encoding, AxialRoPE):
        return encoding.layout.scaling
    return encoding.scaling if isinstance(encoding, RoPE) else None


def _describe_beyond(encoding: Encoding, description: dict[str, object]) -> str:
    """Say what happens beyond the trained length."""
    if not encoding.fits_any_length:
        return (
            "the frequencies depend on the length of the text: keys must be cached before rotation"
        )
    scaling = _scaling(encoding)
    if isinstance(scaling, scalings.YaRN | scalings.Llama3):
        factor, length = scaling.factor, scaling.original_length
        return (
            f"slow pairs reach angles never seen in training after {factor:g} x {length:,} = "
            f"{factor * length:,.0f} tokens"
        )
    turns = description.get("full_turns")
    if turns is not None and turns == description["pairs"]:
        return "every pair has seen all its angles in training, but not these distances"
    if isinstance(encoding, RoPE | AxialRoPE):
        return "slow pairs reach angles that were never seen in training"
    return BEYOND.get(type(encoding), "defined by the encoding")
