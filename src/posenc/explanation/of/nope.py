"""No positional encoding, explained."""

from collections.abc import Iterator

from posenc.encodings.nope import NoPE
from posenc.explanation.bias import BIAS, bias_steps, bias_symbol
from posenc.explanation.explanation import Step
from posenc.explanation.maths import equation
from posenc.explanation.place import Place, substitution
from posenc.explanation.question import Question
from posenc.explanation.registry import explain_with


def nope_steps(encoding: NoPE, question: Question) -> Iterator[Step]:
    """Nothing is added: the formula says so, then the bias of zeros."""
    t = question.t
    yield Step(
        "formula",
        t("Nothing is added: only a causal mask, which hides later keys, reveals the order."),
        (equation(BIAS, 0),),
    )
    yield from bias_steps(encoding, question)


def nope_number(_encoding: NoPE, at: Place) -> list[Step]:
    """Zero."""
    return substitution(
        at.t("Nothing is added, at any distance."), (BIAS, 0), (bias_symbol(at), at.truth), at=at
    )


explain_with(NoPE, number=nope_number, steps=nope_steps)
