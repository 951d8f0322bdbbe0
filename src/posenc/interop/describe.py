"""What a model's positions amount to, in words and numbers; and what differs between two models."""

from typing import Any, cast

import numpy as np

from posenc.core.mechanisms import Encoding
from posenc.encodings import (
    ALiBi,
    AxialRoPE,
    Learned,
    NoPE,
    RoPE,
    Sinusoidal,
    SwinBias,
    SwinV2Bias,
    T5Bias,
)
from posenc.interop.config import inner
from posenc.interop.model import ModelPositions, format_ranges, group_layers
from posenc.interop.parameters import Backwards
from posenc.scalings import (
    NTK,
    DynamicNTK,
    Interpolation,
    Llama3,
    LongRoPE,
    Proportional,
    Scaling,
    YaRN,
)
from posenc.temperatures import Tempered

SCALINGS: dict[type[Scaling], str] = {
    Interpolation: "every pair turns slower, by the factor",
    NTK: "a larger base: the slowest pair turns slower by the factor, the fastest as before",
    DynamicNTK: "a larger base once the text is longer than the trained length",
    YaRN: "slow pairs turn slower by the factor, fast ones as before, those between are blended",
    Llama3: "slow pairs turn slower by the factor, fast ones as before, those between are blended",
    LongRoPE: "each pair turns slower by its own factor, with a second set for long texts",
    Proportional: "only the fastest share of the pairs turns",
    Backwards: "pairs turn the other way",
}

BEYOND: dict[type[Encoding], str] = {
    Learned: "an error: the table has no row for such a position",
    Sinusoidal: "defined at every position, but those were never seen in training",
    ALiBi: "defined: the penalty keeps growing with the distance, so far tokens fade",
    T5Bias: "defined: all distances beyond max_distance share the last bucket",
    SwinBias: "an error: the table has no row for a displacement that leaves the window",
    SwinV2Bias: "defined: a larger window keeps the scale of the pretrained one, if it is named",
    NoPE: "nothing to run out of: only the causal mask tells the order",
}

MEANS = {
    "model_type": "another architecture: conventions may differ where the files say nothing",
    "layers": "another number of layers",
    "trained_length": "trained on texts of another length",
    "heads": "another number of heads",
    "schedule": "different layers have different encodings: compare them one by one with --layer",
    "encoding": "positions enter in another way: weights are not interchangeable",
    "dim": "heads of another width: weights do not fit",
    "rotary_dim": "another number of channels carries positions",
    "rotated": "other channels of a head carry positions",
    "pairing": "the same weights need their q and k channels permuted",
    "base": "pairs turn at other speeds: keys are not interchangeable",
    "scaling": "positions are stretched differently: keys are not interchangeable",
    "attention_factor": "logits are larger by the square of the ratio",
    "temperature": "far queries attend more or less sharply",
    "longest_wavelength": "the slowest pair turns at another speed",
    "full_turns": "another number of pairs has seen all its angles in training",
}
"""What a difference in each of these means."""


