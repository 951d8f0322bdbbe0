"""Least squares of many channels, as fast on a machine that other programs keep busy."""

import numpy as np

RIDGE = 1e-12
"""What is added to the diagonal, of its mean: channels may depend on one another."""


def fit(rows: np.ndarray, targets: np.ndarray, *, block: int = 64) -> np.ndarray:
    """The matrix M for which rows @ M comes nearest to targets, by the normal equations.

    They are decomposed (Cholesky) and solved block by block, mostly in matrix products: LAPACK's
    threads wait for one another at every step, for many seconds where other programs run.

    >>> rows = np.random.default_rng(0).normal(size=(300, 100))
    >>> bool(np.allclose(fit(rows, rows[:, :3] * 2), np.eye(100, 3) * 2))
    True
    """
    count = rows.shape[1]
    lower = np.vstack([rows.T @ rows, targets.T @ rows])  # the targets are eliminated alongside
    diagonal = np.diag_indices(count)
    lower[diagonal] += RIDGE * lower[diagonal].mean() + np.finfo(float).tiny
    starts = range(0, count, block)
    for start in starts:
        end = min(start + block, count)
        now = slice(start, end)
        lower[now, now] = np.linalg.cholesky(lower[now, now])
        lower[end:, now] = np.linalg.solve(lower[now, now], lower[end:, now].T).T
        lower[end:, end:] -= lower[end:, now] @ lower[end:count, now].T
    matrix = lower[count:].T.copy()
    for start in reversed(starts):
        end = min(start + block, count)
        now = slice(start, end)
        rest = matrix[now] - lower[end:count, now].T @ matrix[end:]
        matrix[now] = np.linalg.solve(lower[now, now].T, rest)
    return matrix
