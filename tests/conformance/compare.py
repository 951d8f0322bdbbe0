"""Compare every rotary module of transformers with ours, and say what came of it."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, reduce
from operator import or_
from typing import Any

import numpy as np
import torch

import posenc as pe
from posenc.interop.conventions import TOWERS
from tests.conformance import cases
from tests.conformance.reader import disagreement
from tests.conformance.theirs import Tables, Wide, per_pair, split, turned
from tests.conformance.verdicts import VERDICTS
from tests.conformance.walk import Model, configs, layer_types, models

BOUND = 2e-5
ROUNDING = 2.0**-23
"""The relative error of a float32 product of two rounded factors."""


@dataclass(frozen=True)
class Gap:
    """How far theirs is from ours: (cosines and sines, rotated q and k)."""

    near: tuple[float, float]
    all: tuple[float, float]
    beyond: float
    """What is left of the largest difference when the rounding of their angle is taken off."""

    def __or__(self, other: "Gap") -> "Gap":
        return Gap(
            (max(self.near[0], other.near[0]), max(self.near[1], other.near[1])),
            (max(self.all[0], other.all[0]), max(self.all[1], other.all[1])),
            max(self.beyond, other.beyond),
        )


@dataclass(frozen=True)
class Row:
    """One rotary class, built from one config."""

    folder: str
    rotary: str
    config: str
    model_type: str
    encoding: str
    remark: str
    as_shipped: Gap | None
    in_float64: Gap | None
    error: str = ""
    reader: str | None = None
    """What from_config reads otherwise; "" if nothing, None where it is not asked."""

    @property
    def matched(self) -> bool:
        """Their formula is ours, and what they ship is off by no more than its rounding."""
        if self.error or self.as_shipped is None or self.in_float64 is None:
            return False
        return max(self.in_float64.all) <= BOUND and self.as_shipped.beyond <= BOUND

    @property
    def verdict(self) -> str:
        if self.matched:
            return "matched"
        return VERDICTS.get((self.folder, self.rotary), ("unexplained", ""))[0]

    @property
    def reason(self) -> str:
        if self.matched:
            return self.remark
        return VERDICTS.get((self.folder, self.rotary), ("", self.error or "differs"))[1]


@cache
def rows() -> tuple[Row, ...]:
    """Every rotary class of every model, in the order of the alphabet."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs, about token ids and rotary parameters
        return tuple(row for model in models() if model.rotates for row in _rows(model))


def _rows(model: Model) -> Iterator[Row]:
    for rotary in model.classes:
        built = list(configs(model, rotary))
        for config in built:
            yield row(model, rotary, config, cases.known(rotary, config))
        if not built:
            yield _failed(model, rotary, None, "no config of theirs builds it")
    if not model.classes:
        known = cases.WITHOUT_CLASS.get(model.folder)
        if known is None:
            yield _failed(model, "", None, "rotates without a rotary module that is known here")
        else:
            yield row(model, "", _own_config(model), known)


def _own_config(model: Model) -> Any:
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return CONFIG_MAPPING[model.folder]()


def _failed(model: Model, rotary: str, config: Any, error: str) -> Row:
    return Row(model.folder, rotary, *_named(config), "", "", None, None, error)


def _named(config: Any) -> tuple[str, str]:
    return type(config).__name__ if config is not None else "", getattr(config, "model_type", "")


def row(model: Model, rotary: str, config: Any, known: cases.Known) -> Row:
    """Build it, run it, compare it: as shipped, and with its own code in float64."""
    try:
        kinds = layer_types(config) if rotary else [None]
        names = [short(known.encoding(model, config, kind, "")) for kind in kinds]
        shipped, wide = (
            reduce(or_, [gap(model, rotary, config, kind, known, wide=wide) for kind in kinds])
            for wide in (False, True)
        )
    except Exception as error:  # a new module can fail in any way: that is a row of the table too
        return _failed(model, rotary, config, f"{type(error).__name__}: {error}"[:200])
    remark = known.remark or cases.REMARKS.get(model.folder, "")
    encodings = "; ".join(dict.fromkeys(names))
    return Row(
        model.folder,
        rotary,
        *_named(config),
        encodings,
        remark,
        shipped,
        wide,
        reader=_reader(model, rotary, config, known, kinds),
    )


def _reader(
    model: Model, rotary: str, config: Any, known: cases.Known, kinds: list[str | None]
) -> str | None:
    """What from_config makes of the config of a text model or a tower that we did not."""
    if not known.by_folder and rotary and config.model_type not in TOWERS:
        return None
    names = [name for name, _ in cases.appliers(model, rotary)]
    function = next((name for name in names if name.endswith("_interleave")), "")
    found = [
        disagreement(config, kind, known.encoding(model, config, kind, function)) for kind in kinds
    ]
    return next((one for one in found if one), "")


