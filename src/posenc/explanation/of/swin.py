"""The biases of Swin's windows explained."""

import numpy as np

from posenc.encodings.swin import SwinBias, SwinV2Bias
from posenc.explanation.bias import bias_symbol
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, power, row
from posenc.explanation.place import Place, bracket, substitute, substitution
from posenc.explanation.registry import explain_with


def swin_number(encoding: SwinBias, at: Place) -> list[Step]:
    """The entry of the table for the distance in rows and in columns."""
    height, width = encoding.window
    dy, dx = (int(q - k) for q, k in zip(at.row, at.column, strict=True))
    line = int(encoding.row_of(np.array(dy), np.array(dx)))
    words = at.t(
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
        " + ", bracket(dx), " + ", width, " − ", 1,
    )  # fmt: skip
    entry = bias_symbol(at), index("T", line, at.head + 1), at.truth
    general = index("b", "h"), index("T", "r", "h")
    return [
        Step("formula", words, (equation(*general), equation("r", letters))),
        substitute(at.t, ("r", numbers, line), entry),
    ]


def swin_v2_number(encoding: SwinV2Bias, at: Place) -> list[Step]:
    """A small network of the logarithms of the distances."""
    t, weights = at.t, at.weights
    sides = encoding.pretrained_window or encoding.window
    away = [float(q - k) for q, k in zip(at.row, at.column, strict=True)]
    where = [float(encoding.coordinates(np.array(d), s)) for d, s in zip(away, sides, strict=True)]
    hidden = np.maximum(weights["w1"] @ where + weights["b1"], 0)
    x = float(weights["w2"][at.head] @ hidden)
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
    general = bias_symbol(at), frac(16, row(1, " + ", power("e", row("−", "x"))))
    special = general[0], frac(16, row(1, " + ", power("e", -x))), at.truth
    logarithms = Step("logarithms", t("The logarithms."), tuple(scaled))
    return substitution(words, general, special, at=at, between=(logarithms,))


def _logarithm(away: float, side: int) -> Maths:
    """sign(d) log2(1 + 8 |d| / (side - 1)) / log2 8."""
    inside = row(1, " + ", frac(row(8, " · ", abs(int(away))), max(side - 1, 1)))
    sign: tuple[Maths, ...] = ("−",) if away < 0 else ()
    return row(*sign, frac(row("ln", "(", inside, ")"), row("ln", "(", 8, ")")))


explain_with(SwinBias, number=swin_number)
explain_with(SwinV2Bias, number=swin_v2_number)
