"""Fewer values: box means, so that no wave appears that is not there, and a few that are spread.

Taking every n-th value of a wave gives another, slower wave (moiré); the mean over a box fades.
"""

import math

import numpy as np


def box_shape(shape: tuple[int, ...], most: tuple[int, int]) -> tuple[int, int]:
    """Return the smallest box (rows, columns) that leaves at most `most` boxes of an array.

    >>> box_shape((4096, 64), (700, 900))
    (6, 1)
    """
    return math.ceil(shape[0] / most[0]) or 1, math.ceil(shape[1] / most[1]) or 1


def box_means(values: np.ndarray, box: tuple[int, int]) -> np.ndarray:
    """Average each box of `values`, ignoring NaN; boxes at the end may be smaller.

    >>> box_means(np.array([[1.0, 3.0, np.nan, 5.0, np.nan]]), (1, 2))
    array([[ 2.,  5., nan]])
    """
    known = np.isfinite(values)
    if known.all():
        sizes = [_sums(np.ones(size), step) for size, step in zip(values.shape, box, strict=True)]
        return _box_sums(values, box) / np.outer(*sizes)
    totals = _box_sums(np.where(known, values, 0.0), box)
    counts = _box_sums(known.astype(np.float64), box)
    return np.divide(totals, counts, out=np.full_like(totals, np.nan), where=counts > 0)


def direction_means(angles: np.ndarray, box: tuple[int, int]) -> np.ndarray:
    """Average the angles of each box as directions: the angle of the mean unit vector.

    NaN where the mean vector is shorter than 1/2: the angles point all around, and a fast rotation
    would otherwise look like a slow one.

    >>> direction_means(np.array([[3.1, -3.1, 0.0, 3.1]]), (1, 2)).round(4)
    array([[3.1416,    nan]])
    """
    x, y = box_means(np.cos(angles), box), box_means(np.sin(angles), box)
    return np.where(np.hypot(x, y) < 0.5, np.nan, np.arctan2(y, x))


def box_extremes(values: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum and maximum of each `size` values of a row; NaN where none is finite.

    >>> low, high = box_extremes(np.array([1.0, 3.0, np.nan, 5.0, np.nan]), 2)
    >>> low, high
    (array([ 1.,  5., nan]), array([ 3.,  5., nan]))
    """
    known, at = np.isfinite(values), range(0, len(values), size)
    low = np.minimum.reduceat(np.where(known, values, np.inf), at)
    high = np.maximum.reduceat(np.where(known, values, -np.inf), at)
    return np.where(low <= high, low, np.nan), np.where(low <= high, high, np.nan)


def spread_evenly(items: np.ndarray, most: int) -> np.ndarray:
    """Return at most `most` of the items, evenly spread from the first to the last.

    >>> spread_evenly(np.arange(10), 4)
    array([0, 3, 6, 9])
    """
    return items[np.rint(np.linspace(0, len(items) - 1, min(most, len(items)))).astype(int)]


def _box_sums(values: np.ndarray, box: tuple[int, int]) -> np.ndarray:
    return _sums(_sums(values, box[0]).T, box[1]).T


def _sums(values: np.ndarray, size: int) -> np.ndarray:
    """Sum each `size` rows, and those left at the end: faster than `np.add.reduceat`."""
    if size == 1:
        return values
    whole = len(values) // size * size
    sums = values[:whole].reshape(-1, size, *values.shape[1:]).sum(axis=1)
    rest = values[whole:].sum(axis=0, keepdims=True)
    return np.concatenate([sums, rest]) if whole < len(values) else sums
