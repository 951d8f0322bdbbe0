"""Formulas of logits: of a head, for a query and a key that are equal, drawn at random."""

from typing import Any

import numpy as np

from posenc.core.mechanisms import Encoding
from posenc.encodings import Shaw, TransformerXL
from posenc.explanation.explanation import Step
from posenc.explanation.formulas.place import Place, bracketed, formulas, worked
from posenc.explanation.maths import frac, index, root, row


def vector(encoding: Encoding, dtype: Any = np.float64) -> np.ndarray:
    """The query, and the key, whose logit a cell is: (head, 1, dim)."""
    dim, heads = int(getattr(encoding, "dim", 8)), int(getattr(encoding, "heads", 1))
    return np.random.default_rng(0).normal(size=(heads, 1, dim)).astype(dtype)


@formulas.register
def _(encoding: Shaw, at: Place) -> list[Step]:
    t, x = at.t, vector(encoding)[at.head, 0]
    line = int(encoding.rows_of(np.array(at.column - at.row)))
    a = np.asarray(at.params["key_table"], dtype=np.float64)[line]
    words = t(
        "A learned vector a is added to the key: row {row} of the table, for j − i = {distance}. "
        "q and k are one vector, drawn at random.",
        row=line,
        distance=at.column - at.row,
    )
    q, k = index("q", "i"), index("k", "j")
    general = (
        index("s", "i", "j"),
        frac(row(q, " · ", k, " + ", q, " · ", index("a", line)), root("d")),
    )
    above = row(bracketed(x @ x), " + ", bracketed(x @ a))
    sides = index("s", at.row, at.column), frac(above, root(encoding.dim)), at.truth
    return worked(words, general, sides, at=at)


@formulas.register
def _(encoding: TransformerXL, at: Place) -> list[Step]:
    t, x = at.t, vector(encoding)[at.head, 0]
    given = {
        name: np.asarray(value, dtype=np.float64)[at.head] for name, value in at.params.items()
    }
    away = np.array(at.row - at.column)
    waves = given["projection"] @ encoding.sinusoids(away, dtype=np.float64)
    words = t(
        "Two products: of the content, with a learned u added to the query, and of the distance, "
        "with a learned v added and W R of the distance {distance} as its key. q and k are one "
        "vector, drawn at random.",
        distance=at.row - at.column,
    )
    q = index("q", "i")
    content = row("(", q, " + ", "u", ")", " · ", index("k", "j"))
    distance = row("(", q, " + ", "v", ")", " · ", "W", " ", index("R", row("i", " − ", "j")))
    general = index("s", "i", "j"), frac(row(content, " + ", distance), root("d"))
    above = row(bracketed((x + given["u"]) @ x), " + ", bracketed((x + given["v"]) @ waves))
    sides = index("s", at.row, at.column), frac(above, root(encoding.dim)), at.truth
    return worked(words, general, sides, at=at)
