"""The steps of any encoding, by its logits: for those that make the logits themselves."""

from collections.abc import Iterator

import numpy as np

from posenc.core.encoding import Encoding
from posenc.core.logits import logits
from posenc.core.needs import draw_needs
from posenc.explanation.explanation import Step
from posenc.explanation.maths import equation, index, row
from posenc.explanation.question import Question, matrix_table

DIM = 8
"""Channels of queries and keys where the encoding takes any number."""


def score_formula(_encoding: Encoding, question: Question) -> Step:
    """The logit in letters: a function of anything."""
    t = question.t
    words = t("The logit of query i and key j is computed from both vectors and both positions.")
    function = row("f", "(", index("q", "i"), ", ", index("k", "j"), ", ", "i", ", ", "j", ")")
    return Step("formula", words, (equation(index("s", "i", "j"), function),))


def score_steps(encoding: Encoding, question: Question) -> Iterator[Step]:
    """The logits without positions, those with positions, and their difference."""
    t = question.t
    dim, heads = (encoding.dim or DIM), (encoding.heads or 1)
    positions, names = question.positions()
    q, k = np.random.default_rng(0).normal(size=(2, heads, len(positions), dim))
    products = q @ k.mT / (np.sqrt(dim) if encoding.scaled else 1.0)
    needs = draw_needs(encoding, np.random.default_rng(0), len(positions))
    scores = logits(encoding, q, k, positions, positions, question.params, **needs)
    for name, words, values in (
        (
            "products",
            t("The logits of queries (rows) and keys (columns) without positions."),
            products,
        ),
        ("logits", t("The logits with positions."), scores),
        ("difference", t("The difference that the positions make."), scores - products),
    ):
        yield Step(name, words, table=matrix_table("", names, np.asarray(values)[0], names))
