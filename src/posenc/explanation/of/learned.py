"""A learned table explained."""

from collections.abc import Iterator

from posenc.encodings.learned import Learned
from posenc.explanation.additive import additive_steps
from posenc.explanation.explanation import Step
from posenc.explanation.maths import equation, index
from posenc.explanation.place import Place, substitution
from posenc.explanation.question import Question, matrix_table
from posenc.explanation.registry import explain_with


def learned_steps(encoding: Learned, question: Question) -> Iterator[Step]:
    """A row of the table for each position, and what happens beyond the last one."""
    t, p = question.t, question.position
    yield Step(
        "formula",
        t(
            "Each position has a row of its own in a table of {length} × {dim} learned "
            "numbers. Here the rows are random, as before training.",
            length=encoding.length,
            dim=encoding.dim,
        ),
        (equation(index("PE", "p"), index("T", "p")),),
    )
    yield from additive_steps(encoding, question)
    if p < encoding.length:
        yield Step(
            "lookup",
            t("Position {position} is looked up: row {position}, nothing is computed.", position=p),
            table=matrix_table(t("position"), [str(p)], encoding.encode([p], question.params)),
        )
    yield Step(
        "beyond",
        t(
            "Position {position} has no row: it has no encoding, and asking for one is an error.",
            position=max(p, encoding.length),
        ),
    )


def learned_number(_encoding: Learned, at: Place) -> list[Step]:
    """An entry of the table."""
    words = at.t(
        "Position {position} is looked up: row {position}, nothing is computed.", position=at.row
    )
    general = index("PE", "p", at.column), index("T", "p", at.column)
    sides = index("PE", at.row, at.column), index("T", at.row, at.column), at.truth
    return substitution(words, general, sides, at=at)


explain_with(Learned, number=learned_number, steps=learned_steps)
