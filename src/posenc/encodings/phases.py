"""Recover positions from phases: which position a noisy sinusoidal encoding came from.

Pair i of an encoding is a phase, p w_i modulo 2 pi. The slowest wave gives one candidate for p in
each of its turns; faster waves then refine the candidates, by least squares over the phases so far,
from the longest wavelength to the shortest. No table of positions is searched. If even the slowest
wave makes too many turns for that, every position is scored instead.
"""

from typing import NamedTuple

import numpy as np

from posenc.core.positions import LIMIT

TURN = 2 * np.pi
MOST_TURNS = 2**15
"""The largest number of turns of the slowest wave below LIMIT that are followed one by one."""
EARLY = 8
"""The number of waves after which most candidates are discarded."""
FINALISTS = 64
"""Candidates whose encodings are compared with the vector, after many waves."""
SIDE = 4096
"""Positions below LIMIT are split as p = SIDE a + b, with a and b below SIDE."""
FEW_WAVES = 16
"""Waves in the first scoring pass, spread evenly over all of them."""
FEW_EXACT = 8
"""Scores of at most this many waves are computed in float64."""
MOST_ROWS = 256
"""Rows of 4,096 positions that are examined a second time, one sixteenth of all."""
MOST_FOUND = 4096
"""Positions that are compared with the vector individually after a scan."""
LIKELY = 3.0
"""A position counts as likely if its likelihood is at least e^-3 times that of the best one."""
ROUNDING = 1e-9
"""Distances per channel below this are equal: angles near 2^24 have errors of this size."""


class Located(NamedTuple):
    """Positions, and how far each vector lies from their encodings and from the next best ones.

    A vector far from every encoding did not come from any position; if `next_distance` is close to
    `distance`, the position is ambiguous.

    positions       the nearest positions, (…)
    distance        from each vector to the encoding of its position, (…)
    next_distance   from each vector to the encoding of the next best position, (…)
    """

    positions: np.ndarray
    distance: np.ndarray
    next_distance: np.ndarray