def gap(
    model: Model,
    rotary: str,
    config: Any,
    layer_type: str | None,
    known: cases.Known,
    *,
    wide: bool,
) -> Gap:
    """Measure one kind of layer: tables first, then queries and keys by each of their functions."""
    encoding = known.encoding(model, config, layer_type, "")
    with Wide() if wide else nullcontext(), torch.no_grad():
        built = getattr(model.module, rotary)(config).eval() if rotary else model.module
        fed = known.feed(built, config, layer_type)
        q, k = heads(len(fed.points), encoding.dim)
        turns = list(their_turns(model, rotary, fed, encoding, q, k))
    if not turns:
        raise ValueError("no function of theirs that rotates q and k was found")
    mine = encoding.cos_sin(fed.points, dtype=np.float64)
    theirs = per_pair(split(fed.out), cases.width(encoding) // 2)
    slack = ROUNDING * angles(encoding, fed.points) * encoding.attention_factor
    near = (np.abs(fed.points) <= 128).reshape(len(fed.points), -1).all(-1)
    measured = _gap(farthest(theirs, mine), slack, near, place=0)
    for function, out in turns:
        same = known.encoding(model, config, layer_type, function)
        ours = [cases.rotated(rotary, model.folder, function, same, x, fed) for x in (q, k)]
        off = farthest([x.double().numpy() for x in out], ours).max(axis=(0, 1))
        measured |= _gap(off, slack.max(-1, keepdims=True), near, place=1)
    return measured


def _gap(off: np.ndarray, slack: np.ndarray, near: np.ndarray, *, place: int) -> Gap:
    parts = [(0.0, 0.0), (0.0, 0.0)]
    parts[place] = (float(off[near].max(initial=0)), float(off.max()))
    (table_near, table_all), (turned_near, turned_all) = parts
    return Gap((table_near, turned_near), (table_all, turned_all), float((off - slack).max()))


def farthest(theirs: Sequence[np.ndarray], ours: Sequence[np.ndarray]) -> np.ndarray:
    """Entry by entry the larger difference of two: of cosines and sines, or of q and k."""
    one, other = (np.abs(a - b) for a, b in zip(theirs, ours, strict=True))
    return np.maximum(one, other)


def heads(length: int, dim: int) -> tuple[np.ndarray, np.ndarray]:
    """Random q and k (1, 2, length, dim), no pair of channels longer than 1.

    Then a channel of a rotated one can be off by no more than the angle is.
    """
    rng, half = np.random.default_rng(0), 0.5**0.5
    return rng.uniform(-half, half, (1, 2, length, dim)), rng.uniform(
        -half, half, (1, 2, length, dim)
    )


def angles(encoding: cases.Ours, points: np.ndarray) -> np.ndarray:
    """|p w| of each pair, which is what float32 rounds: (seq, pair)."""
    if isinstance(encoding, pe.RoPE):
        return np.abs(points[:, None] * encoding.frequencies())
    return np.abs(points[:, list(encoding.axis_of_pair)] * encoding.frequencies())


def their_turns(
    model: Model, rotary: str, fed: cases.Fed, encoding: cases.Ours, q: np.ndarray, k: np.ndarray
) -> Iterator[tuple[str, Tables]]:
    """Each function of theirs that rotates queries and keys, and what it makes of ours."""
    whole = torch.from_numpy(q), torch.from_numpy(k)
    if cases.KNOWN.get(rotary) is cases.CONFORMER:
        yield "", cases.conformer(model, fed, *whole)
    for name, function in cases.appliers(model, rotary):
        try:
            yield name, turned(function, fed.out, *whole, fed.ids)
        except RuntimeError:  # their attention cuts off the channels that turn before it calls
            kept, parts = zip(*(cases.apart(x, encoding) for x in whole), strict=True)
            out = zip(kept, turned(function, fed.out, *parts, fed.ids), strict=True)
            first = encoding.rotated == "trailing"
            one, other = (torch.cat(both if first else both[::-1], -1) for both in out)
            yield name, (one, other)


def short(encoding: cases.Ours) -> str:
    """An encoding in a few words for the table."""
    if isinstance(encoding, pe.AxialRoPE):
        return (
            f"AxialRoPE, {encoding.axes} axes, {cases.width(encoding)} of {encoding.dim} channels"
        )
    scaling = f", {type(encoding.scaling).__name__}" if encoding.scaling else ""
    part = "" if encoding.rotary_dim == encoding.dim else f"{encoding.rotary_dim} of "
    return f"RoPE, base {encoding.base:g}, {part}{encoding.dim} channels{scaling}"
