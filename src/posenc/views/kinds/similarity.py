"""Similarity: how alike two positions are, and how that falls with their distance."""

import numpy as np

from posenc.explanation.cell import Cell
from posenc.explanation.maths import frac, index, row
from posenc.i18n import N_
from posenc.views import cost
from posenc.views.kind import Kind, has_rows, is_plain
from posenc.views.panels import Axis, Image, Line, Lines, Panel, View, common_limit
from posenc.views.scene import Scene
from posenc.views.subject import Subject
from posenc.views.working import find_vectors, product_cell


def build(scene: Scene) -> View:
    """Show the cosine between the encodings of two positions, as a matrix and by distance.

    For a rotary encoding, the product of a query and an equal key, divided by that without
    rotation. On a grid, the similarity of every point to the one in the middle.
    """
    t = scene.t
    plain = [subject for subject in scene.subjects if is_plain(subject.unwrapped)]
    on_grid = [subject for subject in scene.subjects if subject not in plain]
    panels: list[Panel] = []
    if plain:
        positions = scene.positions(64, most=2**12)
        matrices = {subject: matrix(subject, positions) for subject in plain}
        title = t("similarity of positions") if len(scene.subjects) == 1 else ""
        axis = scene.position_axis()
        panels += _images(scene, matrices, (axis, axis), title)
        panels.append(_lines(scene, matrices))
    around = {subject: _similarity_to_middle(scene, subject) for subject in on_grid}
    panels += _images(scene, around, (Axis(t("row")), Axis(t("column"))))
    title = scene.title(t("similarity of positions"))
    notes = [t("similarity of each point of a map to the one in its middle")] if on_grid else []
    return KIND.compose(scene, title, panels, *notes)


def matrix(subject: Subject, q_pos: np.ndarray, k_pos: np.ndarray | None = None) -> np.ndarray:
    """Return e_q e_k / |e_q| |e_k|, or the mean product of equal rotated vectors: (q, k)."""
    k_pos = q_pos if k_pos is None else k_pos
    if subject.is_additive:
        return _normalize(subject.encode(q_pos)) @ _normalize(subject.encode(k_pos)).T
    return subject.mean_product(q_pos, k_pos)


def mean_by_distance(values: np.ndarray) -> np.ndarray:
    """Average each diagonal from the main one down: keys 0, 1, … positions behind the query.

    >>> mean_by_distance(np.array([[1.0, 9.0], [0.5, 1.0]]))
    array([1. , 0.5])
    """
    return np.array([np.diagonal(values, -d).mean() for d in range(len(values))])


def _images(
    scene: Scene, found: dict[Subject, np.ndarray], axes: tuple[Axis, Axis], title: str = ""
) -> list[Image]:
    """Return images on one colour scale, named by their subjects unless there is a title."""
    limit, unit = common_limit(list(found.values())), scene.t("similarity")
    return [
        scene.square_image(subject, title or subject.name, values, axes, limit, unit)
        for subject, values in found.items()
    ]


def _lines(scene: Scene, matrices: dict[Subject, np.ndarray]) -> Lines:
    lines = tuple(Line(subject.name, mean_by_distance(x)) for subject, x in matrices.items())
    title, x = scene.t("mean similarity over each distance"), np.arange(len(lines[0].y))
    # y has no name: the colour scale beside it has
    return Lines(title, x, lines, Axis(scene.t("distance")), Axis(""))


def _similarity_to_middle(scene: Scene, subject: Subject) -> np.ndarray:
    points, side = scene.plane(subject, 16)
    middle = points[(side // 2) * side + side // 2][None]
    return matrix(subject, points, middle)[:, 0].reshape(side, side)


def _normalize(rows: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


def work_out(scene: Scene, m: int, n: int) -> Cell:
    """The similarity of positions m and n."""
    t, subject = scene.t, scene.subjects[0]
    left, right = find_vectors(scene, m, n, np.ones((2, subject.dim)))
    value = float(matrix(subject, np.array([m]), np.array([n]))[0, 0])
    total = float(left @ right)
    if subject.is_additive:
        words = t("The cosine between the encodings of positions {m} and {n}.", m=m, n=n)
        lengths = row("|", index("e", "m"), "|", " · ", "|", index("e", "n"), "|")
        letters = frac(row(index("e", "m"), " · ", index("e", "n")), lengths)
        a, b = (float(np.linalg.norm(x)) for x in (left, right))
        numbers = frac(total, row(a, " · ", b))
    else:
        words = t(
            "The product of a query and an equal key, all ones, rotated to positions {m} and "
            "{n}, divided by their product without rotation.",
            m=m,
            n=n,
        )
        letters = frac(row(index("R", "m"), " x", " · ", index("R", "n"), " x"), "d")
        numbers = frac(total, subject.dim)
    return product_cell(scene, (m, n), words, letters, (left, right), numbers, value=value)


KIND = Kind(
    name="similarity",
    title=N_("similarity"),
    summary=N_("How alike the encodings of two positions are."),
    build=build,
    suits=has_rows,
    derived=True,
    columns=lambda plain, gridded: min(4, plain + gridded + (plain > 0)),
    sizes=cost.pairs,
    cells=lambda _, length: length**2,
    pairwise=True,
    working=work_out,
    along="distance",
)
