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
from posenc.views.panels import Axis, View, max_abs
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
    found = {subject: summands(scene, subject) for subject in scene.subjects}
    limits, scales = scene.set_scales({s: max(map(max_abs, x)) for s, x in found.items()})
    axes = Axis(t("position"), scene.sentence()), Axis(t("dimension"))
    panels = [  # a column for each subject
        scene.channel_image(s, scene.label(s, what), values[part], axes, limits[s])
        for part, what in enumerate((t("embedding"), t("+ encoding"), t("= input")))
        for s, values in found.items()
    ]
    title = scene.title(t("embedding + encoding = input"))
    note = t("embeddings are derived from the text of each token, not learned")
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
