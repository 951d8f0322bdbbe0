"""The steps of any bias on the logits, and what the formulas of several biases share.

Heads are counted from 1, as papers do.
"""

from collections.abc import Iterator

import numpy as np

from posenc.core.mechanisms import Bias
from posenc.core.needs import draw_needs
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, frac, index, root, row
from posenc.explanation.place import Place, substitution
from posenc.explanation.question import Question, matrix_table

BIAS = index("b", "h", "i", "j")
"""The bias in letters: head h, query i, key j."""
DISTANCE = row("|", "i", " − ", "j", "|")
"""The distance in letters."""


def bias_formula(encoding: Bias, question: Question) -> Step:
    """The logit plus b in letters."""
    words = question.t("A bias b is added to the logit of query i and key j in each head h.")
    product = row(index("q", "i"), " · ", index("k", "j"))
    logit = frac(product, root("d")) if encoding.scaled else product
    return Step("formula", words, (equation(index("s", "h", "i", "j"), row(logit, " + ", BIAS)),))


def bias_steps(encoding: Bias, question: Question) -> Iterator[Step]:
    """The bias of each query and key in the first two heads."""
    positions, names = question.positions()
    needs = draw_needs(encoding, np.random.default_rng(0), len(positions))
    if "features" in needs:
        needs["features"] = needs["features"], needs["features"]
    values = np.asarray(encoding.bias(positions, positions, question.params, **needs))
    heads = values.shape[-3]
    for head in range(min(2, heads)):
        yield Step(
            f"bias-{head + 1}",
            question.t(
                "The bias of each query (rows) and key (columns) in head {head} of {heads}.",
                head=head + 1,
                heads=heads,
            ),
            table=matrix_table("", names, values[head], names),
        )


def bias_symbol(at: Place) -> Maths:
    """The bias with its indices as numbers; points are too long for an index."""
    if isinstance(at.row, tuple):
        return index("b", at.head + 1)
    return index("b", at.head + 1, at.row, at.column)


def distance(at: Place) -> Maths:
    """The distance with numbers."""
    return row("|", at.row, " − ", at.column, "|")


def table_formula(question: Question, letter: str) -> Step:
    """The formula of a bias that is looked up in a table, by the row's letter."""
    words = question.t(
        "The bias of a head is a learned number in row {row} of a table; the distance i − j "
        "selects the row.",
        row=letter,
    )
    return Step("formula", words, (equation(*_table_entry(letter)),))


def table_number(at: Place, line: int) -> list[Step]:
    """The steps to a bias that stands in row `line` of a table."""
    words = at.t(
        "Head {head}, query {query}, key {key}: the distance {distance} is row {row} of the table.",
        head=at.head + 1,
        query=at.row,
        key=at.column,
        distance=at.row - at.column,
        row=line,
    )
    sides = bias_symbol(at), index("T", line, at.head + 1), at.truth
    return substitution(words, _table_entry("r"), sides, at=at)


def _table_entry(letter: str) -> tuple[Maths, Maths]:
    return BIAS, index("T", letter, "h")
