"""Properties of rotations: lengths, groups, channels, scalings, layouts."""

import numpy as np

from posenc.checks.engine import Measurement, NotApplicableError
from posenc.checks.properties.claims import always, check, require_rotary, trait
from posenc.checks.properties.differences import max_difference, max_or_nan, scale_of
from posenc.checks.properties.samples import draw_places
from posenc.checks.subject import Subject
from posenc.core.mechanisms import Bias, Rotary


@check(claimed=trait("norm_preserving"), why="At the origin nothing has turned yet.")
def identity_at_zero(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How far R(0) x is from x; for a bias, how far b(p, p) is from 0."""
    zero = np.zeros_like(subject.points(np.arange(1)))
    if isinstance(subject.encoding, Rotary):
        x = rng.normal(size=(1, subject.dim))
        off = (max_difference(subject.rotate(x, zero, keys=keys), x) for keys in (False, True))
        return Measurement(max_or_nan(off), 1e-6)
    if isinstance(subject.encoding, Bias):
        return Measurement(float(np.abs(subject.bias(zero, zero)).max()), 1e-6)
    raise NotApplicableError("only rotations and biases have an origin")


@check(claimed=trait("norm_preserving"), why="Attention must not grow with the position.")
def norm_preserving(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest relative change of a vector's length, as a query or as a key."""
    require_rotary(subject)
    p = subject.points(draw_places(subject, rng))
    x = rng.normal(size=(len(p), subject.dim))
    before = np.linalg.norm(x, axis=-1)
    after = (np.linalg.norm(subject.rotate(x, p, keys=keys), axis=-1) for keys in (False, True))
    return Measurement(max_or_nan(np.abs(a / before - 1).max() for a in after), 1e-5)


@check(
    claimed=lambda e: isinstance(e, Rotary) and e.traits.norm_preserving and e.traits.relative,
    why="It is what makes a product of two rotations depend on their difference.",
)
def composes(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How far R(a) R(b) x is from R(a + b) x."""
    require_rotary(subject)
    half = min(subject.reach, 2000) // 2
    return Measurement(measure_composition(subject, rng, most=half + 1, count=40), 1e-3)


def measure_composition(
    subject: Subject, rng: np.random.Generator, *, most: int, count: int
) -> float:
    """How far R(a) R(b) x is from R(a + b) x at random positions below `most`."""
    a, b = (subject.points(rng.integers(0, most, count)) for _ in range(2))
    x = rng.normal(size=(count, subject.dim))
    twice = subject.rotate(subject.rotate(x, a), b, tokens=a)
    return max_difference(twice, subject.rotate(x, a + b, tokens=a)) / scale_of(x)


@check(
    claimed=lambda e: e.library is None,
    why="A pair left out is capacity that the model never gets.",
)
def every_channel(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How many channels no position rotates, apart from those that are meant to stay fixed."""
    encoding = require_rotary(subject)
    p = subject.points(rng.integers(0, subject.reach + 1, 50))
    x = rng.normal(size=subject.dim)
    # between whole places too: a wave of one turn to each stands still on them
    between = p / subject.reach if subject.reach else p + 0.0
    places = [p, between] if subject.accepts(between[0]) else [p]
    rows, same = np.tile(x, (50, 1)), np.zeros_like(p)
    turned = np.concatenate([subject.rotate(rows, where, tokens=same) for where in places])
    still = int((np.abs(turned - x).max(axis=0) < 1e-7).sum())
    meant = subject.dim - (encoding.rotary_dim or subject.dim)
    w = encoding.frequencies()
    w = np.asarray(() if w is None else w)
    meant += 2 * int((np.abs(w) < 1e-12).sum())
    return Measurement(max(0, still - meant), 0)


@check(claimed=always, why="Two ways to lay out the same channels must give the same model.")
def layout(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest difference of logits between the two layouts, channels permuted alike."""
    relaid = subject.encoding.other_layout()
    if relaid is None:
        raise NotApplicableError("it has one layout")
    other, order = relaid
    p = subject.points(draw_places(subject, rng, far=2000)[:20])
    q, k = rng.normal(size=(2, len(p), subject.dim))
    first = subject.score(q, k, p, p)
    second = Subject(other, seed=subject.seed).score(q[:, order], k[:, order], p, p)
    return Measurement(max_difference(second, first) / scale_of(first), 1e-5)


@check(
    claimed=lambda e: not (isinstance(e, Rotary) and e.searched),
    why="Context extension stretches the slow waves; fast ones tell neighbours apart.",
)
def stretches(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How much more a fast pair is stretched than a slower one by the scaling of a RoPE."""
    encoding = subject.encoding
    plain = encoding.without_scaling() if isinstance(encoding, Rotary) else None
    before = None if plain is None else plain.frequencies()
    after = None if before is None else encoding.frequencies()
    if before is None or after is None:
        raise NotApplicableError("it has no scaling")
    ratios = (after / before)[np.argsort(-before, kind="stable")]  # of several axes, by turns
    ratios = ratios[ratios > 0]  # pairs that stand still are not stretched
    return Measurement(float(np.max(np.diff(ratios), initial=0.0)), 1e-9)
