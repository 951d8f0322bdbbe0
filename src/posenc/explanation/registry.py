"""How each encoding is explained: registered once for its class, else by its mechanism.

An encoding of your own needs no registration: the explanation of its mechanism serves it. To show
its formula, register the steps to one of its numbers:

>>> from dataclasses import dataclass
>>> from posenc import Additive, explain
>>> from posenc.explanation.maths import index, power
>>> from posenc.explanation.place import substitution
>>> @dataclass(frozen=True)
... class Squares(Additive):
...     dim: int = 1
...
...     def encode(self, positions, params=None, *, dtype=None):
...         return np.asarray(positions, dtype=dtype)[..., None] ** 2
>>> def number(encoding: Squares, at: Place) -> list[Step]:
...     general = index("PE", "p"), power("p", 2)
...     special = index("PE", at.row), power(at.row, 2), at.truth
...     return substitution("The square of the position.", general, special, at=at)
>>> explain_with(Squares, number=number)
>>> explained = explain(Squares(), position=3)
>>> [step.name for step in explained.steps]
['formula', 'numbers', 'encodings', 'addition']
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.core.encoding import Encoding, EncodingT
from posenc.core.mechanisms import Additive, Bias, Rotary
from posenc.explanation.additive import additive_formula, additive_steps
from posenc.explanation.bias import bias_formula, bias_steps
from posenc.explanation.explanation import Step
from posenc.explanation.place import Place
from posenc.explanation.question import Question
from posenc.explanation.rotary import rotary_formula, rotary_steps
from posenc.explanation.scores import score_formula, score_steps
from posenc.explanation.values import value_at


@dataclass(frozen=True)
class Explainer:
    """The functions that explain the encodings of one class; None is inherited."""

    number: Callable[[Any, Place], list[Step]] | None
    steps: Callable[[Any, Question], Iterator[Step]] | None


_EXPLAINERS: dict[type[Encoding], Explainer] = {}
_MECHANISMS: dict[type[Encoding], tuple[Callable[..., Step], Callable[..., Iterator[Step]]]] = {
    Additive: (additive_formula, additive_steps),
    Rotary: (rotary_formula, rotary_steps),
    Bias: (bias_formula, bias_steps),
    Encoding: (score_formula, score_steps),
}
"""The formula of each mechanism, and its steps."""


def explain_with(
    kind: type[EncodingT],
    *,
    number: Callable[[EncodingT, Place], list[Step]] | None = None,
    steps: Callable[[EncodingT, Question], Iterator[Step]] | None = None,
) -> None:
    """Explain the encodings of class `kind`, and of its subclasses, with these functions.

    number  the steps to one number of the encoding, from its formula in letters to the result
    steps   the whole explanation; if it is left out, `number` at an example place and then the
            steps that all encodings of the mechanism have
    """
    _EXPLAINERS[kind] = Explainer(number, steps)


def explain_number(encoding: Encoding, at: Place) -> list[Step]:
    """The steps to one number; where no formula is registered, the number alone."""
    for explainer in _explainers(encoding):
        if explainer.number is not None:
            return explainer.number(encoding, at)
    return [Step("value", at.t("The value of the encoding here."), (at.truth,))]


def explain_steps(encoding: Encoding, question: Question) -> Iterator[Step]:
    """The steps of the whole explanation."""
    formula, steps = next(own for kind, own in _MECHANISMS.items() if isinstance(encoding, kind))
    for explainer in _explainers(encoding):
        if explainer.steps is not None:
            yield from explainer.steps(encoding, question)
            return
        if explainer.number is not None:
            yield from explainer.number(encoding, _example_place(encoding, question))
            break
    else:
        yield formula(encoding, question)
    yield from steps(encoding, question)


def _explainers(encoding: Encoding) -> Iterator[Explainer]:
    """The explainers of its class and of the classes that it derives from, nearest first."""
    return (_EXPLAINERS[kind] for kind in type(encoding).__mro__ if kind in _EXPLAINERS)


def _example_place(encoding: Encoding, question: Question) -> Place:
    """The first dimension at the position in question; of pairs, that query and the first key."""
    row, column = question.position, 0
    if encoding.axes is not None:
        row = (1,) * encoding.axes
        column = 0 if isinstance(encoding, Additive | Rotary) else (0,) * encoding.axes
    truth = value_at(encoding, row, column, question.params, np.float64)
    return Place(row, column, truth, question.params, question.t)
