"""One number of an encoding worked out: its formula, the numbers, and the rounding error."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import rules
from posenc.core.encoding import Encoding, Params
from posenc.core.mechanisms import Additive, Rotary
from posenc.core.scaling import Scaling
from posenc.explanation.explanation import Step
from posenc.explanation.of.scalings import scaling_name
from posenc.explanation.place import Place, Point
from posenc.explanation.registry import explain_number
from posenc.explanation.values import value_at
from posenc.i18n import Language, translatable, translator


@dataclass(frozen=True)
class Cell:
    """The steps to a number, the number computed in float32, and the truth: float64."""

    steps: tuple[Step, ...]
    value: float
    truth: float

    @property
    def ulps(self) -> float:
        """The error of the value in units in the last place (ulps) of a float32.

        Below 2^-24 the unit is that of 2^-24: the sine of a multiple of pi is little more than the
        rounding error of its angle, and its own unit says nothing about the numbers beside it.

        >>> Cell((), 2.0**-24, 0.0).ulps == Cell((), 2.0**-23, 2.0**-24).ulps == 2.0**23
        True
        """
        step = float(np.spacing(np.float32(max(abs(self.truth), 2.0**-24))))
        return abs(self.value - self.truth) / step

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data."""
        steps = [step.to_json() for step in self.steps]
        return {"steps": steps, "value": self.value, "truth": self.truth, "ulps": self.ulps}


class DualPrecisionParams:
    """Parameters in float32 and in float64, cast once for any number of cells."""

    def __init__(self, params: Params) -> None:
        self.given = params or {}
        self.by_dtype = [
            (dtype, {name: np.asarray(value).astype(dtype) for name, value in self.given.items()})
            for dtype in (np.float32, np.float64)
        ]


def cell(
    encoding: Encoding,
    place: Point,
    other: Point,
    params: Params | DualPrecisionParams | None = None,
    *,
    head: int = 0,
    angle: bool = False,
    lang: Language = "en",
) -> Cell:
    """Work out one number of an encoding: an entry of e(p), a cosine or sine, a bias or a logit.

    place   a position; a tuple with a number for each axis if the encoding has several
    other   a dimension; for biases and scores, the position of the key
    params  the learned parameters; `DualPrecisionParams` if many cells share them
    head    for biases and scores, from 0
    angle   for rotations: the angle of the pair within half a turn, not its cosine or sine

    >>> from posenc import AxialSinusoidal, Sinusoidal
    >>> worked = cell(Sinusoidal(8), 3, 2)
    >>> round(worked.truth, 6), worked.ulps < 1
    (0.29552, True)
    >>> cell(AxialSinusoidal(8), (5, 3), 6).truth == cell(Sinusoidal(4), 3, 2).truth
    True
    """
    t = translator(lang)
    place = _check_place("place", place, encoding)
    rows = isinstance(encoding, Additive | Rotary)
    heads = 1 if rows else (encoding.heads or 1)
    rules.whole("head", head, least=0, most=heads - 1)
    other = rules.whole("other", other, **RANGE) if rows else _check_place("other", other, encoding)
    both = params if isinstance(params, DualPrecisionParams) else DualPrecisionParams(params)
    values = [
        value_at(encoding, place, other, cast, dtype, head, angle=angle)
        for dtype, cast in both.by_dtype
    ]
    at = Place(place, other, values[1], both.given, t, head, angle)
    steps = explain_number(encoding, at)
    looks_back = not rows and encoding.causal_only
    if looks_back and isinstance(place, int) and isinstance(other, int) and other > place:
        words = t(
            "Key {key} is ahead of query {query}: a decoder does not see it, and its mask takes "
            "the place of this number.",
            key=other,
            query=place,
        )
        steps = [Step("unseen", words), *steps]
    return Cell(tuple(steps), *values)


def convention(encoding: Encoding) -> dict[str, object]:
    """The conventions that the numbers of an encoding follow, by the names of its fields.

    >>> from posenc import RoPE, YaRN
    >>> followed = convention(RoPE(64, rotary_dim=32, scaling=YaRN(4.0, 4096)))
    >>> followed["rotary_dim"], followed["scaling"]
    (32, 'YaRN(4.0, 4096)')
    """
    fields = dataclasses.fields(encoding) if dataclasses.is_dataclass(encoding) else ()
    values = {f.name: getattr(encoding, f.name) for f in fields if f.init and f.name != "std"}
    return {
        name: scaling_name(value) if isinstance(value, Scaling) else value
        for name, value in values.items()
        if isinstance(value, str | bool | float | Scaling) or name == "rotary_dim"
    }


RANGE = {"least": 0, "most": 2**24 - 64}


def _check_place(name: str, place: object, encoding: Encoding) -> Point:
    """The position, if it is one that this encoding takes."""
    if encoding.axes is None:
        return rules.whole(name, place, **RANGE)
    if not isinstance(place, tuple) or len(place) != encoding.axes:
        raise translatable(
            TypeError,
            "{name} must be a tuple of {axes} numbers, one for each axis; got {place!r}",
            name=name,
            axes=encoding.axes,
            place=place,
        )
    for value in place:
        rules.real(f"each of {name}", value, **RANGE)
    return place
