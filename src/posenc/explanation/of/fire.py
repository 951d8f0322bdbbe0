"""FIRE explained."""

import numpy as np

from posenc.encodings.fire import FIRE
from posenc.explanation.bias import bias_symbol
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, row
from posenc.explanation.place import Place, bracket, summands_step
from posenc.explanation.registry import explain_with


def fire_number(encoding: FIRE, at: Place) -> list[Step]:
    """A small network of the distance, relative to the length of the text so far."""
    t, weights = at.t, at.weights
    c, longest = float(weights["c"]), float(encoding.threshold(weights["multiplier"]))
    pair = np.array([at.row]), np.array([at.column])
    x = float(encoding.ratios(*pair, weights["c"], weights["multiplier"])[0, 0])
    hidden = np.maximum(weights["w1"][:, 0] * x + weights["b1"], 0)
    column, b = weights["w2"][at.head], float(weights["b2"][at.head])

    ratio = _ratio("i", "j", "c", "L", "ε")
    numbers = _ratio(at.row, at.column, bracket(c), longest, encoding.eps)
    words = t(
        "The distance, relative to the length of the text so far, goes through a small network "
        "of {hidden} hidden units.",
        hidden=encoding.hidden,
    )
    table = summands_step(
        "hidden",
        t("The contribution of each hidden unit."),
        ("h", "max(0, w x + b)", "W", "max(0, w x + b) · W"),
        hidden, column, hidden * column,
    )  # fmt: skip
    total = bias_symbol(at), row(bracket(hidden @ column), " + ", bracket(b)), at.truth
    return [
        Step("formula", words, (equation("x", ratio),)),
        Step("ratio", t("Substituting the numbers:"), (equation("x", numbers, x),)),
        table,
        Step("numbers", t("Their sum, plus a term of the head's own."), (equation(*total),)),
    ]


def _ratio(i: Maths, j: Maths, c: Maths, longest: Maths, eps: Maths) -> Maths:
    """phi(i - j) / (phi(max(i, L)) + eps), where phi(x) = ln(1 + |c x|)."""

    def phi(inside: Maths) -> Maths:
        return row("ln", "(", 1, " + ", "|", c, " · ", inside, "|", ")")

    below = phi(row("max", "(", i, ", ", longest, ")"))
    return frac(phi(row("(", i, " − ", j, ")")), row(below, " + ", eps))


explain_with(FIRE, number=fire_number)
