"""Sum: embedding + encoding = input, of a sentence."""

import numpy as np

from posenc.core.mechanisms import Additive
from posenc.explanation.cell import Cell
from posenc.explanation.explanation import Step
from posenc.explanation.maths import equation, index, row
from posenc.explanation.place import Place, bracket
from posenc.explanation.registry import explain_number
from posenc.i18n import N_
from posenc.views import cost
from posenc.views.embedding import embeddings
from posenc.views.kind import Kind, is_plain
from posenc.views.panels import Axis, Image, View, colour_limits, max_abs
from posenc.views.scene import Scene
from posenc.views.subject import Subject
from posenc.views.working import check_cell, view_cell


def build(scene: Scene) -> View:
    """Show embedding + encoding = input: three images of each encoding, on one colour scale.

    The embeddings stand for learned ones: random, but equal for equal tokens, and scaled to the
    root mean square of the encoding, so that both are visible.

    >>> from posenc.views import view
    >>> x, e, total = view("sinusoidal", "sum", tokens="我 爱 AI", dim=8).panels
    >>> bool((x.values + e.values == total.values).all())
    True
    """
    t = scene.t
    tokens = scene.sentence()
    found: list[tuple[str, np.ndarray, int]] = []
    sizes: list[float] = []
    for number, subject in enumerate(scene.subjects):
        x, encoding, total = summands(scene, subject)
        sizes.append(max(map(max_abs, (x, encoding, total))))
        label = "" if len(scene.subjects) == 1 else f"{subject.name}: "
        found += [
            (label + t("embedding"), x, number),
            (label + t("+ encoding"), encoding, number),
            (label + t("= input"), total, number),
        ]
    # a column for each subject
    found = [found[i] for part in range(3) for i in range(part, len(found), 3)]
    limits = colour_limits(sizes)
    rows, columns = Axis(t("position"), tokens), Axis(t("dimension"))
    panels = [
        Image(title, values, rows, columns, limits[number], "diverging", t("value"), of=number)
        for title, values, number in found
    ]
    title = scene.title(t("embedding + encoding = input"))
    note = t("embeddings are derived from the text of each token, not learned")
    names = [subject.name for subject in scene.subjects]
    scales = scene.scale_notes(dict(zip(names, sizes, strict=True)))
    return KIND.compose(scene, title, panels, note, *scales)


def summands(scene: Scene, subject: Subject) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the embeddings, the encodings and their sum, of the sentence: (token, dim) each."""
    assert isinstance(subject.unwrapped, Additive)
    tokens = scene.sentence()
    positions = np.arange(len(tokens))
    encoding = subject.encode(positions)
    x = embeddings(tokens, subject.dim) * np.sqrt(np.mean(encoding**2))
    total = np.asarray(subject.unwrapped.add(x, subject.as_points(positions), subject.params))
    return x, encoding, total


def work_out(scene: Scene, p: int, d: int) -> Cell:
    """Dimension d of the sum at position p."""
    t, subject = scene.t, scene.subjects[0]
    check_cell(p, d, len(scene.sentence()), subject.dim)
    x, encoding, total = (float(values[p, d]) for values in summands(scene, subject))
    place = (p,) if subject.unwrapped.axes == 1 else p
    steps = explain_number(subject.unwrapped, Place(place, d, encoding, subject.params or {}, t))
    words = t("The embedding and the encoding are added.")
    sides = index("z", p, d), row(bracket(x), " + ", bracket(encoding)), total
    return view_cell((*steps, Step("sum", words, (equation(*sides),))), total)


KIND = Kind(
    name="sum",
    title=N_("sum"),
    summary=N_("The embedding plus the encoding is the input of the first layer."),
    build=build,
    suits=lambda e: isinstance(e, Additive) and is_plain(e),
    derived=True,
    columns=lambda plain, _: min(4, plain),
    sizes=lambda e, length: {cost.IMAGES: 3} | cost.rows(e, length),
    cells=lambda e, length: 3 * length * cost.width(e),
    working=work_out,
    compact=False,
)