def describe(model: ModelPositions, *, layer: int | None = None) -> dict[str, Any]:
    """What a model does about positions, as plain data: one entry for each kind of layer.

    >>> from posenc import read_config
    >>> model = read_config({"model_type": "bloom", "n_head": 8, "n_layer": 2})
    >>> describe(model)["groups"][0]["encoding"]
    "ALiBi(heads=8, slopes='official', future='mirrored', divisor=1.0)"
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
            {"where": format_ranges(where), **_encoding(encoding, model.trained_length)}
            for encoding, where in groups
        ],
        "notes": list(model.notes),
    }


def compare(one: dict[str, Any], other: dict[str, Any]) -> list[dict[str, Any]]:
    """What differs between two descriptions: what, both values, and what that means."""
    rows = _differences(one, other, ("model_type", "layers", "trained_length", "heads"), "")
    places = [[group["where"] for group in model["groups"]] for model in (one, other)]
    if places[0] != places[1] and max(map(len, places)) > 1:
        rows.append(_row("schedule", "; ".join(places[0]), "; ".join(places[1]), ""))
    if len(places[0]) != len(places[1]):
        return rows
    for left, right in zip(one["groups"], other["groups"], strict=True):
        where = f"layers {left['where']}" if len(places[0]) > 1 else ""
        names = [name for name in MEANS if name in left or name in right]
        if left["name"] != right["name"]:
            rows.append(_row("encoding", left["encoding"], right["encoding"], where))
            continue
        names.remove("encoding")
        rows += _differences(left, right, tuple(names), where)
    return rows


def _differences(
    one: dict[str, Any], other: dict[str, Any], names: tuple[str, ...], where: str
) -> list[dict[str, Any]]:
    return [
        _row(name, one.get(name), other.get(name), where)
        for name in names
        if one.get(name) != other.get(name)
    ]


def _row(name: str, one: Any, other: Any, where: str) -> dict[str, Any]:
    return {"what": name, "where": where, "first": one, "second": other, "means": MEANS[name]}


def _encoding(encoding: Encoding, trained: int | None) -> dict[str, Any]:
    under = inner(encoding)
    data: dict[str, Any] = {"encoding": _said(encoding), "name": type(under).__name__}
    if isinstance(encoding, Tempered):
        data["temperature"] = repr(encoding.temperature)
    if isinstance(under, RoPE | AxialRoPE):
        data |= _rotary(under, trained)
    data["beyond"] = _beyond(under, data)
    return data


def _said(encoding: Encoding) -> str:
    """An encoding's repr, without lists that fill the screen."""
    if isinstance(encoding, Tempered):
        return f"Tempered({_said(encoding.encoding)}, {encoding.temperature!r})"
    if isinstance(encoding, AxialRoPE):
        return f"AxialRoPE(dim={encoding.dim}, axes={encoding.axes}, pairing={encoding.pairing!r})"
    if isinstance(encoding, RoPE) and isinstance(encoding.scaling, LongRoPE):
        return repr(encoding).replace(repr(encoding.scaling), _scaling_said(encoding.scaling))
    return repr(encoding)


def _scaling_said(scaling: Scaling) -> str:
    if isinstance(scaling, LongRoPE):
        return (
            f"LongRoPE({len(scaling.short_factor)} short and long factors, "
            f"{scaling.original_length}, attention_factor={scaling.scale:.6g})"
        )
    return repr(scaling)


def _rotary(encoding: RoPE | AxialRoPE, trained: int | None) -> dict[str, Any]:
    if isinstance(encoding, RoPE):
        settled = encoding if encoding.fits_any_length else encoding.at(trained or 1)
        w = np.abs(settled.frequencies())
        scaling = encoding.scaling
        data: dict[str, Any] = {"base": encoding.base}
        if scaling is not None:
            data |= {"scaling": _scaling_said(scaling), "does": SCALINGS[type(scaling)]}
    else:
        w, data = np.abs(np.asarray(encoding.frequencies)), {"axes": encoding.axes}
        shares = np.bincount(encoding.axis_of_pair)
        data["pairs_per_axis"] = [int(n) for n in shares]
    waves = 2 * np.pi / w[w > 0]
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


def _beyond(encoding: Encoding, told: dict[str, Any]) -> str:
    """What happens beyond the trained length."""
    scaling = cast(Scaling | None, getattr(encoding, "scaling", None))
    if scaling is not None and not scaling.fits_any_length:
        return "the table switches with the length of the text: keys must be cached unrotated"
    reach = getattr(scaling, "factor", None)
    length = getattr(scaling, "original_length", None)
    if reach and length:
        return (
            f"slow pairs come to no new angle before {reach:g} x {length:,} = "
            f"{reach * length:,.0f} tokens, then they do"
        )
    if told.get("full_turns") is not None and told["full_turns"] == told["pairs"]:
        return "every pair has seen all its angles in training, but no such distance"
    if isinstance(encoding, RoPE | AxialRoPE):
        return "slow pairs come to angles that were never seen in training"
    return BEYOND.get(type(encoding), "as the encoding says")
