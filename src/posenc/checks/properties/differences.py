"""Numbers out of arrays: how far apart, how large, how many different."""

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np


def max_difference(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference; NaN if anything is. Infinities that agree are no difference."""
    with np.errstate(invalid="ignore"):  # inf - inf
        return float(np.max(np.where(a == b, 0.0, np.abs(a - b)), initial=0.0))


def max_or_nan(values: Iterable[float]) -> float:
    """The largest, at least 0; NaN if any is."""
    return float(np.max(list(values), initial=0.0))


def scale_of(a: np.ndarray) -> float:
    """The largest finite entry, for differences relative to it; at least 1."""
    return max(1.0, float(np.max(np.abs(a), initial=0.0, where=np.isfinite(a))))


LONG = 1024
"""Bytes of a row; above that thousands of them take much memory, below it a digest much time."""


class DistinctRows:
    """How many rows differ, of blocks; a long one is known by 16 bytes that no two share."""

    def __init__(self, blocks: Iterable[np.ndarray] = ()):
        self._known: set[bytes] = set()
        for rows in blocks:
            self.add(rows)

    def add(self, rows: np.ndarray) -> None:
        """Count these too."""
        made = np.ascontiguousarray(rows + 0.0)  # -0.0 is 0.0
        if made[:1].nbytes <= LONG:
            self._known.update(made.view((np.void, made[:1].nbytes)).ravel().tolist())
        else:
            self._known.update(blake2b(row, digest_size=16).digest() for row in made)

    def __len__(self) -> int:
        return len(self._known)


def round_to(rows: np.ndarray, name: str) -> np.ndarray:
    """Rows as a half of this name would hold them."""
    if name == "float16":
        return rows.astype(np.float16)
    import torch

    return torch.from_numpy(rows).to(torch.bfloat16).double().numpy()
