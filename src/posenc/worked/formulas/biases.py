"""Formulas of biases: one number of a head. Heads are called 1, 2, … as papers do."""

import numpy as np

from posenc.encodings import (
    FIRE,
    KERPLE,
    ALiBi,
    ClippedBias,
    NoPE,
    Sandwich,
    SwinBias,
    SwinV2Bias,
    T5Bias,
    TwoSidedALiBi,
)
from posenc.worked.explanation import Step
from posenc.worked.formulas.place import (
    Place,
    bracketed,
    formulas,
    summed,
    worked,
)
from posenc.worked.maths import Maths, equation, frac, index, power, row


def _b(at: Place) -> Maths:
    if isinstance(at.row, tuple):
        return index("b", at.head + 1)
    return index("b", at.head + 1, at.row, at.column)


def _pair(at: Place) -> str:
    t = at.t
    return t(
        "Head {head}, query {query}, key {key}.", head=at.head + 1, query=at.row, key=at.column
    )


def _away(at: Place) -> Maths:
    return row("|", at.row, " − ", at.column, "|")


GENERAL = row("|", "i", " − ", "j", "|")
B = index("b", "h", "i", "j")


@formulas.register
def _(encoding: ALiBi, at: Place) -> list[Step]:
    q, k = at.row, at.column
    slope = float(encoding.head_slopes()[at.head])
    half: tuple[Maths, ...] = (" − ", 0.5) if encoding.future == "offset" and q > k else ()
    away = row("(", _away(at), *half, ")")
    formula = equation(_b(at), row("−", slope, " · ", away), at.truth)
    return [Step("numbers", _pair(at), (formula,))]


@formulas.register
def _(_encoding: TwoSidedALiBi, at: Place) -> list[Step]:
    t = at.t
    behind = at.row >= at.column
    s = float(np.asarray(at.params["behind" if behind else "ahead"])[at.head])
    words = (
        t("A learned slope for keys behind.") if behind else t("A learned slope for keys ahead.")
    )

    def slope(exponent: Maths) -> Maths:
        return frac(1, row(1, " + ", power("e", exponent)))

    general = B, row("−", slope(row("−", "s")), " · ", GENERAL)
    special = row("−", slope(-s), " · ", _away(at))
    return worked(words, general, (_b(at), special, at.truth), at=at)


@formulas.register
def _(encoding: KERPLE, at: Place) -> list[Step]:
    t = at.t
    r1, r2 = (max(0.01, float(np.asarray(at.params[name])[at.head])) for name in ("r1", "r2"))
    if encoding.kernel == "log":
        words = t("A learned logarithm of the distance.")
        general = row(
            "−", index("r", 1), " · ", "ln", "(", 1, " + ", index("r", 2), " · ", GENERAL, ")"
        )
        special = row("−", r1, " · ", "ln", "(", 1, " + ", r2, " · ", _away(at), ")")
    else:
        r2 = min(r2, 2.0)
        words = t("A learned power of the distance.")
        general = row("−", index("r", 1), " · ", power(GENERAL, index("r", 2)))
        special = row("−", r1, " · ", power(_away(at), r2))
    return worked(words, (B, general), (_b(at), special, at.truth), at=at)


@formulas.register
def _(encoding: FIRE, at: Place) -> list[Step]:
    t = at.t
    given = {name: np.asarray(value, dtype=np.float64) for name, value in at.params.items()}
    c, longest = float(given["c"]), abs(float(given["multiplier"]) * encoding.length)
    least = max(float(at.row), longest)
    x = float(np.log1p(abs(c * (at.row - at.column))) / (np.log1p(abs(c * least)) + encoding.eps))
    hidden = np.maximum(given["w1"][:, 0] * x + given["b1"], 0)
    column, b = given["w2"][at.head], float(given["b2"][at.head])

    def phi(inside: Maths) -> Maths:
        return row("ln", "(", 1, " + ", "|", "c", " · ", inside, "|", ")")

    def worked_phi(inside: Maths) -> Maths:
        return row("ln", "(", 1, " + ", "|", bracketed(c), " · ", inside, "|", ")")

    ratio = frac(
        phi(row("(", "i", " − ", "j", ")")),
        row(phi(row("max", "(", "i", ", ", "L", ")")), " + ", "ε"),
    )
    numbers = frac(
        worked_phi(row("(", at.row, " − ", at.column, ")")),
        row(worked_phi(row("max", "(", at.row, ", ", longest, ")")), " + ", encoding.eps),
    )
    words = t(
        "The distance, relative to how long the text is so far, goes through a small network of "
        "{hidden} hidden units.",
        hidden=encoding.hidden,
    )
    table = summed(
        "hidden",
        t("What each hidden unit adds."),
        ("h", "max(0, w x + b)", "W", "max(0, w x + b) · W"),
        hidden, column, hidden * column,
    )  # fmt: skip
    total = _b(at), row(bracketed(hidden @ column), " + ", bracketed(b)), at.truth
    return [
        Step("formula", words, (equation("x", ratio),)),
        Step("ratio", t("The numbers put in."), (equation("x", numbers, x),)),
        table,
        Step("numbers", t("Their sum, and what the head adds."), (equation(*total),)),
    ]


