"""Properties of logits: what they depend on, how they fall off."""

import numpy as np

from posenc.checks.engine import Measurement, NotApplicableError
from posenc.checks.properties.claims import check, trait
from posenc.checks.properties.differences import max_difference, max_or_nan, scale_of
from posenc.checks.subject import Subject
from posenc.core.mechanisms import Additive, Bias, Scores

LEAST_DIFFERENCE = 1e-3
"""By how much an order of tokens must change some logit."""


@check(claimed=trait("relative"), why="What is learned at one place holds at every other.")
def relative(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest relative change of logits when all positions move alike, up to 2,048."""
    far, count = min(subject.reach, 2048), 8 if subject.very_wide else 40
    p = subject.points(np.sort(rng.choice(far // 2 + 1, min(count, far // 2 + 1), replace=False)))
    q, k = subject.queries(rng, len(p)), subject.queries(rng, len(p))
    near = subject.score(q, k, p, p)
    moves = [np.full(subject.axes, step) for step in (1, far // 3, far // 2)]
    if subject.axes > 1:  # and along each axis by itself
        moves += list(np.eye(subject.axes, dtype=int) * (far // 3))
    off: list[float] = []
    for move in moves:
        there = p + (move if subject.axes > 1 else move[0])
        moved = subject.score(q, k, there, there, tokens=(p, p))
        off.append(max_difference(moved, near))
    return Measurement(max_or_nan(off) / scale_of(near), 1e-3, f"moved by up to {far // 2}")


@check(claimed=trait("decays"), why="Far tokens then matter less, for content that is alike.")
def decays(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest logit far away against that nearby, for q = k; a bias's rise against its fall."""
    far = min(subject.reach, 2**14)
    count = 20 if subject.very_wide else 200
    distances = np.unique(np.geomspace(1, far, count).astype(int))
    p, zero = subject.points(distances), subject.points(np.zeros(1, dtype=int))
    if isinstance(subject.encoding, Bias):
        return _measure_fall(subject.bias(p, zero)[..., 0])
    if isinstance(subject.encoding, Scores) and "features" in subject.encoding.needs:
        return _measure_fall(_last_query(subject))  # which the tokens between may change
    x = np.ones((*subject.queries(rng, 1).shape[:-2], 1, subject.dim))
    tall = np.broadcast_to(x, (*x.shape[:-2], len(p), subject.dim))
    own = subject.score(x, x, zero, zero)[..., 0]
    own = np.where(np.isfinite(own), own, np.nan)  # a head that hides even that says nothing
    aligned = subject.score(tall, x, p, zero)[..., 0] - own + np.abs(own)
    aligned = aligned.reshape(-1, len(p))
    shown = np.isfinite(aligned).any(axis=0)
    aligned = np.where(shown, _mean_of_seen(aligned, axis=0)[0], -np.inf)
    near, last = aligned[distances <= 4].max(), aligned[distances > far // 4].max()
    q, k = subject.queries(rng, len(p)), subject.queries(rng, 1)
    random = subject.score(q, k, p, zero)[..., 0]
    spread = [
        _mean_range(random[..., part]) if part.any() else 0.0
        for part in (distances <= 64, distances > 64)
    ]
    detail = f"random q and k range over {spread[0]:.1f} near, {spread[1]:.1f} far"
    return Measurement(float(last / near) if near > 0 else np.inf, 0.75, detail)


def _last_query(subject: Subject) -> np.ndarray:
    """Logits (head, distance) of the last query in a text of equal tokens, its own key left out."""
    p = subject.points(np.arange(min(subject.reach + 1, 128)))
    x, same = np.ones((subject.heads, len(p), subject.dim)), np.zeros_like(p)
    return subject.score(x, x, p, p, tokens=(same, same))[..., -1, -2::-1]


def _measure_fall(bias: np.ndarray) -> Measurement:
    """The largest rise with the distance against the whole fall: rows (head, distance).

    A bias stands beside content of any size, so how steep it must be has no bound: a learned one
    may fall as slowly as it likes, if only it falls. The bound on its rise is half of the fall:
    then, once at its lowest, it never comes back above the middle of its range, so that every
    farther key is nearer to the lowest bias than to the highest. What falls steadily has 0, a
    single cosine, which comes back all the way, has 1; sums of many waves lie between.
    """
    shares: list[float] = []
    for row in bias:
        seen = row[np.isfinite(row)]
        if seen.size or np.isnan(row).any():  # a head that hides all its keys says nothing
            filled = np.where(row == -np.inf, seen.min(initial=np.inf) - 1, row)
            rise, fall = np.max(filled - np.minimum.accumulate(filled)), np.ptp(filled)
            shares.append(float(rise / fall) if fall != 0 else np.inf)
    if not shares:
        raise NotApplicableError("every key is hidden")
    return Measurement(float(np.max(shares)), 0.5, "of the head that rises most")


@check(claimed=trait("symmetric"), why="Left and right then look the same.")
def symmetric(subject: Subject, rng: np.random.Generator) -> Measurement:
    """The largest difference between a key ahead and one as far behind, for q = k."""
    if isinstance(subject.encoding, Additive):
        raise NotApplicableError("an inner product is always symmetric")
    far, count = min(subject.reach, 300), 8 if subject.very_wide else 40
    p = subject.points(rng.permutation(far + 1)[:count])
    x = np.broadcast_to(subject.queries(rng, 1), subject.queries(rng, len(p)).shape)
    if not subject.build_mask(p, p).all():
        raise NotApplicableError("keys ahead of their query are hidden")
    same = np.zeros_like(p)
    made = subject.score(x, x, p, p, tokens=(same, same))
    return Measurement(max_difference(made, np.swapaxes(made, -1, -2)) / scale_of(made), 1e-5)


@check(claimed=trait("ordered"), why="Without it a sentence is a bag of words.")
def ordered(subject: Subject, rng: np.random.Generator) -> Measurement:
    """How much the logits of shuffled tokens differ from the shuffled logits."""
    n = min(6, subject.reach + 1)
    if n < 2:
        raise NotApplicableError("it has too few positions")
    p = subject.points(rng.choice(min(subject.reach, 60) + 1, n, replace=False))
    order, x = np.roll(np.arange(n), 1), subject.queries(rng, n)

    def difference(p: np.ndarray) -> float:
        shuffled = subject.score(x, x, p, p)[..., order, :][..., order]
        y, tokens = x[..., order, :], p[order]
        of_shuffled = subject.score(y, y, p, p, tokens=(tokens, tokens))
        seen = subject.build_mask(p, p)
        seen &= seen[order][:, order]  # a mask tells the order, but it is not the encoding's doing
        parts = (_centre(np.where(seen, made, -np.inf)) for made in (shuffled, of_shuffled))
        return max_difference(*parts)

    found = difference(p)
    # between whole places too: a wave of one turn to each is the same on all of them
    if found < LEAST_DIFFERENCE and subject.accepts(np.atleast_1d((p / 64)[0])):
        found = difference(p / 64)
    return Measurement(found, LEAST_DIFFERENCE, least=True)


def _centre(made: np.ndarray) -> np.ndarray:
    """Logits without what all keys of a query share, which no softmax sees; hidden keys stay."""
    return np.where(np.isfinite(made), made - _mean_of_seen(made, axis=-1), made)


def _mean_of_seen(made: np.ndarray, *, axis: int) -> np.ndarray:
    """The mean along an axis, which stays, of what is not hidden; 0 where all is."""
    seen = np.isfinite(made)
    count = np.maximum(seen.sum(axis=axis, keepdims=True), 1)
    return np.where(seen, made, 0.0).sum(axis=axis, keepdims=True) / count


def _mean_range(made: np.ndarray) -> float:
    """From the least logit of a head that is not hidden to its largest, on average."""
    rows = [row[np.isfinite(row)] for row in made.reshape(-1, made.shape[-1])]
    return float(np.mean([np.ptp(row) for row in rows if row.size] or [0.0]))
