"""Maps: channels of an encoding over the rows and columns of a picture."""

import math

import numpy as np

from posenc.core.encoding import Encoding
from posenc.i18n import N_
from posenc.views.averaging import spread_evenly
from posenc.views.kind import Kind, has_rows, is_plain
from posenc.views.panels import Axis, Image, View, common_limit, max_abs
from posenc.views.scene import Scene
from posenc.views.subject import Subject

SIDE = 16
"""Rows and columns of the picture by default."""

SEEN = 0.2
"""The part of the colour scale that values must range over for the difference to be visible."""


def build(scene: Scene) -> View:
    """Show a few channels over a picture: values of an additive encoding, angles of a rotary one.

    A third axis, such as time, stays at 0; a note names the channels that follow it.
    """
    values = {subject: _values(scene, subject) for subject in scene.subjects}
    limits, scales = scene.set_scales({s: max_abs(x) for s, x in values.items() if s.is_additive})
    panels = [
        image
        for subject, channels in values.items()
        for image in _images(scene, subject, channels, limits.get(subject, math.pi))
    ]
    units = [s for s in scene.subjects if s.unwrapped.unit_positions]
    notes = [scene.t("coordinates from 0 to 1")] if units else []
    notes += [note for subject in scene.subjects for note in _hidden_axis_notes(scene, subject)]
    title = scene.title(scene.t("channels over a picture"))
    return KIND.compose(scene, title, panels, *dict.fromkeys([*notes, *scales]))


def _values(scene: Scene, subject: Subject) -> np.ndarray:
    """Return the encodings, or the angles: (row, column, channel)."""
    points, side = scene.plane(subject, SIDE)
    points = _to_coordinates(subject.unwrapped, points, side)
    return subject.channels(points).reshape(side, side, -1)


def point(encoding: Encoding, row: int, column: int, side: int = SIDE) -> np.ndarray:
    """Return the position of a place of the picture, as the encoding takes it.

    >>> from posenc import AxialSinusoidal, FourierFeatures
    >>> point(AxialSinusoidal(8), 3, 5), point(FourierFeatures(8), 3, 5)
    (array([3, 5]), array([0.21875, 0.34375]))
    """
    axes = encoding.axes or 2
    return _to_coordinates(encoding, np.array([0] * (axes - 2) + [row, column]), side)


def _to_coordinates(encoding: Encoding, points: np.ndarray, side: int) -> np.ndarray:
    """Move points to the centres of pixels, for an encoding of coordinates from 0 to 1."""
    return (points + 0.5) / side if encoding.unit_positions else points


def _hidden_axis_notes(scene: Scene, subject: Subject) -> list[str]:
    """Say which channels follow an axis that is constant in one picture, such as time."""
    t, axes = scene.t, subject.unwrapped.axes or 2
    values = subject.encode if subject.is_additive else subject.factors
    notes: list[str] = []
    for axis in range(axes - 2):
        here, next_to = values(np.stack([np.zeros(axes), np.eye(axes)[axis]]))
        found = format_runs(np.flatnonzero(here != next_to).tolist())
        note = (
            t(
                "dimensions {dimensions} follow axis {axis}, which is the same everywhere in one "
                "picture",
                dimensions=found,
                axis=axis,
            )
            if subject.is_additive
            else t(
                "pairs {pairs} follow axis {axis}, which is the same everywhere in one picture",
                pairs=found,
                axis=axis,
            )
        )
        notes += [note] if found else []
    return notes


def format_runs(numbers: list[int]) -> str:
    """Format increasing numbers as ranges, the first four of them.

    >>> format_runs([0, 1, 2, 7]), format_runs([]), format_runs([0, 3, 6, 9, 12, 15])
    ('0–2, 7', '', '0, 3, 6, 9, …')
    """
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][-1] + 1:
            ranges[-1].append(number)
        else:
            ranges.append([number])
    texts = [str(one[0]) if len(one) == 1 else f"{one[0]}–{one[-1]}" for one in ranges]
    return ", ".join(texts[:4] + ["…"] * (len(texts) > 4))


def _images(scene: Scene, subject: Subject, values: np.ndarray, limit: float) -> list[Image]:
    """Return images of a few channels; `limit` is the end of their colour scale."""
    axes = Axis(scene.t("row")), Axis(scene.t("column"))
    seen = common_limit([values]) if subject.is_additive else math.pi
    images: list[Image] = []
    for i in _pick_varying(scene, values, seen):
        title = scene.label_line(subject, scene.name_channel(subject, i))
        image = values[:, :, i]
        images.append(scene.channel_image(subject, title, image, axes, limit, channel=i))
    return images


def _pick_varying(scene: Scene, values: np.ndarray, limit: float) -> list[int]:
    """Return the chosen channels, or up to four that vary visibly along each axis."""
    if scene.channels is not None:
        return scene.choose(values.shape[-1], 8)
    along = np.stack([np.ptp(values, axis=axis).mean(axis=0) for axis in (0, 1)])
    shown: set[int] = set()
    for axis in (0, 1):
        # channels that vary most along this axis, and visibly; if none does, the nearest to it
        mine = np.flatnonzero((along.argmax(axis=0) == axis) & (along[axis] > 0))
        ranges = along[axis, mine]
        mine = mine[ranges >= min(SEEN * limit, ranges.max(initial=0))]
        shown |= set(spread_evenly(mine, 4).tolist())
    return sorted(shown) or [0]


def has_maps(encoding: Encoding) -> bool:
    """Return whether each point of a picture has values of its own."""
    return has_rows(encoding) and not is_plain(encoding)


KIND = Kind(
    name="maps",
    title=N_("maps"),
    summary=N_("Single dimensions over the rows and columns of a picture."),
    build=build,
    suits=has_maps,
    columns=lambda _, __: 4,
    first_for=has_maps,
    channels=True,
    angles=True,
)
