"""Relative dot products: one query and one key at every pair of positions."""

import numpy as np

from posenc.explanation.cell import Cell
from posenc.explanation.maths import index, row
from posenc.i18n import N_
from posenc.views import cost
from posenc.views.kind import Kind, has_text_rows
from posenc.views.panels import Axis, Line, Lines, View, max_abs
from posenc.views.scene import Scene, format_number
from posenc.views.subject import Subject
from posenc.views.working import find_vectors, product_cell


def build(scene: Scene) -> View:
    """Show the product of a query at m and a key at n, as a matrix and over the distance m - n.

    For a rotary encoding, of a random q and k; for an additive one, of the encodings themselves.
    Where only the distance counts, every diagonal has one colour and the lines of all queries
    coincide; the notes give the largest difference at one distance.

    >>> from posenc.views import view
    >>> for name in ("sinusoidal", "learned"):
    ...     image = view(name, "products", length=9).panels[0]
    ...     print(name, distance_spread(image.values) < 1e-12 * image.limit)
    sinusoidal True
    learned False
    """
    t = scene.t
    positions = scene.positions(64, most=2**12)
    matrices = {subject: matrix(scene, subject, positions) for subject in scene.subjects}
    limits, scales = scene.set_scales({s: max_abs(values) for s, values in matrices.items()})
    unit, axes = t("product"), scene.pair_axes()
    images = [
        scene.square_image(s, scene.label(s, _formula(s)), values, axes, limits[s], unit)
        for s, values in matrices.items()
    ]
    lines = [_lines(scene, subject, values) for subject, values in matrices.items()]
    drawn = t("one q and one k at every position, drawn with seed {seed}", seed=scene.seed)
    notes = (
        *(_spread_note(scene, subject, values) for subject, values in matrices.items()),
        *([] if all(subject.is_additive for subject in scene.subjects) else [drawn]),
        *_not_relative_notes(scene, matrices),
        *scales,
    )
    title = scene.title(t("relative dot products"))
    return KIND.compose(scene, title, (*images, *lines), *notes)


def _formula(subject: Subject) -> str:
    return "e(m) · e(n)" if subject.is_additive else "R(m) q · R(n) k"


def matrix(scene: Scene, subject: Subject, positions: np.ndarray) -> np.ndarray:
    """Return R(m) q · R(n) k of one q and one k, or e(m) · e(n): (m, n)."""
    q, k = np.zeros((2, subject.dim))  # x + e with x = 0
    if not subject.is_additive:
        q, k = draw_vectors(scene, subject)
    return subject.products(q, k, positions, positions)


def draw_vectors(scene: Scene, subject: Subject) -> np.ndarray:
    """Draw one query and one key: (2, dim)."""
    return np.random.default_rng(scene.seed).normal(size=(2, subject.dim))


def distance_spread(values: np.ndarray) -> float:
    """Return the largest difference between products at one distance.

    >>> distance_spread(np.array([[1.0, 9.0], [0.5, 1.25]]))
    0.25
    """
    size = len(values)
    return max(float(np.ptp(np.diagonal(values, away))) for away in range(1 - size, size))


def _spread_note(scene: Scene, subject: Subject, values: np.ndarray) -> str:
    note = scene.t(
        "at one distance the products differ by at most {size}; the largest is {largest}",
        size=format_number(distance_spread(values)),
        largest=format_number(max_abs(values)),
    )
    return scene.label(subject, note)


EVEN = 1e-9
"""Products at one distance count as equal if they differ by at most this part of the largest."""


def _not_relative_notes(scene: Scene, matrices: dict[Subject, np.ndarray]) -> list[str]:
    """Say that logits are not relative, for additive encodings whose own products are."""
    relative = [
        subject
        for subject, values in matrices.items()
        if subject.is_additive and distance_spread(values) <= EVEN * max_abs(values)
    ]
    note = scene.t(
        "e(m) · e(n) depends on the distance alone, the logits of x + e do not: their products "
        "of x with e change from place to place, so the encoding is not relative"
    )
    return [scene.label(subject, note) for subject in relative]


def _lines(scene: Scene, subject: Subject, values: np.ndarray) -> Lines:
    """Plot the products of three queries over the distance; their ranges overlap."""
    t, count = scene.t, len(values)
    queries = dict.fromkeys(np.rint(np.linspace(0, count - 1, 5)[1:4]).astype(int).tolist())
    lines = tuple(
        Line(t("query at {position}", position=m), _over_distance(values, m)) for m in queries
    )
    title = scene.label(subject, t("the same over the distance, from a few queries"))
    # beside a single image, its colour scale already names the values
    y_axis = Axis("" if len(scene.subjects) == 1 else t("product"))
    x, x_axis = np.arange(1 - count, count), Axis(t("distance (query − key)"))
    return Lines(title, x, lines, x_axis, y_axis, of=scene.index(subject))


def _over_distance(values: np.ndarray, m: int) -> np.ndarray:
    """Return row m over the distances m - n, NaN where there is no key."""
    count = len(values)
    row = np.full(2 * count - 1, np.nan)
    row[m : m + count] = values[m, ::-1]  # the last key is m - (count - 1) away
    return row


def work_out(scene: Scene, m: int, n: int) -> Cell:
    """The product at positions m and n."""
    t, subject = scene.t, scene.subjects[0]
    left, right = find_vectors(scene, m, n, draw_vectors(scene, subject))
    if subject.is_additive:
        words = t("The product of the encodings of positions {m} and {n}.", m=m, n=n)
        letters = row(index("e", "m"), " · ", index("e", "n"))
    else:
        words = t(
            "The product of one query and one key, drawn at random and rotated to positions "
            "{m} and {n}.",
            m=m,
            n=n,
        )
        letters = row(row(index("R", "m"), " q"), " · ", row(index("R", "n"), " k"))
    value = float(left @ right)
    return product_cell(scene, (m, n), words, letters, (left, right), value=value)


KIND = Kind(
    name="products",
    title=N_("products"),
    summary=N_(
        "The product of a query and a key at every pair of positions: does only their distance "
        "count?"
    ),
    build=build,
    suits=has_text_rows,
    derived=True,
    columns=lambda plain, _: min(4, max(2, plain)),
    sizes=cost.pairs,
    cells=lambda _, length: length**2,
    pairwise=True,
    working=work_out,
    along="offset",
)
