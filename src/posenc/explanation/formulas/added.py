"""Formulas of what is added to embeddings."""

import math

import numpy as np

from posenc.encodings import AxialSinusoidal, FourierFeatures, Learned, LearnedFourier, Sinusoidal
from posenc.encodings.fourier import gelu
from posenc.explanation.explanation import Step
from posenc.explanation.formulas.place import Place, bracketed, dotted, formulas, summed, worked
from posenc.explanation.maths import Maths, frac, index, power, row
from posenc.explanation.question import together


@formulas.register
def _(encoding: Sinusoidal, at: Place) -> list[Step]:
    t, d = at.t, at.column
    pair, wave = _wave(encoding, d)
    words = t(
        "Dimension {dimension} is the {wave} of pair i = {pair}.", dimension=d, wave=wave, pair=pair
    )
    return _sinusoid(encoding, d, words, "p", at.row, at)


@formulas.register
def _(encoding: AxialSinusoidal, at: Place) -> list[Step]:
    t = at.t
    d = at.column
    for axis, block in encoding.blocks():
        if d < block.dim:
            pair, wave = _wave(block, d)
            words = t(
                "Dimension {dimension} is the {wave} of pair i = {pair} of axis {axis}, which has "
                "d = {channels} dimensions.",
                dimension=at.column,
                wave=wave,
                pair=pair,
                axis=axis,
                channels=block.dim,
            )
            return _sinusoid(block, d, words, index("p", axis), at.row[axis], at)
        d -= block.dim
    raise AssertionError("the blocks have all dimensions")


def _wave(encoding: Sinusoidal, dimension: int) -> tuple[int, str]:
    """The pair of a dimension, and whether it is its sine or its cosine."""
    sines = encoding.is_sine()
    pair = int(np.count_nonzero(sines[: dimension + 1] == sines[dimension])) - 1
    return pair, "sin" if sines[dimension] else "cos"


def _sinusoid(
    encoding: Sinusoidal, d: int, words: str, symbol: Maths, p: float, at: Place
) -> list[Step]:
    """sin(p / base^(2i/d)), in letters and in numbers."""
    pair, wave = _wave(encoding, d)
    w = encoding.frequencies()
    paper = encoding.spacing == "paper"
    exponent = frac(2 * pair, encoding.dim) if paper else frac(pair, max(len(w) - 1, 1))
    letters = frac(row(2, "i"), "d") if paper else frac("i", row("n", " − ", 1))

    def waved(inside: Maths) -> Maths:
        return row(wave, "(", inside, ")")

    general = index("PE", "p", at.column), waved(frac(symbol, power(encoding.base, letters)))
    special = waved(frac(p, power(encoding.base, exponent)))
    name = index("PE", _point(at.row), at.column)
    return worked(words, general, (name, special, waved(float(p * w[pair])), at.truth), at=at)


def _point(place: object) -> Maths:
    """A position as an index: 3, or (3, 5)."""
    if not isinstance(place, tuple):
        return place  # pyright: ignore[reportReturnType]
    parts: list[Maths] = []
    for value in place:
        parts += [*([", "] if parts else []), value]
    return row("(", *parts, ")")


@formulas.register
def _(_encoding: Learned, at: Place) -> list[Step]:
    t = at.t
    words = t(
        "Position {position} is looked up: row {position}, nothing is computed.", position=at.row
    )
    general = index("PE", "p", at.column), index("T", "p", at.column)
    sides = index("PE", at.row, at.column), index("T", at.row, at.column), at.truth
    return worked(words, general, sides, at=at)


@formulas.register
def _(encoding: FourierFeatures, at: Place) -> list[Step]:
    t, half = at.t, encoding.dim // 2
    first, second = encoding.order.split("-")
    wave, column = (first if at.column < half else second), at.column % half
    g = np.asarray(at.params["matrix"], dtype=np.float64)[:, column]
    v = np.asarray(at.row, dtype=np.float64)
    v = 2 * v - 1 if encoding.centred else v
    words = t(
        "Dimension {dimension} is the {wave} of the point v along direction {direction}, drawn at "
        "random.",
        dimension=at.column,
        wave=wave,
        direction=column,
    )
    if encoding.centred:
        words = together(words, t("v is the point moved from 0 .. 1 to −1 .. 1."))
    general = (
        index("PE", "v", at.column),
        row(wave, "(", 2, "π", " v", " · ", index("g", column), ")"),
    )
    angle = float(2 * math.pi * (v @ g))
    inside = row(2, " · ", "π", " · ", "(", dotted(v, g), ")")
    sides = (
        index("PE", "v", at.column),
        row(wave, "(", inside, ")"),
        row(wave, "(", angle, ")"),
        at.truth,
    )
    return worked(words, general, sides, at=at)


@formulas.register
def _(encoding: LearnedFourier, at: Place) -> list[Step]:
    t = at.t
    weights = {name: np.asarray(value, dtype=np.float64) for name, value in at.params.items()}
    x = encoding.hidden_inputs(np.asarray(at.row, dtype=np.float64), weights)
    units = gelu(x)
    column, b = weights["w_2"][:, at.column], float(weights["b_2"][at.column])
    words = t(
        "Waves of the point along {features} learned directions go through a small network; "
        "dimension {dimension} adds up what its {hidden} hidden units give.",
        features=encoding.features // 2,
        dimension=at.column,
        hidden=encoding.hidden,
    )
    unit = row("GELU", "(", index("x", "h"), ")", " · ", index("W", "h", at.column))
    general = index("PE", "v", at.column), row("Σ", " ", unit, " + ", index("b", at.column))
    table = summed(
        "hidden",
        t("What each hidden unit adds."),
        ("h", "x", "GELU(x)", "W", "GELU(x) · W"),
        x, units, column, units * column,
    )  # fmt: skip
    sides = (
        index("PE", "v", at.column),
        row(bracketed(units @ column), " + ", bracketed(b)),
        at.truth,
    )
    formula, numbers = worked(words, general, sides, at=at)
    return [formula, table, numbers]
