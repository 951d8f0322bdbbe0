"""What the worked numbers of several kinds of view share."""

from collections.abc import Callable

import numpy as np

from posenc.core import rules
from posenc.explanation.cell import Cell
from posenc.explanation.explanation import Step
from posenc.explanation.maths import Maths
from posenc.explanation.place import substitute, summands_step
from posenc.views.scene import Scene
from posenc.views.subject import Subject

Working = Callable[[Scene, int, int], Cell]
"""Works out the number at a row and a column of a view's picture.

The scene has one subject, whose angles do not depend on the length.
"""


def check_cell(place: int, other: int, rows: int, columns: int) -> None:
    """Refuse a row `place` or a column `other` that a picture of this size does not have."""
    rules.whole("place", place, least=0, most=rows - 1)
    rules.whole("other", other, least=0, most=columns - 1)


def factors(subject: Subject, m: int, n: int, q_and_k: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The vectors whose product is shown: e(m) and e(n), or R(m) q and R(n) k."""
    if subject.is_additive:
        left, right = (subject.encode(np.array([p]))[0] for p in (m, n))
        return left, right
    q, k = q_and_k
    return subject.rotate(q, m), subject.rotate(k, n, keys=True)


def product_cell(
    scene: Scene,
    formula: Step,
    special: tuple[Maths, ...],
    vectors: tuple[np.ndarray, np.ndarray],
    value: float,
) -> Cell:
    """The formula, a table of the products of all dimensions, and the sum with numbers."""
    t, (left, right) = scene.t, vectors
    columns = "i", t("first vector"), t("second vector"), t("product")
    words = t("Dimension by dimension:")
    summands = summands_step("products", words, columns, left, right, left * right)
    return view_cell((formula, summands, substitute(t, special)), value)


def view_cell(steps: tuple[Step, ...], value: float) -> Cell:
    """A cell of a view: views compute in float64, so the value is the truth as well."""
    return Cell(steps, float(np.float32(value)), value)
