"""Waves: a few channels along the positions."""

import numpy as np

from posenc.core.mechanisms import Additive
from posenc.i18n import later
from posenc.views.kind import Kind, has_text_rows
from posenc.views.panels import Axis, Line, Lines, View, max_abs
from posenc.views.scene import Scene
from posenc.views.subject import Subject

SOME = 2**20
"""Values of all channels that are made at once."""

FINE, POINTS = 16, 4_096
"""Points that a smooth wave has to a position at most; fewer where there would be more in all."""


def waves(scene: Scene) -> View:
    """The values of a few dimensions along the positions; of a rotary encoding the cosines.

    Between whole positions too where the encoding is defined there, as a wave is smooth.
    """
    t = scene.t
    panels = [_waves(scene, subject) for subject in scene.subjects]
    return KIND.compose(scene, scene.title(t("waves")), panels)


def _waves(scene: Scene, subject: Subject) -> Lines:
    t = scene.t
    rotary = not isinstance(subject.unwrapped, Additive)
    x, values, shown = _smooth(scene, subject)
    lines = tuple(
        Line(t("pair {pair}", pair=i) if rotary else t("dimension {dimension}", dimension=i), y)
        for i, y in zip(shown, values.T.copy(), strict=True)
    )
    y_axis = Axis(t("cosine") if rotary else t("value"))
    return Lines(subject.name, x, lines, scene.position_axis(), y_axis, of=scene.index(subject))


def moving(values: np.ndarray, most: int) -> list[int]:
    """A few channels (position, channel) that move within these positions, so that none hides.

    They go through half of the largest value at least: a slower wave is a level line. Sines, which
    begin at 0, are taken before cosines, which are as fast.

    >>> from posenc import Sinusoidal
    >>> moving(Sinusoidal(64).encode(range(5)), 5), moving(Sinusoidal(64).encode(range(64)), 5)
    ([0, 4, 8, 10, 14], [0, 8, 16, 24, 32])
    """
    limit = max_abs(values)
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
    shown = moving(values, 5) if scene.channels is None else scene.choose(width, 5)
    between = np.arange(fine(count) * (count - 1) + 1) / fine(count)
    # of what is added, not all channels of all positions at once; a rotation may need to see them
    some = max(1, SOME // width) if isinstance(subject.unwrapped, Additive) else len(between)
    parts = [between[at : at + some] for at in range(0, len(between), some)]
    try:
        return between, np.concatenate([_values(subject, part)[:, shown] for part in parts]), shown
    except (TypeError, IndexError):  # a table has rows at whole positions only
        return whole, values[:, shown], shown


def _values(subject: Subject, positions: np.ndarray) -> np.ndarray:
    if isinstance(subject.unwrapped, Additive):
        return subject.encode(positions)
    return np.real(subject.factors(positions)).copy()  # without the imaginary parts


KIND = Kind(
    name="waves",
    title=later("waves"),
    summary=later("A few dimensions along the positions: each is a wave of its own."),
    build=waves,
    suits=has_text_rows,
    columns=lambda plain, _: min(2, plain),
    channels=True,
    along="position",
)
