"""The sum: embedding + encoding = input, of a sentence."""

import numpy as np

from posenc.core.mechanisms import Additive
from posenc.explanation.cell import Cell
from posenc.explanation.explanation import Step
from posenc.explanation.maths import equation, index, row
from posenc.explanation.place import Place, bracket
from posenc.explanation.registry import explain_number
from posenc.i18n import later
from posenc.views import cost
from posenc.views.embedding import embeddings
from posenc.views.kind import Kind, is_plain
from posenc.views.panels import Axis, Image, View, colour_limits, max_abs
from posenc.views.scene import Scene
from posenc.views.subject import Subject
from posenc.views.working import check_cell, view_cell


def addition(scene: Scene) -> View:
    """Embedding + encoding = input: three images of each encoding, the three on one scale.

    The embeddings stand for learned ones: random, but the same for the same token, and as large as
    the encoding is on average, so that both can be seen.

    >>> from posenc.views import view
    >>> x, e, made = view("sinusoidal", "sum", tokens="我 爱 AI", dim=8).panels
    >>> bool((x.values + e.values == made.values).all())
    True
    """
    t = scene.t
    tokens = scene.sentence()
    found: list[tuple[str, np.ndarray, int]] = []
    sizes: list[float] = []
    for number, subject in enumerate(scene.subjects):
        x, encoding, made = summands(scene, subject)
        sizes.append(max(map(max_abs, (x, encoding, made))))
        label = "" if len(scene.subjects) == 1 else f"{subject.name}: "
        found += [
            (label + t("embedding"), x, number),
            (label + t("+ encoding"), encoding, number),
            (label + t("= input"), made, number),
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
    note = t("embeddings are made from each token's text, not learned")
    names = [subject.name for subject in scene.subjects]
    scales = scene.scale_notes(dict(zip(names, sizes, strict=True)))
    return KIND.compose(scene, title, panels, note, *scales)


def summands(scene: Scene, subject: Subject) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Embeddings, encodings, and their sum, of the sentence: (token, dim) each."""
    assert isinstance(subject.unwrapped, Additive)
    tokens = scene.sentence()
    positions = np.arange(len(tokens))
    encoding = subject.encode(positions)
    x = embeddings(tokens, subject.dim) * np.sqrt(np.mean(encoding**2))
    made = np.asarray(subject.unwrapped.add(x, subject.as_points(positions), subject.params))
    return x, encoding, made


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
    title=later("sum"),
    summary=later("Embedding plus encoding is what the first layer is given."),
    build=addition,
    suits=lambda e: isinstance(e, Additive) and is_plain(e),
    columns=lambda plain, _: min(4, plain),
    sizes=lambda e, length: {cost.IMAGES: 3} | cost.rows(e, length),
    cells=lambda e, length: 3 * length * cost.width(e),
    working=work_out,
    compact=False,
)
