"""Maps: channels of an encoding over the rows and columns of a picture."""

import math

import numpy as np

from posenc.core.encoding import Encoding
from posenc.core.mechanisms import Additive
from posenc.i18n import N_
from posenc.views.kind import Kind, has_rows, is_plain
from posenc.views.panels import Axis, Image, View, colour_limits, common_limit, max_abs
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
    t = scene.t
    pairs = [(subject, _values(scene, subject)) for subject in scene.subjects]
    added = [values for subject, values in pairs if isinstance(subject.unwrapped, Additive)]
    limits = iter(colour_limits([max_abs(values) for values in added]))
    panels = tuple(
        image
        for subject, values in pairs
        for image in _images(
            scene,
            subject,
            values,
            next(limits) if isinstance(subject.unwrapped, Additive) else math.pi,
        )
    )
    title = scene.title(t("channels over a picture"))
    notes = [
        t("coordinates from 0 to 1")
        for subject in scene.subjects
        if subject.unwrapped.unit_positions
    ] + [note for subject in scene.subjects for note in _hidden_axis_notes(scene, subject)]
    notes += scene.scale_notes(
        {s.name: max_abs(values) for s, values in pairs if isinstance(s.unwrapped, Additive)}
    )
    return KIND.compose(scene, title, panels, *dict.fromkeys(notes))


def _values(scene: Scene, subject: Subject) -> np.ndarray:
    """Return the encodings, or the angles: (row, column, channel)."""
    points, side = scene.plane(subject, SIDE)
    points = _to_coordinates(subject.unwrapped, points, side)
    added = isinstance(subject.unwrapped, Additive)
    values = subject.encode(points) if added else np.angle(subject.factors(points))
    return values.reshape(side, side, -1)


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
    t = scene.t
    axes, added = subject.unwrapped.axes or 2, isinstance(subject.unwrapped, Additive)
    values = subject.encode if added else subject.factors
    notes: list[str] = []
    for axis in range(axes - 2):
        here, next_to = values(np.stack([np.zeros(axes), np.eye(axes)[axis]]))
        channels = format_runs(np.flatnonzero(here != next_to).tolist())
        if channels:
            notes.append(
                t(
                    "dimensions {dimensions} follow axis {axis}, which is the same everywhere in "
                    "one picture",
                    dimensions=channels,
                    axis=axis,
                )
                if added
                else t(
                    "pairs {pairs} follow axis {axis}, which is the same everywhere in one picture",
                    pairs=channels,
                    axis=axis,
                )
            )
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
    t = scene.t
    added = isinstance(subject.unwrapped, Additive)
    shown = _pick_varying(scene, values, common_limit([values]) if added else math.pi)
    label = "" if len(scene.subjects) == 1 else f"{subject.name}, "
    return [
        Image(
            label
            + (t("dimension {dimension}", dimension=i) if added else t("pair {pair}", pair=i)),
            values[:, :, i],
            Axis(t("row")),
            Axis(t("column")),
            limit,
            "diverging" if added else "cyclic",
            t("value") if added else t("angle"),
            square=True,
            channel=i,
            of=scene.index(subject),
        )
        for i in shown
    ]


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
        picked = np.rint(np.linspace(0, len(mine) - 1, min(4, len(mine)))).astype(int)
        shown |= {int(channel) for channel in mine[picked]}
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
