"""Learned beside sinusoidal: a table of parameters, and sinusoids of the same width."""

from posenc.core.encoding import Encoding
from posenc.core.mechanisms import Additive
from posenc.encodings.registry import lookup
from posenc.i18n import N_
from posenc.views import cost
from posenc.views.kind import Kind, is_plain
from posenc.views.kinds.similarity import matrix
from posenc.views.panels import Axis, Panel, View, common_limit
from posenc.views.scene import Scene
from posenc.views.subject import Subject


def build(scene: Scene) -> View:
    """Show values and similarities of a learned table, and of the sinusoidal encoding.

    Before training the table is noise: no two positions are more alike than others. Each image of
    values has its own colour scale, as the table starts out small.
    """
    t = scene.t
    positions = scene.positions(64, most=2**12)
    panels: list[Panel] = []
    axis = scene.position_axis()
    beside = Subject(lookup("sinusoidal").example(dim=scene.subjects[0].dim))
    for subject in (*scene.subjects, beside):
        values, axes = subject.encode(positions), (axis, Axis(t("dimension")))
        alike = t("{encoding}: {what}", encoding=subject.name, what=t("similarity of positions"))
        panels += [
            scene.channel_image(subject, subject.name, values, axes, common_limit([values])),
            scene.square_image(
                subject, alike, matrix(subject, positions), (axis, axis), 1.0, t("similarity")
            ),
        ]
    return KIND.compose(scene, t("learned and sinusoidal"), panels)


def _sizes(encoding: Encoding, length: int) -> dict[str, int]:
    widest = max(length, cost.width(encoding))
    return {cost.IMAGES: 2, cost.POSITIONS: length, cost.POSITIONS_OR_DIMENSIONS: widest}


KIND = Kind(
    name="learned",
    title=N_("learned"),
    summary=N_("A learned table beside the sinusoidal one."),
    build=build,
    suits=lambda e: isinstance(e, Additive) and bool(e.parameters()) and is_plain(e),
    columns=lambda _, __: 2,
    sizes=_sizes,
)
