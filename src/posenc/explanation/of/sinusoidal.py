"""Sinusoidal encodings explained, on one axis and on several."""

from collections.abc import Iterator

import numpy as np

from posenc.encodings.sinusoidal import AxialSinusoidal, Sinusoidal
from posenc.explanation.additive import additive_steps
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, join, matrix, power, row
from posenc.explanation.place import Place, substitution
from posenc.explanation.question import Question, matrix_table, number_rows, table
from posenc.explanation.registry import explain_with

WORKED_PAIRS = 4
"""How many pairs have their formulas written out; the table has all of them."""


def sinusoidal_steps(encoding: Sinusoidal, question: Question) -> Iterator[Step]:
    """Exponent, divisor, angle, sine and cosine; the sum with embeddings; the shift matrix."""
    t, w = question.t, encoding.frequencies()
    i = np.arange(len(w))
    exponents = 2 * i / encoding.dim if encoding.spacing == "paper" else i / max(len(w) - 1, 1)
    angle = frac("p", power(encoding.base, _exponent(encoding)))
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
            *number_rows(exponents, 1 / w, w, 2 * np.pi / w),
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


def _exponent(encoding: Sinusoidal, pair: int | None = None) -> Maths:
    """The exponent of the base, of pair i in letters or of a given one."""
    if encoding.spacing == "paper":
        return frac(row(2, "i"), "d") if pair is None else frac(2 * pair, encoding.dim)
    pairs = len(encoding.frequencies())
    return frac("i", row("n", " − ", 1)) if pair is None else frac(pair, max(pairs - 1, 1))


def _angles_step(encoding: Sinusoidal, question: Question, exponents: np.ndarray) -> Step:
    t, p, w = question.t, question.position, encoding.frequencies()
    values, is_sine = encoding.encode([p])[0].tolist(), encoding.is_sine()
    waves = {"sin": np.flatnonzero(is_sine).tolist(), "cos": np.flatnonzero(~is_sine).tolist()}
    missing = [""] * (len(w) - len(waves["cos"]))  # the last sine of an odd width is alone
    sines, cosines = ([values[column] for column in columns] for columns in waves.values())
    formulas = [
        equation(
            index("PE", p, columns[i]),
            row(wave, "(", frac(p, power(encoding.base, float(exponents[i]))), ")"),
            row(wave, "(", float(p * w[i]), ")"),
            values[columns[i]],
        )
        for i in range(min(len(w), WORKED_PAIRS))
        for wave, columns in waves.items()
        if i < len(columns)
    ]
    rows = number_rows(waves["sin"], p * w, sines, cosines + missing)
    return Step(
        "angles",
        t("At position {position} the angle of each pair is position × frequency.", position=p),
        tuple(formulas),
        table(("i", t("dimension"), t("angle"), "sin", "cos"), *rows),
    )


def _shift_step(encoding: Sinusoidal, question: Question) -> Step:
    """The matrix M of e(p + 1) = M e(p), the same at every p."""
    t, p = question.t, question.position
    shift, (here, there) = encoding.shift(1), encoding.encode([p, p + 1])
    moved = shift @ here
    i = min(1, len(encoding.frequencies()) - 1)
    pair = [int(np.flatnonzero(sines)[i]) for sines in (encoding.is_sine(), ~encoding.is_sine())]
    block, before, after = shift[np.ix_(pair, pair)], here[pair, None], moved[pair, None]
    m, x, y = (matrix(*map(tuple, lines.tolist())) for lines in (block, before, after))
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
        (equation(row(m, x), y),),
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

    def of_wave(inside: Maths) -> Maths:
        return row(wave, "(", inside, ")")

    def of_position(p: Maths, exponent: Maths) -> Maths:
        return of_wave(frac(p, power(encoding.base, exponent)))

    general = index("PE", "p", at.column), of_position(symbol, _exponent(encoding))
    angle = of_wave(float(p * encoding.frequencies()[pair]))
    point = row("(", *join(", ", at.row).parts, ")") if isinstance(at.row, tuple) else at.row
    name = index("PE", point, at.column)
    sides = name, of_position(p, _exponent(encoding, pair)), angle, at.truth
    return substitution(words, general, sides, at=at)


explain_with(Sinusoidal, number=sinusoidal_number, steps=sinusoidal_steps)
explain_with(AxialSinusoidal, number=axial_sinusoidal_number)
