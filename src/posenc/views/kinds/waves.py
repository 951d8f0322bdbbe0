"""Waves: a few channels as curves over the positions."""

import numpy as np

from posenc.i18n import N_
from posenc.views.averaging import spread_evenly
from posenc.views.kind import Kind, has_text_rows
from posenc.views.panels import Axis, Line, Lines, View, max_abs
from posenc.views.scene import Scene
from posenc.views.subject import Subject

SOME = 2**20
"""Values that are computed at a time, of all channels."""

FINE, POINTS = 16, 4_096
"""Points of a smooth curve: at most so many for each position, and about so many in all."""


def build(scene: Scene) -> View:
    """Show a few dimensions over the positions, or the cosines of a few pairs if rotary.

    Curves are smooth where the encoding is defined between whole positions.
    """
    panels = [_panel(scene, subject) for subject in scene.subjects]
    return KIND.compose(scene, scene.title(scene.t("waves")), panels)


def _panel(scene: Scene, subject: Subject) -> Lines:
    x, values, shown = _sample(scene, subject)
    named = zip(shown, values.T.copy(), strict=True)
    lines = tuple(Line(scene.name_channel(subject, i), y) for i, y in named)
    y_axis = Axis(scene.t("value") if subject.is_additive else scene.t("cosine"))
    return Lines(subject.name, x, lines, scene.position_axis(), y_axis, of=scene.index(subject))


def pick_moving(values: np.ndarray, most: int) -> list[int]:
    """Pick a few channels of values (position, channel) that vary visibly and differ.

    They range over at least half of the largest value; a slower wave looks level. Sines, which
    start at 0, are preferred to the cosines of the same frequency.

    >>> from posenc import Sinusoidal
    >>> [pick_moving(Sinusoidal(64).encode(range(count)), 5) for count in (5, 64)]
    [[0, 4, 8, 10, 14], [0, 8, 16, 24, 32]]
    """
    limit = max_abs(values)
    found = np.flatnonzero(np.ptp(values, axis=0) >= max(limit / 2, 1e-12))
    sines = found[np.abs(values[0, found]) <= 1e-9 * limit]
    found = sines if len(sines) > 1 else found
    if not len(found):
        found = np.arange(values.shape[1])
    return spread_evenly(found, most).tolist()


def points_per_position(count: int) -> int:
    """Return how many points to compute for each of `count` positions, so that curves are smooth.

    >>> [points_per_position(count) for count in (5, 64, 1024, 4096)]
    [16, 16, 4, 1]
    """
    return max(1, min(FINE, POINTS // count))


def _sample(scene: Scene, subject: Subject) -> tuple[np.ndarray, np.ndarray, list[int]]:
    """Return positions, the values of the channels that are shown, and which channels those are.

    Positions lie between whole ones too, if the encoding has values there.
    """
    count = scene.count(64)
    whole = np.arange(count)
    values = _values(subject, whole)
    width = values.shape[1]
    shown = pick_moving(values, 5) if scene.channels is None else scene.choose(width, 5)
    between = np.arange(points_per_position(count) * (count - 1) + 1) / points_per_position(count)
    # additive encodings in parts, to bound the memory; a rotation may depend on all positions
    some = max(1, SOME // width) if subject.is_additive else len(between)
    parts = [between[at : at + some] for at in range(0, len(between), some)]
    try:
        return between, np.concatenate([_values(subject, part)[:, shown] for part in parts]), shown
    except (TypeError, IndexError):  # a table has whole positions only
        return whole, values[:, shown], shown


def _values(subject: Subject, positions: np.ndarray) -> np.ndarray:
    if subject.is_additive:
        return subject.encode(positions)
    return np.real(subject.factors(positions)).copy()  # a view would keep the imaginary parts


KIND = Kind(
    name="waves",
    title=N_("waves"),
    summary=N_("A few dimensions over the positions: each is a wave of its own."),
    build=build,
    suits=has_text_rows,
    columns=lambda plain, _: min(2, plain),
    channels=True,
    along="position",
)
