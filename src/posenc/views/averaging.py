"""Fewer cells: each the mean of a box of them, so that no wave appears that is not there.

Every n-th value of a wave is another wave, a slower one (moiré); a mean over a box fades instead.
"""

import math

import numpy as np


def boxes(shape: tuple[int, ...], most: tuple[int, int]) -> tuple[int, int]:
    """The smallest boxes (rows, columns) that leave at most so many of them.

    >>> boxes((4096, 64), (700, 900))
    (6, 1)
    """
    return math.ceil(shape[0] / most[0]) or 1, math.ceil(shape[1] / most[1]) or 1


def means(values: np.ndarray, box: tuple[int, int]) -> np.ndarray:
    """Means over boxes; those at the end may be smaller, and NaN does not count.

    >>> means(np.array([[1.0, 3.0, np.nan, 5.0, np.nan]]), (1, 2))
    array([[ 2.,  5., nan]])
    """
    known = np.isfinite(values)
    if known.all():
        sizes = [_sums(np.ones(size), step) for size, step in zip(values.shape, box, strict=True)]
        return _sums_of_boxes(values, box) / np.outer(*sizes)
    totals = _sums_of_boxes(np.where(known, values, 0.0), box)
    counts = _sums_of_boxes(known.astype(np.float64), box)
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)


def direction_means(angles: np.ndarray, box: tuple[int, int]) -> np.ndarray:
    """Means of angles as directions, those of unit vectors: half a turn either way is one place.

    Where they point everywhere there is no common direction, and NaN instead: the mean vector is
    shorter than a half. Else a fast rotation would look like a slow one.

    >>> direction_means(np.array([[3.1, -3.1, 0.0, 3.1]]), (1, 2)).round(4)
    array([[3.1416,    nan]])
    """
    x, y = means(np.cos(angles), box), means(np.sin(angles), box)
    return np.where(np.hypot(x, y) < 0.5, np.nan, np.arctan2(y, x))


def ends(values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest of each `size` values of a row; NaN where there is none.

    >>> low, high = ends(np.array([1.0, 3.0, np.nan, 5.0, np.nan]), 2)
    >>> low, high
    (array([ 1.,  5., nan]), array([ 3.,  5., nan]))
    """
    known, at = np.isfinite(values), range(0, len(values), size)
    low = np.minimum.reduceat(np.where(known, values, np.inf), at)
    high = np.maximum.reduceat(np.where(known, values, -np.inf), at)
    return np.where(low <= high, low, np.nan), np.where(low <= high, high, np.nan)


def _sums_of_boxes(values: np.ndarray, box: tuple[int, int]) -> np.ndarray:
    return _sums(_sums(values, box[0]).T, box[1]).T


def _sums(values: np.ndarray, size: int) -> np.ndarray:
    """Of each `size` rows their sum, and of those left at the end: faster than `reduceat`."""
    if size == 1:
        return values
    whole = len(values) // size * size
    sums = values[:whole].reshape(-1, size, *values.shape[1:]).sum(axis=1)
    rest = values[whole:].sum(axis=0, keepdims=True)
    return np.concatenate([sums, rest]) if whole < len(values) else sums
