"""What the worked numbers of several kinds of view share."""

from collections.abc import Callable

import numpy as np

from posenc.core import rules
from posenc.explanation.cell import Cell
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths, equation, index
from posenc.explanation.place import substitute, summands_step
from posenc.views.scene import Scene

Working = Callable[[Scene, int, int], Cell]
"""Works out the number at a row and a column of a view's picture.

The scene has one subject, whose angles do not depend on the length.
"""


def check_cell(place: int, other: int, rows: int, columns: int) -> None:
    """Refuse a row `place` or a column `other` that a picture of this size does not have."""
    rules.whole("place", place, least=0, most=rows - 1)
    rules.whole("other", other, least=0, most=columns - 1)


def find_vectors(
    scene: Scene, m: int, n: int, q_and_k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The vectors whose product is shown at row m, column n: e(m), e(n), or R(m) q, R(n) k."""
    subject, count = scene.subjects[0], scene.count(64)
    check_cell(m, n, count, count)
    if subject.is_additive:
        left, right = subject.encode(np.array([m, n]))
        return left, right
    q, k = q_and_k
    return subject.rotate(q, m), subject.rotate(k, n, keys=True)


def product_cell(
    scene: Scene,
    place: tuple[int, int],
    words: str,
    letters: Maths,
    vectors: tuple[np.ndarray, np.ndarray],
    *numbers: Maths,
    value: float,
) -> Cell:
    """The formula, a table of the products of all dimensions, and the sum with numbers."""
    t, (left, right) = scene.t, vectors
    formula = Step("formula", words, (equation(index("s", "m", "n"), letters),))
    columns = "i", t("first vector"), t("second vector"), t("product")
    every = t("Dimension by dimension:")
    summands = summands_step("products", every, columns, left, right, left * right)
    special = index("s", *place), *numbers, value
    return view_cell((formula, summands, substitute(t, special)), value)


def view_cell(steps: tuple[Step, ...], value: float) -> Cell:
    """A cell of a view: views compute in float64, so the value is the truth as well."""
    return Cell(steps, float(np.float32(value)), value)
