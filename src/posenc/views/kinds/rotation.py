"""Rotation: pairs of channels as hands on circles, at several positions."""

import numpy as np

from posenc.i18n import later
from posenc.views.colours import tokens
from posenc.views.kind import Kind, rotates_text
from posenc.views.kinds.wavelengths import waves_of
from posenc.views.panels import Dials, View
from posenc.views.scene import Scene, format_number
from posenc.views.subject import Subject

MOST_HANDS, SOME_HANDS = 12, 8
"""Every position is shown up to so many; else some, as many as there are colours."""

SEEN = 0.25
"""Radians that a pair must turn within the positions to be seen turning."""


def rotation(scene: Scene) -> View:
    """Where a pair points at each position: the first is turned by nothing, the next by w_i, ….

    >>> from posenc.views import view
    >>> view("rope", "rotation", length=3, channels=[0], dim=4).panels[0].hands.tolist()
    [[[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]]
    """
    t = scene.t
    panels = [_dials(scene, subject) for subject in scene.subjects]
    count = scene.count(SOME_HANDS)
    said = t("{shown} of {count} positions", shown=SOME_HANDS, count=count)
    notes = () if count <= MOST_HANDS else (said,)
    return KIND.compose(scene, scene.title(t("rotation of pairs")), panels, *notes)


def turning(periods: np.ndarray, count: int, most: int) -> list[int]:
    """Pairs that turn visibly within so many positions, and at most two that are too slow.

    >>> from posenc import RoPE
    >>> turning(RoPE(64).wavelengths(), 4, 8)
    [0, 2, 3, 5, 6, 8, 20, 31]
    """
    seen = 2 * np.pi * (count - 1) / periods >= SEEN
    fast, slow = np.flatnonzero(seen), np.flatnonzero(~seen)
    slow = slow[[len(slow) // 2, -1]] if len(slow) > 1 and len(fast) > 1 else slow
    wanted = most - min(len(slow), most // 2)
    fast = fast[np.rint(np.linspace(0, len(fast) - 1, min(wanted, len(fast)))).astype(int)]
    return sorted({int(pair) for pair in (*fast, *slow[: most - len(fast)])})


def _dials(scene: Scene, subject: Subject) -> Dials:
    t = scene.t
    count = scene.count(SOME_HANDS)
    some = count if count <= MOST_HANDS else SOME_HANDS
    shown = _spread(count, some)
    turned = subject.factors(np.arange(count))[shown]
    periods = np.min([period for _, period in waves_of(scene, subject)], axis=0)
    pairs = turning(periods, count, 8) if scene.channels is None else scene.choose(len(periods), 8)
    hands = np.stack([np.angle(turned), np.abs(turned)], axis=-1)[:, pairs].swapaxes(0, 1)
    names = tuple(
        t(
            "pair {pair}: {period} positions per turn",
            pair=i,
            period=format_number(float(periods[i])),
        )
        for i in pairs
    )
    named = scene.tokens
    words = ["" if named is None else named[p] for p in shown.tolist()]
    labels = tuple(  # what has no token is called by its position already
        f"{p} {word}" if word and word != str(p) else f"{p}"
        for p, word in zip(shown.tolist(), words, strict=True)
    )
    return Dials(subject.name, hands, names, labels, scene.index(subject))


def _spread(count: int, some: int) -> np.ndarray:
    """Some of the positions, evenly; no two in the colour of another, as far as there are colours.

    >>> _spread(8, 8).tolist(), _spread(393, 8).tolist()
    ([0, 1, 2, 3, 4, 5, 6, 7], [0, 57, 111, 170, 222, 283, 333, 388])
    """
    colours = len(tokens())
    shown: list[int] = []
    for position in np.rint(np.linspace(0, count - 1, some)).astype(int).tolist():
        taken = {other % colours for other in shown}
        near = sorted(range(count), key=lambda other: (abs(other - position), -other))
        free = (other for other in near if other % colours not in taken and other not in shown)
        shown.append(next(free, position))
    return np.array(sorted(shown))


KIND = Kind(
    name="rotation",
    title=later("rotation"),
    summary=later("Pairs of dimensions as hands: each position turns them further."),
    build=rotation,
    suits=rotates_text,
    columns=lambda _, __: 1,
    first_for=rotates_text,
    channels=True,
    angles=True,
)
