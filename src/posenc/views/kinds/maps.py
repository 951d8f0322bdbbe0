"""Maps: encodings of pictures, channel by channel over rows and columns."""

import math
from collections.abc import Callable

import numpy as np

from posenc.core.mechanisms import Additive, Encoding
from posenc.encodings import FourierFeatures, LearnedFourier
from posenc.i18n import later
from posenc.views.kind import Kind, has_rows, is_plain
from posenc.views.panels import Axis, Image, View, colour_limits, common_limit, max_abs
from posenc.views.scene import Scene
from posenc.views.subject import Subject

COORDINATES: dict[type, Callable[[np.ndarray, int], np.ndarray]] = {
    FourierFeatures: lambda points, side: (points + 0.5) / side,
    LearnedFourier: lambda points, side: (points + 0.5) / side,
}
"""What is meant for coordinates from 0 to 1: the centres of pixels. Others take rows, columns."""

SIDE = 16
"""Rows and columns of the picture, unless it is asked for larger."""

SEEN = 0.2
"""What part of the scale's end values must differ by to be seen."""


def maps(scene: Scene) -> View:
    """A few channels over a picture: values of what is added, angles of what is rotated.

    A third axis, such as time, stays at 0; channels that follow it are named in a note.
    """
    t = scene.t
    found = [(subject, _values(scene, subject)) for subject in scene.subjects]
    added = [values for subject, values in found if isinstance(subject.unwrapped, Additive)]
    limits = iter(colour_limits([max_abs(values) for values in added]))
    panels = tuple(
        image
        for subject, values in found
        for image in _maps(
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
        if type(subject.unwrapped) in COORDINATES
    ] + [note for subject in scene.subjects for note in _unseen(scene, subject)]
    notes += scene.scale_notes(
        {s.name: max_abs(values) for s, values in found if isinstance(s.unwrapped, Additive)}
    )
    return KIND.compose(scene, title, panels, *dict.fromkeys(notes))


def _values(scene: Scene, subject: Subject) -> np.ndarray:
    """What is added, or the angles: (row, column, channel)."""
    points, side = scene.plane(subject, SIDE)
    points = _placed(subject.unwrapped, points, side)
    added = isinstance(subject.unwrapped, Additive)
    values = subject.encode(points) if added else np.angle(subject.factors(points))
    return values.reshape(side, side, -1)


def point(encoding: Encoding, row: int, column: int, side: int = SIDE) -> np.ndarray:
    """What the encoding is given for a place of the picture.

    >>> from posenc import AxialSinusoidal
    >>> point(AxialSinusoidal(8), 3, 5), point(FourierFeatures(8), 3, 5)
    (array([3, 5]), array([0.21875, 0.34375]))
    """
    axes = encoding.axes or 2
    return _placed(encoding, np.array([0] * (axes - 2) + [row, column]), side)


def _placed(encoding: Encoding, points: np.ndarray, side: int) -> np.ndarray:
    adjust = COORDINATES.get(type(encoding))
    return adjust(points, side) if adjust else points


def _unseen(scene: Scene, subject: Subject) -> list[str]:
    """What follows an axis that one picture has no room for, such as time."""
    t = scene.t
    axes, added = subject.unwrapped.axes or 2, isinstance(subject.unwrapped, Additive)
    values = subject.encode if added else subject.factors
    notes: list[str] = []
    for axis in range(axes - 2):
        here, next_to = values(np.stack([np.zeros(axes), np.eye(axes)[axis]]))
        channels = runs(np.flatnonzero(here != next_to).tolist())
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


def runs(numbers: list[int]) -> str:
    """Numbers that rise as a reader would write them; many that do not touch are cut short.

    >>> runs([0, 1, 2, 7]), runs([]), runs([0, 3, 6, 9, 12, 15])
    ('0–2, 7', '', '0, 3, 6, 9, …')
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][-1] + 1:
            found[-1].append(number)
        else:
            found.append([number])
    told = [str(run[0]) if len(run) == 1 else f"{run[0]}–{run[-1]}" for run in found]
    return ", ".join(told[:4] + ["…"] * (len(told) > 4))


def _maps(scene: Scene, subject: Subject, values: np.ndarray, limit: float) -> list[Image]:
    """A few channels; `limit` is the end of their scale."""
    t = scene.t
    added = isinstance(subject.unwrapped, Additive)
    shown = _varying(scene, values, common_limit([values]) if added else math.pi)
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


def _varying(scene: Scene, values: np.ndarray, limit: float) -> list[int]:
    """The channels asked for, or a few that differ over the picture: four along each axis."""
    if scene.channels is not None:
        return scene.choose(values.shape[-1], 8)
    along = np.stack([np.ptp(values, axis=axis).mean(axis=0) for axis in (0, 1)])
    shown: set[int] = set()
    for axis in (0, 1):
        # what follows this axis, and can be seen to; if nothing can, what comes nearest
        mine = np.flatnonzero((along.argmax(axis=0) == axis) & (along[axis] > 0))
        ranges = along[axis, mine]
        mine = mine[ranges >= min(SEEN * limit, ranges.max(initial=0))]
        picked = np.rint(np.linspace(0, len(mine) - 1, min(4, len(mine)))).astype(int)
        shown |= {int(channel) for channel in mine[picked]}
    return sorted(shown) or [0]


def has_maps(encoding: Encoding) -> bool:
    """Whether each point of a picture has values of its own."""
    return has_rows(encoding) and not is_plain(encoding)


KIND = Kind(
    name="maps",
    title=later("maps"),
    summary=later("Single dimensions over the rows and columns of a picture."),
    build=maps,
    suits=has_maps,
    columns=lambda _, __: 4,
    first_for=has_maps,
    channels=True,
    angles=True,
)
