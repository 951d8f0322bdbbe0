"""Long-range decay: what fades with distance in a rotary encoding, and what does not."""

import numpy as np

from posenc.i18n import N_
from posenc.views.averaging import spread_evenly
from posenc.views.colours import SHADES
from posenc.views.kind import Kind, rotates_text
from posenc.views.panels import Axis, Line, Lines, Mark, View
from posenc.views.scene import Scene
from posenc.views.subject import Subject

SAMPLES = 512
DISTANCES, DRAWN = 512, 2**16
"""Distances of random vectors, at most; and so many channels of all distances together."""


def build(scene: Scene) -> View:
    """Show three curves over the distance r: equal q and k, RoFormer's bound, random q and k.

    The product of equal vectors, the mean of cos(r w_i), decays. RoFormer's bound (Su et al., 2021,
    eq. 36-37) is the mean over j of |S_j|, S_j = sum of e^(i r w) over the first j pairs; it falls,
    though not monotonically. Products of random vectors have the same spread at every distance
    (Barbero et al., 2024): decay comes from aligned content, not from the rotation.
    """
    t = scene.t
    farthest = max(256, len(scene.tokens or ())) if scene.length is None else scene.length
    distances = np.arange(farthest + 1)
    distance = Axis(t("distance"))
    marks = ()
    if scene.tokens is not None:
        count = len(scene.tokens)
        marks = (Mark(t("length: {length}", length=f"{count:,}"), x=float(count)),)
    named = [(s, s.name, i) for i, s in enumerate(scene.subjects)]
    here = np.zeros(1)
    equal = tuple(Line(name, s.mean_product(distances, here)[:, 0], i) for s, name, i in named)
    bounds = tuple(Line(name, bound(s, distances), i) for s, name, i in named)
    widest = max(subject.dim for subject in scene.subjects)
    some = spread_evenly(distances, max(16, min(DISTANCES, DRAWN // widest)))
    drawn = [line for i in range(len(scene.subjects)) for line in _random_lines(scene, i, some)]
    product, mean, logit = Axis(t("mean product")), Axis(t("mean of |S|")), Axis(t("q · k / √d"))
    title = t("RoFormer's bound (eq. 37)")
    panels = (
        Lines(t("equal q and k"), distances, equal, distance, product, marks),
        Lines(title, distances, bounds, distance, mean, marks),
        Lines(t("random q and k"), some, tuple(drawn), distance, logit),
    )
    title = scene.title(t("long-range decay"))
    notes = [t("{count} random pairs of q and k, seed {seed}", count=SAMPLES, seed=scene.seed)]
    if len(some) < len(distances):
        shown, count = f"{len(some):,}", f"{len(distances):,}"
        notes.append(t("random q and k at {shown} of {count} distances", shown=shown, count=count))
    return KIND.compose(scene, title, panels, *notes)


def bound(subject: Subject, distances: np.ndarray) -> np.ndarray:
    """Return the mean of |S_j| over j = 1 .. pairs, for each distance.

    >>> from posenc import RoPE
    >>> bound(Subject(RoPE(128)), np.array([0, 1, 10, 100])).round(4).tolist()
    [32.5, 31.5382, 17.9541, 10.2273]
    """
    factors = subject.factors(distances) * subject.factors(np.zeros(1), keys=True).conj()
    return np.abs(np.cumsum(factors, axis=-1)).mean(axis=-1)


def _random_lines(scene: Scene, number: int, distances: np.ndarray) -> list[Line]:
    """Plot the mean and standard deviation of random logits, in the shade of their subject."""
    subject = scene.subjects[number]
    drawn = np.random.default_rng(scene.seed).normal(size=(SAMPLES, 2, 1, subject.dim))
    totals, squares = np.zeros(len(distances)), np.zeros(len(distances))
    some = max(1, 2**21 // (len(distances) * subject.dim))  # at a time, to bound the memory
    for at in range(0, SAMPLES, some):
        q, k = drawn[at : at + some, 0], drawn[at : at + some, 1]
        q = np.repeat(q, len(distances), axis=1)
        logits = subject.logits(q, k, distances, np.zeros(1))[..., 0]
        totals += logits.sum(axis=0)
        squares += (logits**2).sum(axis=0)
    mean = totals / SAMPLES
    spread = np.sqrt(squares / SAMPLES - mean**2)
    turn = SHADES * -(-len(scene.subjects) // SHADES)  # the same shade, another stroke
    return [
        Line(scene.label_line(subject, scene.t("mean")), mean, number),
        Line(scene.label_line(subject, scene.t("standard deviation")), spread, number + turn),
    ]


KIND = Kind(
    name="decay",
    title=N_("decay"),
    summary=N_("How the product of query and key decays with their distance."),
    build=build,
    suits=rotates_text,
    derived=True,
    columns=lambda _, __: 3,
    own_length=True,
    along="distance",
)