def merge(phasors: np.ndarray, frequencies: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sum phasors of equal frequency, and sort them slowest first: with base 1 all are one wave."""
    w, which = np.unique(frequencies, return_inverse=True)
    real, imaginary = (np.bincount(which, part) for part in (np.real(phasors), np.imag(phasors)))
    return real + 1j * imaginary, w


def can_follow(w: np.ndarray) -> bool:
    """Whether the phases of the waves `w`, slowest first, leave few enough candidates."""
    return len(w) == 1 or LIMIT * w[0] / TURN < MOST_TURNS


def follow(phasors: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Whole positions below LIMIT that are consistent with these phasors e^(i p w): (count,).

    phasors   (wave,), complex
    w         frequencies, (wave,), slowest first
    """
    phases, weights = np.angle(phasors), np.maximum(np.abs(phasors), 1e-9)
    turns = int(LIMIT * w[0] / TURN) + 1
    slow = turns <= MOST_TURNS
    starts = (phases[0] + TURN * np.arange(-1, turns + 1 if slow else 512)) / w[0]
    p = _narrow(starts, phases, weights, w)
    found = [np.round(p) + step for step in (-1, 0, 1)]
    if not slow:
        found.append(_match(phases[0], w[0]))
    return _within(np.concatenate(found))


def _within(positions: np.ndarray) -> np.ndarray:
    whole = np.unique(positions).astype(np.int64)
    return whole[(whole >= 0) & (whole < LIMIT)]


def _narrow(p: np.ndarray, phases: np.ndarray, weights: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Refine the candidates p of the slowest wave by one faster wave after the other.

    Each candidate is an estimate with the precision of the phases so far. A new phase corrects it
    by the residual and adds the squared residual to its cost; between waves of very different
    lengths the residual may also be one turn more or less. The candidates of least cost are kept.
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
        if i == len(w) - 1:  # finally, prefer candidates close to a whole position
            cost = cost + (p - np.round(p)) ** 2 * precision
            kept = FINALISTS if i >= EARLY else 16 * FINALISTS
        if len(p) > kept:
            best = np.argpartition(cost, kept)[:kept]
            p, cost = p[best], cost[best]
    return p


def _match(phase: float, w: float) -> np.ndarray:
    """Positions below LIMIT whose phase is close to `phase`, for one wave too fast to follow.

    With p = 4096 a + b: for each of the 4,096 values of a, the four values of b whose phase is
    closest to the remainder are looked up among the sorted phases of all b.
    """
    steps = np.arange(SIDE)
    small = (steps * w) % TURN
    order = np.argsort(small)
    rest = (phase - SIDE * steps * w) % TURN
    at = np.searchsorted(small[order], rest)
    near = order[(at[:, None] + np.arange(-2, 2)) % SIDE]
    off = np.abs((small[near] - rest[:, None] + TURN / 2) % TURN - TURN / 2)
    best = np.argpartition(off.ravel(), FINALISTS)[:FINALISTS]
    return (SIDE * steps[:, None] + near).ravel()[best].astype(np.float64)


def scan(vector: np.ndarray, phasors: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Whole positions below LIMIT whose encodings are nearest to `vector`, by scoring all of them.

    Half the squared distance is (|vector|^2 + dim/2) / 2 - S(p), where S(p) = sum_i Re(conj(z_i)
    e^(i p w_i)) with phasors z_i. With p = 4096 a + b this is a product of two matrices. If there
    are many waves, a subset is scored first: the others add at most sum |z_i| to S, which rules out
    nearly all positions unless the noise is large.
    """
    dim = len(vector)
    some = np.unique(np.linspace(0, len(w) - 1, min(len(w), FEW_WAVES)).round().astype(int))
    for waves in (some, np.arange(len(w))):
        scores = _Scores(phasors[waves], w[waves])
        most = scores.row_maxima()
        tops = scores.best_in(np.argsort(most)[-FINALISTS:])
        best = float(np.max(np.real(np.exp(1j * tops[:, None] * w) @ np.conj(phasors))))
        left_out = np.sum(np.abs(phasors)) - np.sum(np.abs(phasors[waves]))
        least = max(vector @ vector + dim / 2 - 2 * best, dim * ROUNDING**2)
        floor = best - LIKELY * least / dim - left_out - scores.rounding
        rows = np.flatnonzero(most >= floor)
        if len(rows) <= MOST_ROWS or len(waves) == len(w):
            break
    if len(rows) > MOST_ROWS:  # few waves or much noise: keep the lowest rows and the best
        rows = np.union1d(rows[: MOST_ROWS // 2], np.argsort(most)[-MOST_ROWS // 2 :])
    found, value = scores.find_above(floor, rows)
    if len(found) > MOST_FOUND:
        best_ones = np.argpartition(value, -MOST_FOUND // 2)[-MOST_FOUND // 2 :]
        found = np.concatenate([found[: MOST_FOUND // 2], found[best_ones]])
    beside = np.arange(-FINALISTS, FINALISTS + 1) + tops[-1]  # the next best may be a neighbour
    return _within(np.concatenate([found, tops, beside]))


class _Scores:
    """S(p) at every p = 4096 a + b, with one row of 4,096 positions for each a."""

    def __init__(self, phasors: np.ndarray, w: np.ndarray):
        dtype = np.float64 if len(w) <= FEW_EXACT else np.float32  # few waves: many near ties
        turned = np.conj(phasors) * np.exp(1j * SIDE * np.arange(SIDE)[:, None] * w)
        small = np.exp(1j * np.arange(SIDE)[:, None] * w)
        self.left = np.concatenate([np.real(turned), -np.imag(turned)], axis=1).astype(dtype)
        self.right = np.concatenate([np.real(small), np.imag(small)], axis=1).astype(dtype).T
        # a dot product of n terms is off by at most n + 2 roundings, two of them in the factors
        self.rounding = float((2 * len(w) + 2) * np.finfo(dtype).eps * np.sum(np.abs(phasors)))

    def row_maxima(self) -> np.ndarray:
        """The largest score of each row."""
        blocks = np.split(self.left, 8)  # few blocks: BLAS synchronises its threads in each
        made = np.empty((SIDE // 8, SIDE), dtype=self.left.dtype)
        return np.concatenate([np.matmul(x, self.right, out=made).max(axis=1) for x in blocks])

    def best_in(self, rows: np.ndarray) -> np.ndarray:
        """The best position in each of the given rows."""
        return SIDE * rows + np.argmax(self.left[rows] @ self.right, axis=1)

    def find_above(self, floor: float, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Positions in the given rows, in order, that score at least `floor`, and the scores."""
        made = self.left[rows] @ self.right
        row, column = np.nonzero(made >= floor)
        return SIDE * rows[row] + column, made[row, column]


def choose(
    whole: np.ndarray, squares: np.ndarray, *, dim: int, slowest: float
) -> tuple[int, float, float]:
    """The nearest candidate, its distance, and the distance of the next best.

    If a lower candidate, whole turns of the slowest wave away, is about as likely (at least e^-3 of
    the likelihood, for noise of the size of the residual), the lower one is returned.
    """
    best = int(np.argmin(squares))
    least = max(float(squares[best]), dim * ROUNDING**2)
    likely = dim * (squares / least - 1) <= 2 * LIKELY
    alike = likely & (whole <= whole[best] - TURN / slowest / 2)
    if alike.any():
        best = int(np.argmax(alike))  # the first: candidates are in order
    others = np.delete(squares, best)
    following = float(np.sqrt(others.min())) if others.size else np.inf
    return int(whole[best]), float(np.sqrt(squares[best])), following
