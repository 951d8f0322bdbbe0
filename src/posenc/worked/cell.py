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
from posenc.worked.maths import equation, frac, index, power, row


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
    steps = formulas(encoding, place, other, values[1], params, t)
    return Cell(tuple(steps), *values)


def convention(encoding: Encoding) -> dict[str, Any]:
    """What must be said beside a number: which of the usual conventions it follows."""
    plain = (str, bool, float)
    told = {
        field.name: getattr(encoding, field.name)
        for field in dataclasses.fields(encoding)  # pyright: ignore[reportArgumentType]
        if field.init and isinstance(getattr(encoding, field.name), plain) and field.name != "std"
    }
    return told | {"first position": 0, "dtype": "float32"}


def _value(encoding: Encoding, place: int, other: int, params: Params | None, dtype: Any) -> float:
    match encoding:
        case Additive():
            positions = np.array([place]) if encoding.axes is None else _point(encoding, place)
            return float(encoding.encode(positions, params, dtype=dtype)[0, _in(encoding, other)])
        case Rotary():
            cos, sin = encoding.cos_sin(_point(encoding, place), dtype=dtype)
            pair = _in(encoding, other) // 2 % cos.shape[-1]
            return float((cos if other % 2 == 0 else sin)[0, pair])
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


@singledispatch
def formulas(
    encoding: Encoding, place: int, other: int, truth: float, params: Params | None, t: Translate
) -> list[Step]:
    """The steps to one number; for an encoding that has none of its own, the number."""
    return [Step("value", t("The number that the encoding gives here."), (truth,))]


@formulas.register
def _(
    encoding: Sinusoidal, place: int, other: int, truth: float, _: Any, t: Translate
) -> list[Step]:
    w, sines = encoding.frequencies(), encoding.is_sine()
    wave = "sin" if sines[other] else "cos"
    pair = int(np.count_nonzero(sines[: other + 1] == sines[other])) - 1
    paper = encoding.spacing == "paper"
    exponent = frac(2 * pair, encoding.dim) if paper else frac(pair, max(len(w) - 1, 1))
    symbol = frac(row(2, "i"), "d") if paper else frac("i", row("n", " − ", 1))
    angle = float(place * w[pair])
    return [
        Step(
            "formula",
            t("Dimension {dimension} is the {wave} of pair i = {pair}.", dimension=other, wave=wave, pair=pair),
            (equation(index("PE", "p", other), row(wave, "(", frac("p", power(encoding.base, symbol)), ")")),),
        ),
        Step(
            "numbers",
            t("The numbers put in."),
            (
                equation(
                    index("PE", place, other),
                    row(wave, "(", frac(place, power(encoding.base, exponent)), ")"),
                    row(wave, "(", angle, ")"),
                    truth,
                ),
            ),
        ),
    ]  # fmt: skip


@formulas.register
def _(encoding: Learned, place: int, other: int, truth: float, _: Any, t: Translate) -> list[Step]:
    return [
        Step(
            "lookup",
            t("Position {position} is looked up: row {position}, nothing is computed.", position=place),
            (equation(index("PE", place, other), index("T", place, other), truth),),
        )
    ]  # fmt: skip


@formulas.register
def _(encoding: RoPE, place: int, other: int, truth: float, _: Any, t: Translate) -> list[Step]:
    pair, wave = other // 2, ("cos", "sin")[other % 2]
    w = float(encoding.frequencies()[pair])
    factor = encoding.attention_factor
    scaled = row(factor, " · ") if factor != 1 else row()
    return [
        Step(
            "formula",
            t("The angle of pair i = {pair} at position {position}.", pair=pair, position=place),
            (equation(index("θ", place, pair), row(place, " · ", w), place * w),),
        ),
        Step(
            "numbers",
            t("The numbers put in."),
            (equation(row(scaled, wave, " ", "θ"), row(scaled, wave, "(", place * w, ")"), truth),),
        ),
    ]


@formulas.register
def _(encoding: ALiBi, place: int, other: int, truth: float, _: Any, t: Translate) -> list[Step]:
    slope = float(encoding.head_slopes()[0])
    return [
        Step(
            "numbers",
            t("Head 1, query {query}, key {key}.", query=place, key=other),
            (equation(index("b", 1, place, other), row("−", slope, " · ", "|", place, " − ", other, "|"), truth),),
        )
    ]  # fmt: skip


@formulas.register
def _(encoding: T5Bias, place: int, other: int, truth: float, _: Any, t: Translate) -> list[Step]:
    bucket = int(encoding.buckets_of(np.array([place - other]))[0])
    return [_looked_up(place, other, bucket, truth, t)]


@formulas.register
def _(
    encoding: ClippedBias, place: int, other: int, truth: float, _: Any, t: Translate
) -> list[Step]:
    reach = encoding.reach
    return [_looked_up(place, other, int(np.clip(place - other, -reach, reach)) + reach, truth, t)]


def _looked_up(place: int, other: int, bucket: int, truth: float, t: Translate) -> Step:
    return Step(
        "numbers",
        t(
            "Head 1, query {query}, key {key}: the distance {distance} is row {row} of the table.",
            query=place,
            key=other,
            distance=place - other,
            row=bucket,
        ),
        (equation(index("b", 1, place, other), index("T", bucket, 1), truth),),
    )
