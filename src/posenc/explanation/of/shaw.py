"""Shaw's relative positions explained."""

import numpy as np

from posenc.encodings.shaw import Shaw
from posenc.explanation.explanation import Step
from posenc.explanation.maths import frac, index, root, row
from posenc.explanation.place import Place, bracket, substitution
from posenc.explanation.registry import explain_with
from posenc.explanation.values import example_query


def shaw_number(encoding: Shaw, at: Place) -> list[Step]:
    """The logit of a key with the learned vector of its distance."""
    t, x = at.t, example_query(encoding)[at.head, 0]
    line = int(encoding.rows_of(np.array(at.column - at.row)))
    a = at.weights["key_table"][line]
    words = t(
        "A learned vector a is added to the key: row {row} of the table, for j − i = "
        "{distance}. q and k are the same vector, drawn at random.",
        row=line,
        distance=at.column - at.row,
    )
    q, k = index("q", "i"), index("k", "j")
    general = (
        index("s", "i", "j"),
        frac(row(q, " · ", k, " + ", q, " · ", index("a", line)), root("d")),
    )
    above = row(bracket(x @ x), " + ", bracket(x @ a))
    sides = index("s", at.row, at.column), frac(above, root(encoding.dim)), at.truth
    return substitution(words, general, sides, at=at)


explain_with(Shaw, number=shaw_number)
