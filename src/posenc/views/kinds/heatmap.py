"""Heatmap: the values of each position, row by row and channel by channel."""

import math
from dataclasses import replace

import numpy as np

from posenc.core.mechanisms import Additive
from posenc.i18n import N_
from posenc.views.kind import Kind, has_text_rows, is_plain
from posenc.views.panels import Axis, Image, View, colour_limits, max_abs
from posenc.views.scene import Scene
from posenc.views.subject import Subject, count_channels


def build(scene: Scene) -> View:
    """Show values by position and dimension, or angles by position and pair if rotary.

    >>> from posenc.views import view
    >>> view("sinusoidal", "heatmap", tokens="我 爱", dim=4).panels[0].values.round(2).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0]]
    """
    t = scene.t
    positions = scene.positions(64)
    added = {s: s.encode(positions) for s in scene.subjects if isinstance(s.unwrapped, Additive)}
    sizes = {s.name: max_abs(values) for s, values in added.items()}
    limits = dict(
        zip(added, colour_limits([max_abs(values) for values in added.values()]), strict=True)
    )
    rows = scene.position_axis()
    panels = [
        select_columns(
            scene,
            Image(
                s.name,
                added[s],
                rows,
                Axis(t("dimension")),
                limits[s],
                "diverging",
                t("value"),
                of=i,
            )
            if s in added
            else angle_image(scene, s, positions),
        )
        for i, s in enumerate(scene.subjects)
    ]
    what = t("values by position and dimension") if added else t("angles by position and pair")
    return KIND.compose(scene, scene.title(what), panels, *scene.scale_notes(sizes))


def select_columns(scene: Scene, image: Image) -> Image:
    """Keep only the chosen channels of an image."""
    if scene.channels is None:
        return image
    shown = scene.choose(image.values.shape[1], 1)
    columns = replace(image.columns, labels=tuple(map(str, shown)))
    return replace(image, values=image.values[:, shown], columns=columns)


def angle_image(scene: Scene, subject: Subject, positions: np.ndarray) -> Image:
    """Return the image of the angle of each pair at each position, from -pi to pi."""
    t = scene.t
    values = np.angle(subject.factors(positions))
    rows = scene.position_axis()
    columns, of = Axis(t("pair")), scene.index(subject)
    return Image(subject.name, values, rows, columns, math.pi, "cyclic", t("angle"), of=of)


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
