"""Heatmap: the values of each position, row by row and channel by channel."""

import math
from dataclasses import replace

from posenc.core.mechanisms import Additive
from posenc.i18n import N_
from posenc.views.kind import Kind, has_text_rows, is_plain
from posenc.views.panels import Axis, Image, View, max_abs
from posenc.views.scene import Scene
from posenc.views.subject import count_channels


def build(scene: Scene) -> View:
    """Show values by position and dimension, or angles by position and pair if rotary.

    >>> from posenc.views import view
    >>> view("sinusoidal", "heatmap", tokens="我 爱", dim=4).panels[0].values.round(2).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0]]
    """
    t = scene.t
    positions, rows = scene.positions(64), scene.position_axis()
    values = {subject: subject.channels(positions) for subject in scene.subjects}
    limits, notes = scene.set_scales({s: max_abs(x) for s, x in values.items() if s.is_additive})
    images = [
        scene.channel_image(
            subject,
            subject.name,
            image,
            (rows, Axis(t("dimension") if subject.is_additive else t("pair"))),
            limits.get(subject, math.pi),
        )
        for subject, image in values.items()
    ]
    what = t("values by position and dimension") if limits else t("angles by position and pair")
    panels = [select_columns(scene, image) for image in images]
    return KIND.compose(scene, scene.title(what), panels, *notes)


def select_columns(scene: Scene, image: Image) -> Image:
    """Keep only the chosen channels of an image."""
    if scene.channels is None:
        return image
    shown = scene.choose(image.values.shape[1], 1)
    columns = replace(image.columns, labels=tuple(map(str, shown)))
    return replace(image, values=image.values[:, shown], columns=columns)


KIND = Kind(
    name="heatmap",
    title=N_("heatmap"),
    summary=N_("The value of each position, dimension by dimension."),
    build=build,
    suits=has_text_rows,
    columns=lambda plain, _: min(2, plain),
    first_for=lambda e: isinstance(e, Additive) and is_plain(e),
    channels=True,
    cells=lambda e, length: length * count_channels(e),
    angles=True,
)
