"""Dropout that is a function of a seed and of a pair."""

import numpy as np
import pytest

from posenc.core.dropout import scale_kept
from tests.libraries import numpy_of
from tests.oracles.attention import kept


def made(xp, seed, rate, shape, dtype="float32"):
    batch, heads, queries, keys = shape
    return numpy_of(
        scale_kept(
            xp.array(np.array(seed, dtype=np.uint32 if "jax" in xp.name else np.int64)),
            rate,
            batch=batch,
            heads=heads,
            queries=xp.array(np.arange(queries)),
            keys=xp.array(np.arange(keys)),
            dtype=xp.dtypes[dtype],
        )
    )


@pytest.mark.parametrize("seed", [0, 1, 2**32 - 1])
def test_every_library_drops_what_the_oracle_drops(xp, seed):
    shape = (2, 3, 5, 7)
    truth = kept(seed, 0.3, shape)
    ours = made(xp, seed, 0.3, shape)
    assert np.array_equal(ours == 0, truth == 0)
    assert np.abs(ours - truth).max() < 2.0**-22


def test_the_bits_are_fair_and_those_of_neighbours_independent(xp):
    """Of 2^18 pairs: counts within 5 standard deviations of what coins give."""
    rate, shape = 0.25, (2, 4, 128, 256)
    dropped = made(xp, 7, rate, shape) == 0
    n = dropped.size
    assert abs(dropped.mean() - rate) < 5 * (rate * (1 - rate) / n) ** 0.5
    both = rate**2
    for axis in range(4):
        near = dropped & np.roll(dropped, 1, axis)
        assert abs(near.mean() - both) < 5 * (both * (1 - both) / n) ** 0.5
    other = made(xp, 8, rate, shape) == 0
    assert abs((dropped & other).mean() - both) < 5 * (both * (1 - both) / n) ** 0.5
    for axis in ((0, 1, 2), (0, 1, 3)):  # no row and no column that is dropped more than others
        share = dropped.mean(axis)
        assert np.abs(share - rate).max() < 6 * (rate * (1 - rate) * share.size / n) ** 0.5
