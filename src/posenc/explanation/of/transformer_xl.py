"""Transformer-XL explained."""

import numpy as np

from posenc.encodings.transformer_xl import TransformerXL
from posenc.explanation.explanation import Step
from posenc.explanation.maths import frac, index, root, row
from posenc.explanation.place import Place, bracket, substitution
from posenc.explanation.registry import explain_with
from posenc.explanation.values import example_query


def transformer_xl_number(encoding: TransformerXL, at: Place) -> list[Step]:
    """A logit of two products: of the content and of the distance."""
    t, x = at.t, example_query(encoding)[at.head, 0]
    weights = {name: value[at.head] for name, value in at.weights.items()}
    away = np.array(at.row - at.column)
    waves = weights["projection"] @ encoding.sinusoids(away, dtype=np.float64)
    words = t(
        "Two products: one of the content, with a learned u added to the query, and one of the "
        "distance, with a learned v added to the query and W R of the distance {distance} as "
        "the key. q and k are the same vector, drawn at random.",
        distance=at.row - at.column,
    )
    q = index("q", "i")
    content = row("(", q, " + ", "u", ")", " · ", index("k", "j"))
    distance = row("(", q, " + ", "v", ")", " · ", "W", " ", index("R", row("i", " − ", "j")))
    general = index("s", "i", "j"), frac(row(content, " + ", distance), root("d"))
    above = row(bracket((x + weights["u"]) @ x), " + ", bracket((x + weights["v"]) @ waves))
    sides = index("s", at.row, at.column), frac(above, root(encoding.dim)), at.truth
    return substitution(words, general, sides, at=at)


explain_with(TransformerXL, number=transformer_xl_number)
