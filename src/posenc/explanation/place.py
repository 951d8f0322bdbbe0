"""One number of an encoding: where it stands, and the steps that lead to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, join, row
from posenc.explanation.question import number_rows, table
from posenc.i18n import Translate

Point = int | tuple[float, ...]
"""A position: a number, or one for each axis."""


@dataclass(frozen=True)
class Place:
    """Where a number stands, its value, and what its formula needs."""

    row: Any
    """A `Point`: whatever the encoding takes as a position."""
    column: Any
    """A dimension, or the position of a key."""
    truth: float
    """The number in float64."""
    params: Mapping[str, np.ndarray]
    t: Translate
    head: int = 0
    """The head, of biases and scores."""
    angle: bool = False
    """For rotations: whether the number is the angle rather than its cosine or sine."""

    @property
    def weights(self) -> dict[str, np.ndarray]:
        """The parameters in float64."""
        return {name: np.asarray(value, dtype=np.float64) for name, value in self.params.items()}


def substitution(
    words: str,
    general: tuple[Maths, ...],
    *special: tuple[Maths, ...],
    at: Place,
    between: tuple[Step, ...] = (),
) -> list[Step]:
    """The formula in letters, then with numbers: two steps; each tuple is an equation's sides.

    between  steps that lead from one to the other
    """
    return [Step("formula", words, (equation(*general),)), *between, substitute(at.t, *special)]


def substitute(t: Translate, *equations: tuple[Maths, ...]) -> Step:
    """The step in which numbers replace letters; its last equation ends with the result."""
    sides = tuple(equation(*sides) for sides in equations)
    return Step("numbers", t("Substituting the numbers:"), sides)


def summands_step(
    name: str, words: str, columns: tuple[str, ...], *values: np.ndarray, first: int = 0
) -> Step:
    """A table with a line for each summand of a sum, numbered from `first`."""
    return Step(name, words, table=table(columns, *number_rows(*values, first=first)))


def dot_product(left: np.ndarray, right: np.ndarray) -> Maths:
    """The products of two vectors' entries, written as a sum: a · b + c · d."""
    products = (join(" · ", map(bracket, pair)).parts for pair in zip(left, right, strict=True))
    return row(*[tree for product in products for tree in (" + ", *product)][1:])


def bracket(value: str | float) -> Maths:
    """A factor or a summand, in brackets if it is a negative number."""
    number = value if isinstance(value, str) else float(value)
    return row("(", number, ")") if not isinstance(number, str) and number < 0 else number
