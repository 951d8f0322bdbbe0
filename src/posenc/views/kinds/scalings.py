"""Scalings side by side: which frequencies of a rotary encoding they change, and how much."""

from dataclasses import replace
from typing import Any, Protocol, cast, runtime_checkable

import numpy as np

from posenc.core.encoding import Encoding
from posenc.core.scaling import Scaling
from posenc.i18n import N_
from posenc.scalings import common_scalings
from posenc.views.kind import Kind
from posenc.views.kinds.wavelengths import find_wavelengths, lines_over_index
from posenc.views.naming import short_name
from posenc.views.panels import Axis, View
from posenc.views.scene import Scene
from posenc.views.subject import Subject


@runtime_checkable
class Scalable(Protocol):
    """An encoding with a field for the scaling of its frequencies."""

    scaling: Scaling | None


def build(scene: Scene) -> View:
    """Show the ratio by which a scaling changes each frequency, and the wavelengths after it.

    For a single encoding without a scaling, the common scalings with a factor of 4.
    """
    t = scene.t
    subjects = scene.subjects
    if len(subjects) == 1 and _scaling(subjects[0]) is None:
        subjects = _with_common_scalings(subjects[0])
    before = [(_unscale(x).name, find_wavelengths(scene, _unscale(x))[0][1]) for x in subjects]
    after = [(_scaling_name(x), find_wavelengths(scene, x)[0][1]) for x in subjects]
    ratios = [
        (name, np.where(np.isfinite(new), old / new, 0.0))
        for (_, old), (name, new) in zip(before, after, strict=True)
    ]
    pair = t("pair")
    wide = replace(scene, subjects=subjects)
    moved = lines_over_index(t("frequency after / before"), pair, ratios, wide)
    moved = replace(moved, marks=(), y_axis=Axis(t("ratio")))
    scaled = [found for found, x in zip(after, subjects, strict=True) if _scaling(x) is not None]
    originals = list({name: (name, y) for name, y in before}.values())
    waves = lines_over_index(t("wavelength of each pair"), pair, [*originals, *scaled], wide)
    return KIND.compose(scene, scene.title(t("scalings")), (moved, waves))


def _scaling_name(subject: Subject) -> str:
    scaling = _scaling(subject)
    return subject.name if scaling is None else short_name(scaling)


def _scaling(subject: Subject) -> Scaling | None:
    encoding = subject.unwrapped
    assert isinstance(encoding, Scalable)
    return encoding.scaling


def _with_scaling(subject: Subject, scaling: Scaling | None) -> Encoding:
    return replace(cast(Any, subject.unwrapped), scaling=scaling)


def _unscale(subject: Subject) -> Subject:
    return replace(subject, encoding=_with_scaling(subject, None))


def _with_common_scalings(subject: Subject) -> tuple[Subject, ...]:
    length = subject.trained or 4096
    common = common_scalings(4.0, length)
    return tuple(Subject(_with_scaling(subject, one), None, length) for one in common)


def takes_scaling(encoding: Encoding) -> bool:
    """Return whether its frequencies can be scaled."""
    return isinstance(encoding, Scalable)


KIND = Kind(
    name="scalings",
    title=N_("scalings"),
    summary=N_("Which wavelengths a scaling stretches, and by how much."),
    build=build,
    suits=takes_scaling,
    derived=True,
    columns=lambda _, __: 2,
    along="channel",
)
