"""One number of an encoding, worked: its formula, the numbers put in, and how exact it is."""

import dataclasses
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from posenc import rules
from posenc.encodings import ALiBi, ClippedBias, Learned, RoPE, Sinusoidal, T5Bias
from posenc.mechanisms import Additive, Bias, Encoding, Params, Rotary, logits
from posenc.messages import Translate, translator
from posenc.worked.explanation import Step
from posenc.worked.maths import Maths, equation, frac, index, power, row


@dataclass(frozen=True)
class Cell:
    """The steps to a number, that number in float32, and in float64: the truth beside it."""

    steps: tuple[Step, ...]
    value: float
    truth: float

    @property
    def ulps(self) -> float:
        """How far the value is from the truth, in steps between float32 numbers there."""
        step = float(np.spacing(np.float32(max(abs(self.truth), 2.0**-24))))
        return abs(self.value - self.truth) / step

    def to_json(self) -> dict[str, Any]:
        """The cell as plain data."""
        steps = [step.to_json() for step in self.steps]
        return {"steps": steps, "value": self.value, "truth": self.truth, "ulps": self.ulps}


def cell(
    encoding: Encoding, place: int, other: int, params: Params | None = None, *, lang: str = "en"
) -> Cell:
    """The number at `place` (a position) and `other` (a dimension; of biases, the key's position).

    >>> worked = cell(Sinusoidal(8), 3, 2)
    >>> round(worked.truth, 6), worked.ulps < 1
    (0.29552, True)
    """
    rules.whole("place", place, least=0, most=2**24 - 64)
    rules.whole("other", other, least=0, most=2**24 - 64)
    t = translator(lang)
    values = [
        _value(encoding, place, other, _cast(params, dtype), dtype)
        for dtype in (np.float32, np.float64)
    ]
    steps = formulas(encoding, Place(place, other, values[1], t))
    return Cell(tuple(steps), *values)


def number_of_columns(encoding: Encoding, length: int) -> int:
    """How many cells a row has: dimensions of what has rows of its own, else keys."""
    rows = isinstance(encoding, Additive | Rotary)
    return int(getattr(encoding, "dim", length)) if rows else length


def convention(encoding: Encoding) -> dict[str, Any]:
    """What must be said beside a number: which of the usual conventions it follows."""
    plain = (str, bool, float)
    fields = dataclasses.fields(encoding) if dataclasses.is_dataclass(encoding) else ()
    return {
        field.name: getattr(encoding, field.name)
        for field in fields
        if field.init and isinstance(getattr(encoding, field.name), plain) and field.name != "std"
    }


def _value(encoding: Encoding, place: int, other: int, params: Params | None, dtype: Any) -> float:
    match encoding:
        case Additive():
            positions = np.array([place]) if encoding.axes is None else _point(encoding, place)
            return float(encoding.encode(positions, params, dtype=dtype)[0, _in(encoding, other)])
        case Rotary():
            cos, sin = encoding.cos_sin(_point(encoding, place), dtype=dtype)
            pair, wave = turned_by(encoding, other)
            return float((cos if wave == "cos" else sin)[0, pair])
        case Bias():
            q, k = (_point(encoding, p) for p in (place, other))
            made = np.asarray(encoding.bias(q, k, params))
            return float(made.astype(dtype)[0, 0, 0])
        case _:
            dim, heads = int(getattr(encoding, "dim", 8)), int(getattr(encoding, "heads", 1))
            x = np.random.default_rng(0).normal(size=(heads, 1, dim)).astype(dtype)
            q, k = (_point(encoding, p) for p in (place, other))
            return float(np.asarray(logits(encoding, x, x, q, k, params))[0, 0, 0])


def _cast(params: Params | None, dtype: Any) -> Params:
    return {name: np.asarray(value).astype(dtype) for name, value in (params or {}).items()}


def _in(encoding: Encoding, dimension: int) -> int:
    dim = int(getattr(encoding, "dim", dimension + 1))
    if dimension >= dim:
        raise ValueError(f"dimension must be 0 .. {dim - 1}; got {dimension}")
    return dimension


def _point(encoding: Encoding, place: int) -> np.ndarray:
    return np.array([place] if encoding.axes is None else [[place] * encoding.axes])


@dataclass(frozen=True)
class Place:
    """Where the number stands, the number, and the words for it."""

    row: int
    column: int
    truth: float
    t: Translate


