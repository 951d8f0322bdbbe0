"""Wavelengths: positions per turn of each dimension or pair."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from posenc.core.encoding import Encoding
from posenc.core.mechanisms import Additive, Rotary
from posenc.i18n import N_
from posenc.views.kind import Kind
from posenc.views.panels import Axis, Line, Lines, Mark, View
from posenc.views.scene import Scene
from posenc.views.subject import Subject

STEP = 2.0**-10
"""A step within which no pair turns by half a turn: its angle gives the frequency."""


def has_waves(encoding: Encoding) -> bool:
    """Return whether each of its channels is a wave."""
    return isinstance(encoding, Rotary) or (
        isinstance(encoding, Additive) and encoding.wavelengths() is not None
    )


def build(scene: Scene) -> View:
    """Show positions per turn on a log axis; the length of the text and of training are marked.

    Waves longer than the text tell distant positions apart, waves of a few positions neighbours.
    """
    t = scene.t
    found: dict[bool, list[tuple[str, np.ndarray]]] = {}
    for subject in scene.subjects:
        found.setdefault(subject.is_additive, []).extend(find_wavelengths(scene, subject))
    panels: list[Lines] = []
    for additive, waves in found.items():
        alone = len(scene.subjects) == len(waves) == 1  # the title names it
        named = [(t("wavelength"), waves[0][1])] if alone else waves
        if additive:
            panel = lines_over_index(
                t("wavelength of each dimension"), t("dimension"), named, scene
            )
        else:
            panel = lines_over_index(t("wavelength of each pair"), t("pair"), named, scene)
        # both dimensions of a pair have the same wavelength: draw steps, not slopes
        panels.append(replace(panel, steps=additive))
    return KIND.compose(scene, scene.title(t("wavelengths")), panels, columns=len(panels))


def find_wavelengths(scene: Scene, subject: Subject) -> list[tuple[str, np.ndarray]]:
    """Return a name and the positions per turn of each channel or pair, for each axis."""
    encoding = _at_text_length(scene, subject)
    axes = encoding.axes or 1
    lengths = encoding.wavelengths() if axes == 1 else None
    if lengths is not None:
        return [(subject.name, lengths)]
    steps = STEP * np.eye(axes) if encoding.axes else np.array([STEP])
    angles = np.abs(np.angle(Subject(encoding, subject.params).factors(steps))) / STEP
    periods = np.divide(2 * np.pi, angles, out=np.full_like(angles, np.inf), where=angles > 0)
    if axes == 1:
        return [(subject.name, periods[0])]
    names = [scene.label_line(subject, scene.t("axis {axis}", axis=i)) for i in range(axes)]
    return list(zip(names, np.where(np.isfinite(periods), periods, np.nan), strict=True))


def _at_text_length(scene: Scene, subject: Subject) -> Encoding:
    """Return the encoding for the length of the text, or four times the length of training."""
    if not isinstance(subject.unwrapped, Rotary) or not subject.varies_with_length:
        return subject.unwrapped
    return subject.unwrapped.at(scene.count(4 * (subject.trained or 4096), most=2**40))


def lines_over_index(
    title: str, name: str, found: Sequence[tuple[str, np.ndarray]], scene: Scene
) -> Lines:
    """Plot wavelengths over the index of a dimension or pair; shorter lines end in NaN."""
    t = scene.t
    longest = max(len(y) for _, y in found)
    lines = tuple(
        Line(name, np.pad(y, (0, longest - len(y)), constant_values=np.nan)) for name, y in found
    )
    marks: list[Mark] = []
    if scene.tokens is not None or scene.length is not None:
        length = scene.count(1, most=2**40)
        marks.append(Mark(t("length: {length}", length=f"{length:,}"), y=float(length)))
    for length in sorted({subject.trained for subject in scene.subjects if subject.trained}):
        marks.append(Mark(t("trained length: {length}", length=f"{length:,}"), y=float(length)))
    y_axis = Axis(t("positions per turn"), log=True)
    return Lines(title, np.arange(longest), lines, Axis(name), y_axis, tuple(marks))


KIND = Kind(
    name="wavelengths",
    title=N_("wavelengths"),
    summary=N_("How many positions a full turn takes, in each dimension."),
    build=build,
    suits=has_waves,
    derived=True,
    columns=lambda _, __: 1,
    along="channel",
)
