"""Positions out of phases: which position a noisy sinusoidal encoding came from.

Pair i of an encoding is a phase, p w_i up to whole turns. The slowest wave says where in each of
its turns p can be; every faster wave then narrows each of these candidates, by least squares of the
phases so far, from the longest wavelength to the shortest. No table of positions is searched.
"""

from typing import NamedTuple

import numpy as np

from posenc.core.positions import LIMIT

TURN = 2 * np.pi
MOST_TURNS = 2**15
"""So many turns of the slowest wave below LIMIT are followed one by one."""
EARLY = 8
"""After so many waves most candidates are out of the question."""
FINALISTS = 64
"""Candidates whose encodings are compared with the vector, where many waves told them apart."""
ROUNDING = 1e-9
"""Distances below this for each channel are all alike: an angle at 2^24 is off by as much."""


class Located(NamedTuple):
    """Positions, how far each vector is from their encodings, and from the next best position's.

    A vector that lies far from every encoding came from none; where `next_distance` is about as
    small as `distance`, it may as well have come from another position.
    """

    positions: np.ndarray
    distance: np.ndarray
    next_distance: np.ndarray


def candidates(phasors: np.ndarray, frequencies: np.ndarray) -> np.ndarray:
    """Whole positions below LIMIT that may have these phasors e^(i p w): (pair,) -> (count,).

    `frequencies` are those of the phasors, the first the fastest.
    """
    order = np.argsort(frequencies, kind="stable")
    phases, weights = np.angle(phasors)[order], np.maximum(np.abs(phasors)[order], 1e-9)
    w = frequencies[order]
    turns = int(LIMIT * w[0] / TURN) + 1
    followed = np.arange(-1, turns + 1 if turns <= MOST_TURNS else 512)
    p = _followed((phases[0] + TURN * followed) / w[0], phases, weights, w)
    found = [np.round(p) + step for step in (-1, 0, 1)]
    if turns > MOST_TURNS:
        found.append(_met(phases[-1], w[-1], count=4 if len(w) == 1 else 16))
    whole = np.unique(np.concatenate(found)).astype(np.int64)
    return whole[(whole >= 0) & (whole < LIMIT)]


def _followed(p: np.ndarray, phases: np.ndarray, weights: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Candidates p of the slowest wave, narrowed by one wave after the other.

    Each is an estimate with the precision of the phases so far. A new phase moves it by what it is
    off, and adds the square of that to its cost; where waves are far apart in length, it may also
    be off by a turn more or less. Those of least cost are kept.
    """
    cost, precision = np.zeros_like(p), weights[0] * w[0] ** 2
    fewest = max(512, 2**16 // len(w))
    most = max(fewest, len(p))
    for i in range(1, len(w)):
        off = phases[i] - w[i] * p
        off -= TURN * np.round(off / TURN)
        if w[i] > 1.25 * w[i - 1]:
            p, cost, off = np.tile(p, 3), np.tile(cost, 3), np.tile(off, 3)
            off += np.repeat([0.0, -TURN, TURN], len(off) // 3)
        gained = weights[i] * w[i] ** 2
        cost = cost + off**2 * weights[i] * precision / (precision + gained)
        p = p + off * weights[i] * w[i] / (precision + gained)
        precision += gained
        kept = most if i < EARLY else fewest
        if i == len(w) - 1:  # what counts at last is how near a whole position is
            cost = cost + (p - np.round(p)) ** 2 * precision
            kept = FINALISTS if i >= EARLY else 16 * FINALISTS
        if len(p) > kept:
            best = np.argpartition(cost, kept)[:kept]
            p, cost = p[best], cost[best]
    return p


def _met(phase: float, w: float, *, count: int) -> np.ndarray:
    """Positions below LIMIT whose phase is nearly this, where no wave is slow enough to follow.

    p = 4096 a + b: for each of the 4,096 turns by a, the `count` values of b that come nearest to
    turning it the rest of the way are found among the sorted phases of all b.
    """
    side = int(LIMIT**0.5)
    steps = np.arange(side)
    small = (steps * w) % TURN
    order = np.argsort(small)
    rest = (phase - side * steps * w) % TURN
    at = np.searchsorted(small[order], rest)
    near = order[(at[:, None] + np.arange(count) - count // 2) % side]
    return (side * steps[:, None] + near).ravel().astype(np.float64)


def chosen(
    whole: np.ndarray, squares: np.ndarray, *, dim: int, slowest: float
) -> tuple[int, float, float]:
    """The candidate that is nearest, its distance and that of the next best.

    Where a lower one, turns of the slowest wave away, is as likely (e^-3 or more of the likelihood,
    for noise of the size that is left over), that one is taken: small vectors come round again.
    """
    best = int(np.argmin(squares))
    least = max(float(squares[best]), dim * ROUNDING**2)
    alike = (dim * (squares / least - 1) <= 6) & (whole <= whole[best] - TURN / slowest / 2)
    if alike.any():
        best = int(np.argmax(alike))  # the first: candidates are in order
    others = np.delete(squares, best)
    following = float(np.sqrt(others.min())) if others.size else np.inf
    return int(whole[best]), float(np.sqrt(squares[best])), following
