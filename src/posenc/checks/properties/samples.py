"""Where an encoding is asked, and in which dtypes it can be."""

from collections.abc import Iterator

import numpy as np

from posenc.checks.subject import Subject
from posenc.core.mechanisms import Additive, Rotary

MOST_NUMBERS = 2**21
"""Of one call: a rotation takes 64 bytes for each on the way, and a machine may have little."""


def first_positions(subject: Subject) -> np.ndarray:
    """The first 4,096 positions, or on several axes a grid of about as many; 16 if very wide."""
    count = 16 if subject.very_wide else 4096
    if subject.encoding.axes is None:
        return np.arange(min(subject.reach + 1, count))
    side = min(int(count ** (1 / subject.axes) + 1e-9), subject.reach + 1)
    axes = np.meshgrid(*[np.arange(side)] * subject.axes, indexing="ij")
    return np.stack([axis.ravel() for axis in axes], axis=-1)


def split_blocks(subject: Subject, positions: np.ndarray) -> Iterator[np.ndarray]:
    """All the positions, so many at a time that one call takes little memory."""
    tables = (parameter.shape for parameter in subject.encoding.parameters().values())
    longest = max((shape[0] for shape in tables if shape), default=1)
    wide = max(subject.width, longest)  # a query may meet every row of a table
    step = max(128, MOST_NUMBERS // wide)
    for at in range(0, len(positions), step):
        yield positions[at : at + step]


def draw_places(
    subject: Subject, rng: np.random.Generator, *, far: int = 10**6, count: int = 60
) -> np.ndarray:
    """Distinct places up to `far`, near ones, hundreds and far ones, in no order."""
    top = min(far, subject.reach)
    first, some, count = (2, 3, 4) if subject.very_wide else (8, 20, count)
    near, middle = np.arange(min(top, first) + 1), rng.integers(0, min(top, 999) + 1, some)
    drawn = np.concatenate([near, middle, rng.integers(0, top + 1, count)])
    return rng.permutation(np.unique(drawn))


def has_dtypes(subject: Subject) -> bool:
    """Whether a dtype can be asked for: a foreign function that is added has the one it has."""
    foreign = subject.encoding.library is not None
    kinds = Rotary if foreign else Additive | Rotary
    return isinstance(subject.encoding, kinds) and subject.library == "numpy"


def half_dtypes(subject: Subject) -> list[str]:
    """The halves that can be asked for."""
    if not isinstance(subject.encoding, Additive | Rotary):
        return []
    return ["float16", "bfloat16"] if subject.takes_tensors else ["float16"]