@formulas.register
def _(encoding: Sandwich, at: Place) -> list[Step]:
    t = at.t
    w = encoding.frequencies()
    cosines = np.cos((at.row - at.column) * w)
    words = t(
        "The cosines of the distance at {count} frequencies, added up; head h of H divides the sum "
        "by 8h/H.",
        count=len(w),
    )
    wave = row("cos", "(", "(", "i", " − ", "j", ")", " ", index("w", "k"), ")")
    general = B, frac(row("Σ", " ", wave), row(8, " · ", frac("h", "H")))
    table = summed(
        "cosines", t("The cosine at each frequency."), ("k", "w", "cos"), w, cosines, first=1
    )
    sides = (
        _b(at),
        frac(float(cosines.sum()), row(8, " · ", frac(at.head + 1, encoding.heads))),
        at.truth,
    )
    formula, numbers = worked(words, general, sides, at=at)
    return [formula, table, numbers]


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
        "Head {head}, query {query}, key {key}: the distance {distance} is row {row} of the table.",
        head=at.head + 1,
        query=at.row,
        key=at.column,
        distance=at.row - at.column,
        row=line,
    )
    return Step("numbers", words, (equation(_b(at), index("T", line, at.head + 1), at.truth),))


@formulas.register
def _(encoding: SwinBias, at: Place) -> list[Step]:
    t = at.t
    height, width = encoding.window
    dy, dx = (int(q - k) for q, k in zip(at.row, at.column, strict=True))
    line = (dy + height - 1) * (2 * width - 1) + dx + width - 1
    words = t(
        "Head {head}: query minus key is {rows} in rows and {columns} in columns, which is row "
        "{row} of the table.",
        head=at.head + 1,
        rows=dy,
        columns=dx,
        row=line,
    )
    place = row("(", dy, " + ", height - 1, ")", " · ", 2 * width - 1, " + ", dx, " + ", width - 1)
    return [
        Step("formula", words, (equation("r", place, line),)),
        Step(
            "numbers",
            t("The numbers put in."),
            (equation(_b(at), index("T", line, at.head + 1), at.truth),),
        ),
    ]


@formulas.register
def _(encoding: SwinV2Bias, at: Place) -> list[Step]:
    t = at.t
    given = {name: np.asarray(value, dtype=np.float64) for name, value in at.params.items()}
    sides = encoding.pretrained_window or encoding.window
    away = [float(q - k) for q, k in zip(at.row, at.column, strict=True)]
    where = [float(encoding.coordinates(np.array(d), s)) for d, s in zip(away, sides, strict=True)]
    hidden = np.maximum(given["w1"] @ where + given["b1"], 0)
    x = float(given["w2"][at.head] @ hidden)
    words = t(
        "Query minus key is {rows} in rows and {columns} in columns. Their logarithms go through a "
        "small network of {hidden} hidden units, which gives x for head {head}.",
        rows=int(away[0]),
        columns=int(away[1]),
        hidden=encoding.hidden,
        head=at.head + 1,
    )
    scaled = [
        equation(index("t", axis), _logarithm(d, side), value)
        for axis, (d, side, value) in enumerate(zip(away, sides, where, strict=True))
    ]
    general = _b(at), frac(16, row(1, " + ", power("e", row("−", "x"))))
    special = general[0], frac(16, row(1, " + ", power("e", -x))), at.truth
    formula, numbers = worked(words, general, special, at=at)
    return [formula, Step("logarithms", t("The logarithms."), tuple(scaled)), numbers]


def _logarithm(away: float, side: int) -> Maths:
    """sign(d) log2(1 + 8 |d| / (side - 1)) / log2 8."""
    inside = row(1, " + ", frac(row(8, " · ", abs(int(away))), max(side - 1, 1)))
    sign: tuple[Maths, ...] = ("−",) if away < 0 else ()
    return row(*sign, frac(row("ln", "(", inside, ")"), row("ln", "(", 8, ")")))


@formulas.register
def _(_encoding: NoPE, at: Place) -> list[Step]:
    t = at.t
    return [Step("numbers", t("Nothing is added, at any distance."), (equation(_b(at), at.truth),))]
