"""Wavelengths: how many positions a turn takes, in each dimension or pair."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from posenc.core.mechanisms import Encoding, Rotary
from posenc.i18n import later
from posenc.views.kind import Kind
from posenc.views.panels import Axis, Line, Lines, Mark, View
from posenc.views.scene import Scene
from posenc.views.subject import Subject

STEP = 2.0**-10
"""A step so small that no pair turns half a turn within it: its angle tells the frequency."""


def has_waves(encoding: Encoding) -> bool:
    """Whether each of its channels is a wave."""
    return isinstance(encoding, Rotary) or callable(getattr(encoding, "wavelengths", None))


def wavelengths(scene: Scene) -> View:
    """Positions per turn on a log axis, with the sentence's and the trained length marked.

    A wave longer than the text never completes a turn there: that tells positions far apart; a
    wave shorter than a few positions tells neighbours.
    """
    t = scene.t
    lines: dict[str, list[tuple[str, np.ndarray]]] = {}
    for subject in scene.subjects:
        axis = "pair" if isinstance(subject.unwrapped, Rotary) else "dimension"
        lines.setdefault(axis, []).extend(waves_of(scene, subject))
    said = {
        "pair": (t("wavelength of each pair"), t("pair")),
        "dimension": (t("wavelength of each dimension"), t("dimension")),
    }
    if len(scene.subjects) == 1:  # the title names it
        lines = {
            axis: [(t("wavelength"), found[0][1])] if len(found) == 1 else found
            for axis, found in lines.items()
        }
    panels = tuple(
        # both dimensions of a pair have its wavelength: there is no slope between them
        replace(over_index(*said[axis], found, scene), steps=axis == "dimension")
        for axis, found in lines.items()
    )
    title = scene.title(t("wavelengths"))
    return KIND.compose(scene, title, panels, columns=len(panels))


def waves_of(scene: Scene, subject: Subject) -> list[tuple[str, np.ndarray]]:
    """Positions per turn of each channel or pair, and a name; of several axes one for each axis."""
    t = scene.t
    encoding = _settled(scene, subject)
    if callable(getattr(encoding, "wavelengths", None)):
        return [(subject.name, np.asarray(cast(Any, encoding).wavelengths()))]
    turned = Subject(encoding, subject.params)
    axes = encoding.axes or 1
    steps = STEP * np.eye(axes) if encoding.axes else np.array([STEP])
    angles = np.abs(np.angle(turned.factors(steps))) / STEP
    periods = np.divide(2 * np.pi, angles, out=np.full_like(angles, np.inf), where=angles > 0)
    if axes == 1:
        return [(subject.name, periods[0])]
    label = "" if len(scene.subjects) == 1 else f"{subject.name}, "
    return [
        (label + t("axis {axis}", axis=i), np.where(np.isfinite(row), row, np.nan))
        for i, row in enumerate(periods)
    ]


def _settled(scene: Scene, subject: Subject) -> Encoding:
    """The encoding for a text of the sentence's length, or four times what it was trained on."""
    if not isinstance(subject.unwrapped, Rotary) or not subject.varies_with_length:
        return subject.unwrapped
    return subject.unwrapped.at(scene.count(4 * (subject.trained or 4096), most=2**40))


def over_index(
    title: str, name: str, found: Sequence[tuple[str, np.ndarray]], scene: Scene
) -> Lines:
    """Wavelengths over the index of a dimension or a pair; shorter lines end where they end."""
    t = scene.t
    longest = max(len(y) for _, y in found)
    lines = tuple(
        Line(name, np.pad(y, (0, longest - len(y)), constant_values=np.nan)) for name, y in found
    )
    y_axis = Axis(t("positions per turn"), log=True)
    marks = _lengths(scene)
    return Lines(title, np.arange(longest), lines, Axis(name), y_axis, marks)


def _lengths(scene: Scene) -> tuple[Mark, ...]:
    t = scene.t
    marks: list[Mark] = []
    if scene.tokens is not None or scene.length is not None:
        length = scene.count(1, most=2**40)
        marks.append(Mark(t("length: {length}", length=f"{length:,}"), y=float(length)))
    for length in sorted({subject.trained for subject in scene.subjects if subject.trained}):
        marks.append(Mark(t("trained length: {length}", length=f"{length:,}"), y=float(length)))
    return tuple(marks)


KIND = Kind(
    name="wavelengths",
    title=later("wavelengths"),
    summary=later("How many positions a full turn takes, in each dimension."),
    build=wavelengths,
    suits=has_waves,
    columns=lambda _, __: 1,
    along="channel",
)
