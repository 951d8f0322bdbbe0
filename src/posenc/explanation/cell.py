"""One number of an encoding, worked: its formula, the numbers put in, and how exact it is."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core import rules
from posenc.core.mechanisms import Additive, Bias, Encoding, Params, Rotary, logits
from posenc.explanation.explanation import Step
from posenc.explanation.formulas import Place, formulas
from posenc.explanation.formulas.place import Point
from posenc.explanation.formulas.rotated import turned_by
from posenc.explanation.formulas.scores import vector
from posenc.explanation.scaled import named
from posenc.i18n import said, translator
from posenc.scalings import Scaling


@dataclass(frozen=True)
class Cell:
    """The steps to a number, that number in float32, and in float64: the truth beside it."""

    steps: tuple[Step, ...]
    value: float
    truth: float

    @property
    def ulps(self) -> float:
        """How far the value is from the truth, in steps between float32 numbers there.

        A truth below 2^-24 counts as 2^-24: of the sine of a multiple of pi little is left but what
        its angle was rounded by, and the steps there say nothing of the numbers beside it.

        >>> Cell((), 2.0**-24, 0.0).ulps == Cell((), 2.0**-23, 2.0**-24).ulps == 2.0**23
        True
        """
        step = float(np.spacing(np.float32(max(abs(self.truth), 2.0**-24))))
        return abs(self.value - self.truth) / step

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data."""
        steps = [step.to_json() for step in self.steps]
        return {"steps": steps, "value": self.value, "truth": self.truth, "ulps": self.ulps}


class InBoth:
    """Parameters in float32 and in float64: who works many cells out has them cast once."""

    def __init__(self, params: Params | None) -> None:
        self.given: Params = params or {}
        self.cast = [(dtype, _cast(params, dtype)) for dtype in (np.float32, np.float64)]


def cell(
    encoding: Encoding,
    place: Point,
    other: Point,
    params: Params | InBoth | None = None,
    *,
    head: int = 0,
    angle: bool = False,
    lang: str = "en",
) -> Cell:
    """The number at `place` (a position) and `other` (a dimension; of biases, the key's position).

    Where positions are points, they are tuples with a number for each axis. `head`, from 0, is for
    biases and scores. Of a rotation the number is the cosine or sine that the dimension is
    multiplied by, or the `angle` of its pair, within half a turn.

    >>> from posenc import AxialSinusoidal, Sinusoidal
    >>> worked = cell(Sinusoidal(8), 3, 2)
    >>> round(worked.truth, 6), worked.ulps < 1
    (0.29552, True)
    >>> cell(AxialSinusoidal(8), (5, 3), 6).truth == cell(Sinusoidal(4), 3, 2).truth
    True
    """
    t = translator(lang)
    place = _checked("place", place, encoding)
    rows = isinstance(encoding, Additive | Rotary)
    heads = 1 if rows else int(getattr(encoding, "heads", 1))
    rules.whole("head", head, least=0, most=heads - 1)
    other = rules.whole("other", other, **WHERE) if rows else _checked("other", other, encoding)
    both = params if isinstance(params, InBoth) else InBoth(params)
    if angle:
        values = [angle_at(encoding, place, other, dtype) for dtype, _ in both.cast]
    else:
        values = [value_at(encoding, place, other, cast, dtype, head) for dtype, cast in both.cast]
    at = Place(place, other, values[1], both.given, t, head, angle)
    steps: list[Step] = formulas(encoding, at)
    looks_back = isinstance(encoding, Bias) and encoding.causal_only
    if looks_back and isinstance(place, int) and isinstance(other, int) and other > place:
        words = t(
            "Key {key} is ahead of query {query}: a decoder does not see it, and its mask takes "
            "the place of this number.",
            key=other,
            query=place,
        )
        steps = [Step("unseen", words), *steps]
    return Cell(tuple(steps), *values)


def convention(encoding: Encoding) -> dict[str, Any]:
    """What must be said beside a number: which of the usual conventions it follows.

    >>> from posenc import RoPE, YaRN
    >>> told = convention(RoPE(64, rotary_dim=32, scaling=YaRN(4.0, 4096)))
    >>> told["rotary_dim"], told["scaling"]
    (32, 'YaRN(4.0, 4096)')
    """
    fields = dataclasses.fields(encoding) if dataclasses.is_dataclass(encoding) else ()
    values = {
        field.name: getattr(encoding, field.name)
        for field in fields
        if field.init and field.name != "std"
    }
    return {
        name: named(value) if isinstance(value, Scaling) else value
        for name, value in values.items()
        if isinstance(value, str | bool | float | Scaling) or name == "rotary_dim"
    }


WHERE = {"least": 0, "most": 2**24 - 64}


def _checked(name: str, place: Any, encoding: Encoding) -> Any:
    """A position as this encoding takes it, or a sentence that says how."""
    if encoding.axes is None:
        return rules.whole(name, place, **WHERE)
    if not isinstance(place, tuple) or len(place) != encoding.axes:
        raise said(
            TypeError,
            "{name} must be a tuple of {axes} numbers, one for each axis; got {place!r}",
            name=name,
            axes=encoding.axes,
            place=place,
        )
    for value in place:
        rules.real(f"each of {name}", value, **WHERE)
    return place


def value_at(
    encoding: Encoding, place: Any, other: Any, params: Params | None, dtype: Any, head: int = 0
) -> float:
    """The number there: what is added, a cosine or sine, the bias or logit of a head."""
    here = np.array([place])
    match encoding:
        case Additive():
            return float(encoding.encode(here, params, dtype=dtype)[0, _in(encoding, other)])
        case Rotary():
            pair, wave = turned_by(encoding, other)
            cos, sin = encoding.cos_sin(here, dtype=dtype)
            return float((cos if wave == "cos" else sin)[0, pair])
        case Bias():
            made = np.asarray(encoding.bias(here, np.array([other]), params))
            return float(made.astype(dtype)[head, 0, 0])
        case _:
            x = vector(encoding, dtype)
            return float(
                np.asarray(logits(encoding, x, x, here, np.array([other]), params))[head, 0, 0]
            )


def angle_at(encoding: Encoding, place: Any, other: Any, dtype: Any) -> float:
    """The angle that the pair of a dimension is turned by, within half a turn."""
    if not isinstance(encoding, Rotary):
        raise TypeError(f"angle must be left out for what does not rotate; got {encoding!r}")
    pair, _ = turned_by(encoding, other)
    cos, sin = encoding.cos_sin(np.array([place]), dtype=dtype)
    return float(np.arctan2(sin[0, pair], cos[0, pair]))


def _cast(params: Params | None, dtype: Any) -> Params:
    return {name: np.asarray(value).astype(dtype) for name, value in (params or {}).items()}


def _in(encoding: Encoding, dimension: int) -> int:
    dim = int(getattr(encoding, "dim", dimension + 1))
    if dimension >= dim:
        raise said(
            ValueError,
            "dimension must be 0 .. {last}; got {dimension}",
            last=dim - 1,
            dimension=dimension,
        )
    return dimension
