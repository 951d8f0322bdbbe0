"""KERPLE and Sandwich explained."""

import numpy as np

from posenc.encodings.kernels import KERPLE, Sandwich
from posenc.explanation.bias import BIAS, DISTANCE, bias_symbol, distance
from posenc.explanation.explanation import Step
from posenc.explanation.maths import frac, index, power, row
from posenc.explanation.place import Place, substitution, summands_step
from posenc.explanation.registry import explain_with


def kerple_number(encoding: KERPLE, at: Place) -> list[Step]:
    """A logarithm or a power of the distance, with learned numbers."""
    r1, r2 = (float(r[at.head]) for r in encoding.clamp(at.weights))
    if encoding.kernel == "log":
        words = at.t("A learned logarithm of the distance.")
        general = row(
            "−", index("r", 1), " · ", "ln", "(", 1, " + ", index("r", 2), " · ", DISTANCE, ")"
        )
        special = row("−", r1, " · ", "ln", "(", 1, " + ", r2, " · ", distance(at), ")")
    else:
        words = at.t("A learned power of the distance.")
        general = row("−", index("r", 1), " · ", power(DISTANCE, index("r", 2)))
        special = row("−", r1, " · ", power(distance(at), r2))
    return substitution(words, (BIAS, general), (bias_symbol(at), special, at.truth), at=at)


def sandwich_number(encoding: Sandwich, at: Place) -> list[Step]:
    """A sum of cosines of the distance."""
    w = encoding.frequencies()
    cosines = np.cos((at.row - at.column) * w)
    words = at.t(
        "The sum of the cosines of the distance at {count} frequencies; head h of H divides it "
        "by 8h/H.",
        count=len(w),
    )
    wave = row("cos", "(", "(", "i", " − ", "j", ")", " ", index("w", "k"), ")")
    general = BIAS, frac(row("Σ", " ", wave), row(8, " · ", frac("h", "H")))
    table = summands_step(
        "cosines", at.t("The cosine at each frequency."), ("k", "w", "cos"), w, cosines, first=1
    )
    sides = (
        bias_symbol(at),
        frac(float(cosines.sum()), row(8, " · ", frac(at.head + 1, encoding.heads))),
        at.truth,
    )
    return substitution(words, general, sides, at=at, between=(table,))


explain_with(KERPLE, number=kerple_number)
explain_with(Sandwich, number=sandwich_number)
