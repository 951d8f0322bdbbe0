"""The comparison that most tests here look at."""

import pytest

from tests.patient import compare

SEEDS = ("sinusoidal", "learned", "t5", "alibi", "transformer-xl", "rope")


@pytest.fixture(scope="session")
def table():
    return compare(*SEEDS)
