"""Where a number stands, and the formulas of it by the kind of encoding."""

from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np

from posenc.core.mechanisms import Encoding, Params
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, row
from posenc.explanation.question import table
from posenc.i18n import Translate

Point = int | tuple[float, ...]
"""A position: a number, or one for each axis."""


@dataclass(frozen=True)
class Place:
    """Where the number stands, the number, the parameters that it is made of, and the words."""

    row: Any
    """A `Point`: whatever the encoding takes as a position."""
    column: Any
    """A dimension, or the position of a key."""
    truth: float
    params: Params
    t: Translate
    head: int = 0
    """Of biases and scores."""
    angle: bool = False
    """Of a rotation: whether the number is the angle, not its cosine or sine."""


@singledispatch
def formulas(_encoding: Encoding, at: Place) -> list[Step]:
    """The steps to one number; for an encoding that has none of its own, the number."""
    t = at.t
    return [Step("value", t("The number that the encoding gives here."), (at.truth,))]


def worked(
    words: str, general: tuple[Maths, ...], *special: tuple[Maths, ...], at: Place
) -> list[Step]:
    """Two steps: the formula in letters, and the same with its numbers; each is an equation."""
    return [Step("formula", words, (equation(*general),)), put_in(*special, at=at)]


def put_in(*equations: tuple[Maths, ...], at: Place) -> Step:
    """The step in which letters become numbers; the last equation ends with the result."""
    t = at.t
    return Step(
        "numbers", t("Substituting the numbers:"), tuple(equation(*each) for each in equations)
    )


def summed(
    name: str, words: str, columns: tuple[str, ...], *values: np.ndarray, first: int = 0
) -> Step:
    """A table of what is added up: a line for each summand, numbered from `first`."""
    numbers = range(first, first + len(values[0]))
    return Step(name, words, table=table(columns, *zip(numbers, *values, strict=True)))


def dotted(left: Any, right: Any) -> Maths:
    """Products one after the other with a plus between them: a · b + c · d."""
    parts: list[Maths] = []
    for a, b in zip(left, right, strict=True):
        parts += [*([" + "] if parts else []), bracketed(a), " · ", bracketed(b)]
    return row(*parts)


def bracketed(value: Any) -> Maths:
    """A number as a factor or a summand: in brackets if it is negative."""
    number = value if isinstance(value, str) else float(value)
    return row("(", number, ")") if not isinstance(number, str) and number < 0 else number
