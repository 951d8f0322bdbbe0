"""Encodings that are added to embeddings, worked: waves, learned tables, and any other."""

from collections.abc import Iterator

import numpy as np

from posenc.core.mechanisms import Additive
from posenc.core.positions import grid
from posenc.encodings import Learned, Sinusoidal
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, matrix, power, row
from posenc.explanation.question import Question, example_embeddings, matrix_table, note, table

WORKED_PAIRS = 4
"""How many pairs have their formulas written out; the tables have all of them."""


def sinusoidal(encoding: Sinusoidal, asked: Question) -> Iterator[Step]:
    """Exponent, divisor, angle, sine and cosine; the sum with embeddings; the shift matrix."""
    t, w = asked.t, encoding.frequencies()
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
        t("The exponent of each pair gives its divisor, and how many positions a turn takes."),
        table=table(
            ("i", t("exponent"), t("divisor"), t("frequency"), t("wavelength")),
            *zip(i, exponents, 1 / w, w, 2 * np.pi / w, strict=True),
        ),
    )
    yield _angles(encoding, asked, exponents)
    yield from additive(encoding, asked)
    if encoding.dim % 2 == 0:
        yield _shift(encoding, asked)


def _columns(encoding: Sinusoidal) -> tuple[tuple[str, Maths], tuple[str, Maths]]:
    if encoding.layout == "interleaved":
        return ("sin", row(2, "i")), ("cos", row(2, "i", " + ", 1))
    return ("sin", "i"), ("cos", row("i", " + ", len(encoding.frequencies())))


def _angles(encoding: Sinusoidal, asked: Question, exponents: np.ndarray) -> Step:
    t, p, w = asked.t, asked.position, encoding.frequencies()
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


def _shift(encoding: Sinusoidal, asked: Question) -> Step:
    """e(p + 1) = M e(p), with M the same at every p."""
    t, p = asked.t, asked.position
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


def learned(encoding: Learned, asked: Question) -> Iterator[Step]:
    """A row of the table for each position, and what happens beyond the last one."""
    t, p = asked.t, asked.position
    yield Step(
        "formula",
        t(
            "Each position has a row of its own in a table of {length} × {dim} numbers that "
            "training finds. Here the rows are random, as before training.",
            length=encoding.length,
            dim=encoding.dim,
        ),
        (equation(index("PE", "p"), index("T", "p")),),
    )
    yield from additive(encoding, asked)
    if p < encoding.length:
        yield Step(
            "lookup",
            t("Position {position} is looked up: row {position}, nothing is computed.", position=p),
            table=matrix_table(t("position"), [str(p)], encoding.encode([p], asked.params)),
        )
    yield note(
        "beyond",
        t(
            "Position {position} has no row: there is no encoding of it, and asking is an error.",
            position=max(p, encoding.length),
        ),
    )


def additive(encoding: Additive, asked: Question) -> Iterator[Step]:
    """The encoding of each token, and its sum with the embeddings: for any additive encoding."""
    t = asked.t
    if encoding.axes is None:
        positions, names = np.arange(asked.length), asked.names
    else:
        positions = _points(encoding.axes, asked.length)
        names = tuple(str(tuple(point.tolist())) for point in positions)
    values = encoding.encode(positions, asked.params)
    yield Step(
        "encodings",
        t("The encoding of each position, a column for each dimension."),
        table=matrix_table(t("position"), names, values),
    )
    embeddings = example_embeddings(len(positions), encoding.dim)
    total = encoding.add(embeddings, positions, asked.params)
    first = float(embeddings[-1, 0]), float(values[-1, 0]), float(total[-1, 0])
    yield Step(
        "addition",
        t("Embedding + encoding = input of the model; the embeddings are made up: 0.1, 0.2, …"),
        (equation(row(first[0], *_plus(first[1])), first[2]),),
        matrix_table(t("input"), names, total),
    )


def _plus(value: float) -> tuple[Maths, Maths]:
    return (" − ", -value) if value < 0 else (" + ", value)


def _points(axes: int, count: int) -> np.ndarray:
    """The first points of a grid that is `count` wide on every axis, small enough to show."""
    side = max(2, min(count, 3))
    return grid(*([side] * axes))[: side * side]
