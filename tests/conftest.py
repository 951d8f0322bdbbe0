"""One `xp` fixture: each test of a formula is written once and runs on every array library."""

import os

# Before PyTorch is loaded: some virtual machines claim instructions for bfloat16 that they do not
# have, and die of them; and workers that share the cores are quicker with a thread each.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE")
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest

from tests.libraries import Library, libraries


@pytest.fixture(params=["numpy", "torch", "jax", "jax.jit", "strict"])
def xp(request: pytest.FixtureRequest) -> Library:
    return next(library for library in libraries() if library.name == request.param)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)
