"""Rotation: pairs of channels as hands on circles, at several positions."""

import numpy as np

from posenc.i18n import N_
from posenc.views.averaging import spread_evenly
from posenc.views.colours import tokens
from posenc.views.kind import Kind, rotates_text
from posenc.views.kinds.wavelengths import find_wavelengths
from posenc.views.panels import Dials, View
from posenc.views.scene import Scene, format_number
from posenc.views.subject import Subject

MOST_HANDS, SOME_HANDS = 12, 8
"""All positions are shown up to the first number, else the second, which is that of colours."""

SEEN = 0.25
"""Radians by which a pair must turn within the positions for the turn to be visible."""


def build(scene: Scene) -> View:
    """Show where a pair points at each position: turned by 0, w_i, 2 w_i, ….

    >>> from posenc.views import view
    >>> view("rope", "rotation", length=3, channels=[0], dim=4).panels[0].hands.tolist()
    [[[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]]
    """
    panels = [_dials(scene, subject) for subject in scene.subjects]
    count = scene.count(SOME_HANDS)
    note = scene.t("{shown} of {count} positions", shown=SOME_HANDS, count=count)
    notes = () if count <= MOST_HANDS else (note,)
    return KIND.compose(scene, scene.title(scene.t("rotation of pairs")), panels, *notes)


def pick_turning(periods: np.ndarray, count: int, most: int) -> list[int]:
    """Pick up to `most` pairs that turn visibly within `count` positions, two of them too slow.

    >>> from posenc import RoPE
    >>> pick_turning(RoPE(64).wavelengths(), 4, 8)
    [0, 2, 3, 5, 6, 8, 20, 31]
    """
    seen = 2 * np.pi * (count - 1) / periods >= SEEN
    fast, slow = np.flatnonzero(seen), np.flatnonzero(~seen)
    slow = slow[[len(slow) // 2, -1]] if len(slow) > 1 and len(fast) > 1 else slow
    wanted = most - min(len(slow), most // 2)
    fast = spread_evenly(fast, wanted)
    return sorted({int(pair) for pair in (*fast, *slow[: most - len(fast)])})


def _dials(scene: Scene, subject: Subject) -> Dials:
    count = scene.count(SOME_HANDS)
    some = count if count <= MOST_HANDS else SOME_HANDS
    shown = _pick_positions(count, some)
    factors = subject.factors(np.arange(count))[shown]
    periods = np.min([period for _, period in find_wavelengths(scene, subject)], axis=0)
    pairs = (
        pick_turning(periods, count, 8) if scene.channels is None else scene.choose(len(periods), 8)
    )
    hands = np.stack([np.angle(factors), np.abs(factors)], axis=-1)[:, pairs].swapaxes(0, 1)
    names = tuple(
        scene.t(
            "pair {pair}: {period} positions per turn",
            pair=i,
            period=format_number(float(periods[i])),
        )
        for i in pairs
    )
    words = scene.tokens or tuple(map(str, range(count)))
    # a position without a token has its number as the token
    labels = tuple(
        f"{p}" if words[p] in ("", f"{p}") else f"{p} {words[p]}" for p in shown.tolist()
    )
    return Dials(subject.name, hands, names, labels, scene.index(subject))


def _pick_positions(count: int, some: int) -> np.ndarray:
    """Pick `some` of `count` positions, evenly spread and, if possible, all of different colours.

    >>> _pick_positions(8, 8).tolist(), _pick_positions(393, 8).tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7], [0, 57, 111, 170, 222, 283, 333, 388])
    """
    colours = len(tokens())
    shown: list[int] = []
    for position in spread_evenly(np.arange(count), some).tolist():
        taken = {other % colours for other in shown}
        near = sorted(range(count), key=lambda other: (abs(other - position), -other))
        free = (other for other in near if other % colours not in taken and other not in shown)
        shown.append(next(free, position))
    return np.array(sorted(shown))


KIND = Kind(
    name="rotation",
    title=N_("rotation"),
    summary=N_("Pairs of dimensions as hands: each position turns them further."),
    build=build,
    suits=rotates_text,
    columns=lambda _, __: 1,
    first_for=rotates_text,
    channels=True,
    angles=True,
)
