"""Rotation: pairs of channels as hands on circles, at several positions."""

import numpy as np

from posenc.views.panels import Dials, View
from posenc.views.scene import Scene, number
from posenc.views.subject import Subject
from posenc.views.wavelengths import waves_of

MOST_HANDS = 8
"""As many as there are colours to tell them apart."""


def rotation(scene: Scene) -> View:
    """Where a pair points at each position: the first is turned by nothing, the next by w_i, ….

    >>> from posenc.views import view
    >>> view("rope", "rotation", length=3, channels=[0], dim=4).panels[0].hands.tolist()
    [[[0.0, 1.0], [1.0, 1.0], [2.0, 1.0]]]
    """
    t = scene.t
    panels = tuple(_dials(scene, subject) for subject in scene.subjects)
    title = panels[0].title if len(panels) == 1 else t("rotation of pairs")
    count = scene.count(MOST_HANDS)
    notes = (
        () if count <= MOST_HANDS else (t("{shown} of {count} positions", shown=8, count=count),)
    )
    return View("rotation", title, panels, scene.notes(*notes))


def _dials(scene: Scene, subject: Subject) -> Dials:
    t = scene.t
    count = scene.count(MOST_HANDS)
    shown = np.unique(np.rint(np.linspace(0, count - 1, min(count, MOST_HANDS))).astype(int))
    turned = subject.turned(np.arange(count))[shown]
    pairs = scene.chosen(turned.shape[1], 8)
    periods = np.min([period for _, period in waves_of(scene, subject)], axis=0)
    hands = np.stack([np.angle(turned), np.abs(turned)], axis=-1)[:, pairs].swapaxes(0, 1)
    names = tuple(
        t("pair {pair}: {period} per turn", pair=i, period=number(float(periods[i]))) for i in pairs
    )
    tokens = scene.tokens
    labels = tuple(f"{p}" if tokens is None else f"{p} {tokens[p]}" for p in shown.tolist())
    return Dials(subject.name, hands, names, labels)
