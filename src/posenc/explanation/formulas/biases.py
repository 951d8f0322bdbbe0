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
from posenc.explanation.explanation import Step
from posenc.explanation.formulas.place import (
    Place,
    bracketed,
    formulas,
    put_in,
    summed,
    worked,
)
from posenc.explanation.maths import Maths, equation, frac, index, power, row


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
    q, k, head = at.row, at.column, at.head + 1
    m = float(encoding.head_slopes()[at.head])
    letters, numbers = slope(encoding, "h"), slope(encoding, head)
    nearer = encoding.future == "offset" and q > k

    def away(distance: Maths) -> Maths:
        return row("(", distance, " − ", 0.5, ")") if nearer else distance

    formula = (
        equation(B, row("−", index("m", "h"), " · ", away(GENERAL))),
        *([] if letters is None else [equation(index("m", "h"), letters)]),
    )
    own = (index("m", head), m) if numbers is None else (index("m", head), numbers, m)
    total = _b(at), row("−", m, " · ", away(_away(at))), at.truth
    return [Step("formula", _pair(at), formula), put_in(own, total, at=at)]


def slope(encoding: ALiBi, head: Maths) -> Maths | None:
    """2^(-8h/H) of head h, divided as the bias is; None where the slopes are no such series."""
    heads = encoding.heads
    if encoding.slopes != "paper" and heads & (heads - 1):
        return None
    above = 8 * head if isinstance(head, int) else row(8, head)
    own = power(2, row("−", frac(above, heads)))
    return own if encoding.divisor == 1 else frac(own, encoding.divisor)


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
    given = {name: np.asarray(value, dtype=np.float64) for name, value in at.params.items()}
    r1, r2 = (float(r[at.head]) for r in encoding.bounded(given))
    if encoding.kernel == "log":
        words = t("A learned logarithm of the distance.")
        general = row(
            "−", index("r", 1), " · ", "ln", "(", 1, " + ", index("r", 2), " · ", GENERAL, ")"
        )
        special = row("−", r1, " · ", "ln", "(", 1, " + ", r2, " · ", _away(at), ")")
    else:
        words = t("A learned power of the distance.")
        general = row("−", index("r", 1), " · ", power(GENERAL, index("r", 2)))
        special = row("−", r1, " · ", power(_away(at), r2))
    return worked(words, (B, general), (_b(at), special, at.truth), at=at)


@formulas.register
def _(encoding: FIRE, at: Place) -> list[Step]:
    t = at.t
    given = {name: np.asarray(value, dtype=np.float64) for name, value in at.params.items()}
    c, longest = float(given["c"]), float(encoding.threshold(given["multiplier"]))
    pair = np.array([at.row]), np.array([at.column])
    x = float(encoding.ratios(*pair, given["c"], given["multiplier"])[0, 0])
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
        Step("ratio", t("Substituting the numbers:"), (equation("x", numbers, x),)),
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
    return _looked_up(at, int(encoding.buckets_of(np.array(at.row - at.column))))


@formulas.register
def _(encoding: ClippedBias, at: Place) -> list[Step]:
    return _looked_up(at, int(encoding.rows_of(np.array(at.row - at.column))))


def _looked_up(at: Place, line: int) -> list[Step]:
    t = at.t
    words = t(
        "Head {head}, query {query}, key {key}: the distance {distance} is row {row} of the table.",
        head=at.head + 1,
        query=at.row,
        key=at.column,
        distance=at.row - at.column,
        row=line,
    )
    return worked(words, from_row("r"), (_b(at), index("T", line, at.head + 1), at.truth), at=at)


def from_row(letter: str) -> tuple[Maths, Maths]:
    """A bias that stands in a row of a table, in letters."""
    return B, index("T", letter, "h")


@formulas.register
def _(encoding: SwinBias, at: Place) -> list[Step]:
    t = at.t
    height, width = encoding.window
    dy, dx = (int(q - k) for q, k in zip(at.row, at.column, strict=True))
    line = int(encoding.row_of(np.array(dy), np.array(dx)))
    words = t(
        "Head {head}: query minus key is y = {rows} in rows and x = {columns} in columns, which is "
        "row {row} of the table of a window of H × W = {height} × {width}.",
        head=at.head + 1,
        rows=dy,
        columns=dx,
        row=line,
        height=height,
        width=width,
    )
    letters = row(
        "(", "y", " + ", "H", " − ", 1, ")", " · ", "(", 2, "W", " − ", 1, ")",
        " + ", "x", " + ", "W", " − ", 1,
    )  # fmt: skip
    numbers = row(
        "(", dy, " + ", height, " − ", 1, ")", " · ", "(", 2, " · ", width, " − ", 1, ")",
        " + ", bracketed(dx), " + ", width, " − ", 1,
    )  # fmt: skip
    looked_up = _b(at), index("T", line, at.head + 1), at.truth
    general = index("b", "h"), index("T", "r", "h")
    return [
        Step("formula", words, (equation(*general), equation("r", letters))),
        put_in(("r", numbers, line), looked_up, at=at),
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
    return worked(t("Nothing is added, at any distance."), (B, 0), (_b(at), at.truth), at=at)
