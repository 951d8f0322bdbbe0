"""One `xp` fixture: each test of a formula is written once and runs on every array library."""

import numpy as np
import pytest

from tests.libraries import Library, libraries


@pytest.fixture(params=["numpy", "torch", "jax", "jax.jit", "strict"])
def xp(request: pytest.FixtureRequest) -> Library:
    return next(library for library in libraries() if library.name == request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
