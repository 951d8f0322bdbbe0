"""Sinusoidal encodings explained, on one axis and on several."""

from collections.abc import Iterator

import numpy as np

from posenc.encodings.sinusoidal import AxialSinusoidal, Sinusoidal
from posenc.explanation.additive import additive_steps
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, matrix, power, row
from posenc.explanation.place import Place, substitution
from posenc.explanation.question import Question, matrix_table, table
from posenc.explanation.registry import explain_with

WORKED_PAIRS = 4
"""How many pairs have their formulas written out; the table has all of them."""


def sinusoidal_steps(encoding: Sinusoidal, question: Question) -> Iterator[Step]:
    """Exponent, divisor, angle, sine and cosine; the sum with embeddings; the shift matrix."""
    t, w = question.t, encoding.frequencies()
    i, pairs = np.arange(len(w)), len(w)
    exponents = 2 * i / encoding.dim if encoding.spacing == "paper" else i / max(pairs - 1, 1)
    above: Maths = row(2, "i") if encoding.spacing == "paper" else "i"
    below: Maths = "d" if encoding.spacing == "paper" else row("n", " − ", 1)
    angle = frac("p", power(encoding.base, frac(above, below)))
    yield Step(
        "formula",
        t("Each pair of dimensions i is a sine and a cosine of one angle."),
        tuple(
            equation(index("PE", "p", column), row(wave, "(", angle, ")"))
            for wave, column in _columns(encoding)
        ),
    )
    yield Step(
        "frequencies",
        t(
            "The exponent of each pair gives its divisor, and the number of positions in a full "
            "turn."
        ),
        table=table(
            ("i", t("exponent"), t("divisor"), t("frequency"), t("wavelength")),
            *zip(i, exponents, 1 / w, w, 2 * np.pi / w, strict=True),
        ),
    )
    yield _angles_step(encoding, question, exponents)
    yield from additive_steps(encoding, question)
    if encoding.dim % 2 == 0:
        yield _shift_step(encoding, question)


def _columns(encoding: Sinusoidal) -> tuple[tuple[str, Maths], tuple[str, Maths]]:
    if encoding.layout == "interleaved":
        return ("sin", row(2, "i")), ("cos", row(2, "i", " + ", 1))
    return ("sin", "i"), ("cos", row("i", " + ", len(encoding.frequencies())))


def _angles_step(encoding: Sinusoidal, question: Question, exponents: np.ndarray) -> Step:
    t, p, w = question.t, question.position, encoding.frequencies()
    values = encoding.encode([p])[0]
    sines = np.flatnonzero(encoding.is_sine())
    cosines = np.flatnonzero(~encoding.is_sine())
    rows = [
        (i, int(sines[i]), p * w[i], values[sines[i]], *_cosine(values, cosines, i))
        for i in range(len(w))
    ]
    formulas: list[Maths] = []
    for i in range(min(len(w), WORKED_PAIRS)):
        for wave, column in (("sin", sines), ("cos", cosines)):
            if i < len(column):
                formulas.append(
                    equation(
                        index("PE", p, int(column[i])),
                        row(wave, "(", frac(p, power(encoding.base, float(exponents[i]))), ")"),
                        row(wave, "(", float(p * w[i]), ")"),
                        float(values[column[i]]),
                    )
                )
    return Step(
        "angles",
        t("At position {position} the angle of each pair is position × frequency.", position=p),
        tuple(formulas),
        table(("i", t("dimension"), t("angle"), "sin", "cos"), *rows),
    )


def _cosine(values: np.ndarray, cosines: np.ndarray, i: int) -> tuple[float | str]:
    return (float(values[cosines[i]]) if i < len(cosines) else "",)


def _shift_step(encoding: Sinusoidal, question: Question) -> Step:
    """The matrix M of e(p + 1) = M e(p), the same at every p."""
    t, p = question.t, question.position
    shift, (here, there) = encoding.shift(1), encoding.encode([p, p + 1])
    moved = shift @ here
    i = min(1, len(encoding.frequencies()) - 1)
    pair = [int(np.flatnonzero(sines)[i]) for sines in (encoding.is_sine(), ~encoding.is_sine())]
    block = shift[np.ix_(pair, pair)]
    return Step(
        "shift",
        t(
            "Moving by one position is one rotation of each pair, the same at every position: "
            "a matrix M with PE(p + 1) = M PE(p). The formula is for pair {pair}, the table for "
            "all; M PE({position}) differs from PE({next}) by {error} at most.",
            pair=i,
            position=p,
            next=p + 1,
            error=f"{np.abs(moved - there).max():.2g}",
        ),
        (
            equation(
                row(
                    matrix(*[tuple(map(float, line)) for line in block]),
                    matrix(*[(float(here[c]),) for c in pair]),
                ),
                matrix(*[(float(moved[c]),) for c in pair]),
            ),
        ),
        matrix_table("M", [str(line) for line in range(encoding.dim)], shift),
    )


def sinusoidal_number(encoding: Sinusoidal, at: Place) -> list[Step]:
    """The sine or cosine in one dimension."""
    t, d = at.t, at.column
    pair, wave = _wave(encoding, d)
    words = t(
        "Dimension {dimension} is the {wave} of pair i = {pair}.", dimension=d, wave=wave, pair=pair
    )
    return _sinusoid_steps(encoding, d, words, "p", at.row, at)


def axial_sinusoidal_number(encoding: AxialSinusoidal, at: Place) -> list[Step]:
    """The sine or cosine in one dimension, by the axis that it belongs to."""
    t, d = at.t, at.column
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
            return _sinusoid_steps(block, d, words, index("p", axis), at.row[axis], at)
        d -= block.dim
    raise AssertionError("the blocks have all dimensions")


def _wave(encoding: Sinusoidal, dimension: int) -> tuple[int, str]:
    """The pair of a dimension, and which of its two waves it is."""
    sines = encoding.is_sine()
    pair = int(np.count_nonzero(sines[: dimension + 1] == sines[dimension])) - 1
    return pair, "sin" if sines[dimension] else "cos"


def _sinusoid_steps(
    encoding: Sinusoidal, d: int, words: str, symbol: Maths, p: float, at: Place
) -> list[Step]:
    """sin(p / base^(2i/d)), in letters and in numbers."""
    pair, wave = _wave(encoding, d)
    w = encoding.frequencies()
    paper = encoding.spacing == "paper"
    exponent = frac(2 * pair, encoding.dim) if paper else frac(pair, max(len(w) - 1, 1))
    letters = frac(row(2, "i"), "d") if paper else frac("i", row("n", " − ", 1))

    def of_wave(inside: Maths) -> Maths:
        return row(wave, "(", inside, ")")

    general = index("PE", "p", at.column), of_wave(frac(symbol, power(encoding.base, letters)))
    special = of_wave(frac(p, power(encoding.base, exponent)))
    name = index("PE", _point(at.row), at.column)
    sides = name, special, of_wave(float(p * w[pair])), at.truth
    return substitution(words, general, sides, at=at)


def _point(place: object) -> Maths:
    """A position as an index: 3, or (3, 5)."""
    if not isinstance(place, tuple):
        return place  # pyright: ignore[reportReturnType]
    parts: list[Maths] = []
    for value in place:
        parts += [*([", "] if parts else []), value]
    return row("(", *parts, ")")


explain_with(Sinusoidal, number=sinusoidal_number, steps=sinusoidal_steps)
explain_with(AxialSinusoidal, number=axial_sinusoidal_number)
