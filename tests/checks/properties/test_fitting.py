"""Least squares by blocks."""

import numpy as np
import pytest

from posenc.checks.properties.fitting import fit


@pytest.mark.parametrize("count", [1, 63, 64, 65, 200])
def test_a_fit_by_blocks_is_that_of_lapack(count):
    rows, targets = (np.random.default_rng(0).normal(size=(300, n)) for n in (count, 5))
    expected, *_ = np.linalg.lstsq(rows, targets, rcond=None)
    np.testing.assert_allclose(fit(rows, targets), expected, atol=1e-9)
    twice = np.concatenate([rows, rows], axis=1)  # channels that depend on one another
    np.testing.assert_allclose(twice @ fit(twice, targets), rows @ expected, atol=1e-4)
    assert not fit(np.zeros((9, count)), np.zeros((9, 2))).any()
