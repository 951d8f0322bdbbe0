"""Positions from phases: each step by itself (test_sinusoidal.py has `locate` as a whole)."""

import numpy as np
import pytest

from posenc.encodings import phases


def test_waves_of_one_frequency_are_added_and_the_slowest_comes_first():
    z, w = phases.merge(np.array([1 + 1j, 2.0, 3j]), np.array([1.0, 0.5, 1.0]))
    assert w.tolist() == [0.5, 1.0]
    assert z.tolist() == [2, 1 + 4j]


@pytest.mark.parametrize("p", [0, 1, 4097, 2**24 - 1])
def test_exact_phases_lead_to_their_position(p):
    w = 10_000.0 ** -np.linspace(1, 0, 32)
    assert phases.can_follow(w)
    found = phases.follow(np.exp(1j * p * w), w)
    assert p in found.tolist()
    assert len(found) < 4096  # candidates, not all positions


@pytest.mark.parametrize("p", [0, 12_345, 2**24 - 1])
def test_one_fast_wave_is_met_by_the_nearest_of_all_positions(p):
    """64 of 2^24 evenly spread phases lie within 32 steps of 2 pi / 2^24, give or take a few."""
    met = phases._match((2.5 * p) % phases.TURN, 2.5)
    assert p in met
    assert len(set(met.tolist())) == phases.FINALISTS
    off = (2.5 * (met - p) + np.pi) % phases.TURN - np.pi
    assert np.abs(off).max() < 100 * phases.TURN / 2**24


def test_of_alike_candidates_the_lower_is_taken():
    whole, slowest = np.array([10.0, 510.0]), 2 * np.pi / 500
    assert phases.choose(whole, np.array([1.0, 0.999]), dim=4, slowest=slowest)[0] == 10
    assert phases.choose(whole, np.array([9.0, 0.01]), dim=4, slowest=slowest)[0] == 510
