"""Heatmap and waves: what each position is given, row by row and channel by channel."""

import math
from dataclasses import replace

import numpy as np

from posenc.core.mechanisms import Additive
from posenc.views.panels import Axis, Image, Line, Lines, View, largest, scale_ends
from posenc.views.scene import Scene
from posenc.views.subject import Subject

SOME = 2**20
"""Values of all channels that are made at once."""

FINE, POINTS = 16, 4_096
"""Points that a smooth wave has to a position at most; fewer where there would be more in all."""


def heatmap(scene: Scene) -> View:
    """Values by position and dimension; of a rotary encoding the angles by position and pair.

    >>> from posenc.views import view
    >>> view("sinusoidal", "heatmap", tokens="我 爱", dim=4).panels[0].values.round(2).tolist()
    [[0.0, 1.0, 0.0, 1.0], [0.84, 0.54, 0.01, 1.0]]
    """
    t = scene.t
    positions = scene.positions(64)
    added = {s: s.encoded(positions) for s in scene.subjects if isinstance(s.acting, Additive)}
    sizes = {s.name: largest(values) for s, values in added.items()}
    limits = dict(
        zip(added, scale_ends([largest(values) for values in added.values()]), strict=True)
    )
    rows = scene.position_axis()
    panels = [
        asked(
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
            else angles(scene, s, positions),
        )
        for i, s in enumerate(scene.subjects)
    ]
    said = t("values by position and dimension") if added else t("angles by position and pair")
    notes = scene.notes(*scene.scale_notes(sizes))
    return View("heatmap", scene.title(said), tuple(panels), notes, columns=min(2, len(panels)))


def asked(scene: Scene, image: Image) -> Image:
    """The image, of its columns only those asked for."""
    if scene.channels is None:
        return image
    shown = scene.chosen(image.values.shape[1], 1)
    columns = replace(image.columns, labels=tuple(map(str, shown)))
    return replace(image, values=image.values[:, shown], columns=columns)


def angles(scene: Scene, subject: Subject, positions: np.ndarray) -> Image:
    """The angle of each pair at each position, from minus half a turn to half a turn."""
    t = scene.t
    values = np.angle(subject.turned(positions))
    rows = scene.position_axis()
    columns, of = Axis(t("pair")), scene.of(subject)
    return Image(subject.name, values, rows, columns, math.pi, "cyclic", t("angle"), of=of)


def waves(scene: Scene) -> View:
    """The values of a few dimensions along the positions; of a rotary encoding the cosines.

    Between whole positions too where the encoding is defined there, as a wave is smooth.
    """
    t = scene.t
    panels = tuple(_waves(scene, subject) for subject in scene.subjects)
    return View(
        "waves", scene.title(t("waves")), panels, scene.notes(), columns=min(2, len(panels))
    )


def _waves(scene: Scene, subject: Subject) -> Lines:
    t = scene.t
    rotary = not isinstance(subject.acting, Additive)
    x, values, shown = _smooth(scene, subject)
    lines = tuple(
        Line(t("pair {pair}", pair=i) if rotary else t("dimension {dimension}", dimension=i), y)
        for i, y in zip(shown, values.T.copy(), strict=True)
    )
    y_axis = Axis(t("cosine") if rotary else t("value"))
    return Lines(subject.name, x, lines, scene.position_axis(), y_axis, of=scene.of(subject))


def moving(values: np.ndarray, most: int) -> list[int]:
    """A few channels (position, channel) that move within these positions, so that none hides.

    They go through half of the largest value at least: a slower wave is a level line. Sines, which
    begin at 0, are taken before cosines, which are as fast.

    >>> from posenc import Sinusoidal
    >>> moving(Sinusoidal(64).encode(range(5)), 5), moving(Sinusoidal(64).encode(range(64)), 5)
    ([0, 4, 8, 10, 14], [0, 8, 16, 24, 32])
    """
    limit = largest(values)
    found = np.flatnonzero(np.ptp(values, axis=0) >= max(limit / 2, 1e-12))
    sines = found[np.abs(values[0, found]) <= 1e-9 * limit]
    found = sines if len(sines) > 1 else found
    if not len(found):
        found = np.arange(values.shape[1])
    picked = np.rint(np.linspace(0, len(found) - 1, min(most, len(found)))).astype(int)
    return [int(channel) for channel in found[picked]]


def fine(count: int) -> int:
    """Points to each of so many positions: as many as make a wave smooth where it can be seen.

    >>> fine(5), fine(64), fine(1024), fine(4096)
    (16, 16, 4, 1)
    """
    return max(1, min(FINE, POINTS // count))


def _smooth(scene: Scene, subject: Subject) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Positions, values of the channels that are shown, and which those are.

    Between whole positions there are values too, if the encoding has any there.
    """
    count = scene.count(64)
    whole = np.arange(count)
    values = _values(subject, whole)
    width = values.shape[1]
    shown = moving(values, 5) if scene.channels is None else scene.chosen(width, 5)
    between = np.arange(fine(count) * (count - 1) + 1) / fine(count)
    # of what is added, not all channels of all positions at once; a rotation may need to see them
    some = max(1, SOME // width) if isinstance(subject.acting, Additive) else len(between)
    parts = [between[at : at + some] for at in range(0, len(between), some)]
    try:
        return between, np.concatenate([_values(subject, part)[:, shown] for part in parts]), shown
    except (TypeError, IndexError):  # a table has rows at whole positions only
        return whole, values[:, shown], shown


def _values(subject: Subject, positions: np.ndarray) -> np.ndarray:
    if isinstance(subject.acting, Additive):
        return subject.encoded(positions)
    return np.real(subject.turned(positions)).copy()  # without the imaginary parts
