"""A table of clipped distances explained."""

from collections.abc import Iterator

import numpy as np

from posenc.encodings.tables import ClippedBias
from posenc.explanation.bias import bias_steps, table_formula, table_number
from posenc.explanation.explanation import Step
from posenc.explanation.maths import equation, row
from posenc.explanation.place import Place
from posenc.explanation.question import Question, matrix_table
from posenc.explanation.registry import explain_with


def clipped_steps(encoding: ClippedBias, question: Question) -> Iterator[Step]:
    """Distances, clipped and shifted to the rows of a table, then the bias."""
    t, reach = question.t, encoding.reach
    yield table_formula(question, "r")
    positions = np.arange(question.length)
    behind = positions[:, None] - positions[None, :]
    clipped = row("max", "(", "i", " − ", "j", ", ", -reach, ")")
    yield Step(
        "distances",
        t("The distance i − j of each query i (rows) and key j (columns)."),
        table=matrix_table("i", question.names, behind, question.names),
    )
    yield Step(
        "rows",
        t(
            "Distances are clipped to ±{reach} and shifted to the rows 0 … {last} of a table.",
            reach=reach,
            last=2 * reach,
        ),
        (equation("r", row("min", "(", clipped, ", ", reach, ") + ", reach)),),
        matrix_table("i", question.names, encoding.rows_of(behind), question.names),
    )
    yield from bias_steps(encoding, question)


def clipped_number(encoding: ClippedBias, at: Place) -> list[Step]:
    """The entry of the clipped distance."""
    return table_number(at, int(encoding.rows_of(np.array(at.row - at.column))))


explain_with(ClippedBias, number=clipped_number, steps=clipped_steps)
