"""The formulas that views are checked against, in float64 with plain NumPy."""

import numpy as np


def frequencies(dim, base=10_000.0):
    return base ** (-np.arange(0, dim, 2) / dim)


def sinusoids(length, dim):
    angles = np.arange(length)[:, None] * frequencies(dim)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(length, dim)


def cosines(rows):
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit @ unit.T


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
