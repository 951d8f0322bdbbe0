"""The steps of any encoding that is added to embeddings."""

from collections.abc import Iterator

from posenc.core.mechanisms import Additive
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, index, row
from posenc.explanation.question import Question, example_embeddings, matrix_table


def additive_formula(_encoding: Additive, question: Question) -> Step:
    """x + e(p) in letters."""
    words = question.t("The encoding of position p is added to the embedding x of the token there.")
    total = row(index("x", "p"), " + ", index("PE", "p"))
    return Step("formula", words, (equation(index("z", "p"), total),))


def additive_steps(encoding: Additive, question: Question) -> Iterator[Step]:
    """The encoding of each token, and its sum with the embeddings."""
    t, side = question.t, max(2, min(question.length, 3))
    positions, names = question.positions(side)
    if encoding.axes is not None:  # a plane of the grid is enough
        positions, names = positions[: side * side], names[: side * side]
    values = encoding.encode(positions, question.params)
    yield Step(
        "encodings",
        t("The encoding of each position, a column for each dimension."),
        table=matrix_table(t("position"), names, values),
    )
    embeddings = example_embeddings(len(positions), encoding.dim)
    total = encoding.add(embeddings, positions, question.params)
    embedding, value, result = (float(x[-1, 0]) for x in (embeddings, values, total))
    yield Step(
        "addition",
        t("Embedding + encoding = input of the model; the embeddings are made up: 0.1, 0.2, …"),
        (equation(row(embedding, *_plus(value)), result),),
        matrix_table(t("input"), names, total),
    )


def _plus(value: float) -> tuple[Maths, Maths]:
    return (" − ", -value) if value < 0 else (" + ", value)