def turned_by(encoding: Rotary, channel: int) -> tuple[int, str]:
    """The pair that a channel belongs to, and whether it is the first of it (cos) or not (sin)."""
    pairs = encoding.at(1).cos_sin(_point(encoding, 0))[0].shape[-1]
    dim = int(getattr(encoding, "dim", 2 * pairs))
    first = dim - 2 * pairs if encoding.rotated == "trailing" else 0
    if not first <= channel < first + 2 * pairs:
        raise ValueError(
            f"dimension must be {first} .. {first + 2 * pairs - 1}, those that are rotated; "
            f"got {channel}"
        )
    channel -= first
    if encoding.pairing == "halves":
        return channel % pairs, ("cos", "sin")[channel // pairs]
    return channel // 2, ("cos", "sin")[channel % 2]


@singledispatch
def formulas(_encoding: Encoding, at: Place) -> list[Step]:
    """The steps to one number; for an encoding that has none of its own, the number."""
    t = at.t
    return [Step("value", t("The number that the encoding gives here."), (at.truth,))]


@formulas.register
def _(encoding: Sinusoidal, at: Place) -> list[Step]:
    t, p, d = at.t, at.row, at.column
    w, sines = encoding.frequencies(), encoding.is_sine()
    wave = "sin" if sines[d] else "cos"
    pair = int(np.count_nonzero(sines[: d + 1] == sines[d])) - 1
    paper = encoding.spacing == "paper"
    exponent = frac(2 * pair, encoding.dim) if paper else frac(pair, max(len(w) - 1, 1))
    symbol = frac(row(2, "i"), "d") if paper else frac("i", row("n", " − ", 1))

    def waved(inside: Maths) -> Maths:
        return row(wave, "(", inside, ")")

    general = waved(frac("p", power(encoding.base, symbol)))
    special = waved(frac(p, power(encoding.base, exponent)))
    words = t(
        "Dimension {dimension} is the {wave} of pair i = {pair}.", dimension=d, wave=wave, pair=pair
    )
    return [
        Step("formula", words, (equation(index("PE", "p", d), general),)),
        Step(
            "numbers",
            t("The numbers put in."),
            (equation(index("PE", p, d), special, waved(float(p * w[pair])), at.truth),),
        ),
    ]


@formulas.register
def _(_encoding: Learned, at: Place) -> list[Step]:
    t = at.t
    words = t(
        "Position {position} is looked up: row {position}, nothing is computed.", position=at.row
    )
    sides = index("PE", at.row, at.column), index("T", at.row, at.column), at.truth
    return [Step("lookup", words, (equation(*sides),))]


@formulas.register
def _(encoding: RoPE, at: Place) -> list[Step]:
    t, p, factor = at.t, at.row, encoding.attention_factor
    pair, wave = turned_by(encoding, at.column)
    w = float(encoding.frequencies()[pair])
    scaled = row(factor, " · ") if factor != 1 else row()
    angle = equation(index("θ", p, pair), row(p, " · ", w), p * w)
    value = equation(
        row(scaled, wave, " ", index("θ", p, pair)), row(scaled, wave, "(", p * w, ")"), at.truth
    )
    words = t("The angle of pair i = {pair} at position {position}.", pair=pair, position=p)
    return [Step("formula", words, (angle,)), Step("numbers", t("The numbers put in."), (value,))]


@formulas.register
def _(encoding: ALiBi, at: Place) -> list[Step]:
    t, q, k = at.t, at.row, at.column
    slope = float(encoding.head_slopes()[0])
    half: tuple[Maths, ...] = (" − ", 0.5) if encoding.future == "offset" and q > k else ()
    away = row("(", "|", q, " − ", k, "|", *half, ")")
    formula = equation(index("b", 1, q, k), row("−", slope, " · ", away), at.truth)
    return [Step("numbers", t("Head 1, query {query}, key {key}.", query=q, key=k), (formula,))]


@formulas.register
def _(encoding: T5Bias, at: Place) -> list[Step]:
    return [_looked_up(at, int(encoding.buckets_of(np.array([at.row - at.column]))[0]))]


@formulas.register
def _(encoding: ClippedBias, at: Place) -> list[Step]:
    reach = encoding.reach
    return [_looked_up(at, int(np.clip(at.row - at.column, -reach, reach)) + reach)]


def _looked_up(at: Place, line: int) -> Step:
    t = at.t
    words = t(
        "Head 1, query {query}, key {key}: the distance {distance} is row {row} of the table.",
        query=at.row,
        key=at.column,
        distance=at.row - at.column,
        row=line,
    )
    formula = equation(index("b", 1, at.row, at.column), index("T", line, 1), at.truth)
    return Step("numbers", words, (formula,))
