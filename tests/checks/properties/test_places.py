"""Properties of places: distinct, and shifted by one matrix."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.checks import ALL
from posenc.checks.engine import run
from tests.patient import LIMIT, check


def test_a_rotation_that_comes_round_does_not_claim_to_be_unique():
    """Waves of 1 and 10 steps: every tenth row of an image of whole places is the same."""
    assert not pe.AxialRoPE.dinov3(8).traits.unique
    assert pe.AxialRoPE.dinov3(64).traits.unique
    assert check(pe.AxialRoPE.dinov3(8))["unique"].verdict == "not claimed: does not hold"


@pytest.mark.parametrize(("length", "dim"), [(1, 4), (8, 4), (9, 4), (64, 32)])
def test_a_shift_of_a_few_positions_is_nothing_to_be_measured(length, dim):
    row = check(pe.Learned(length, dim))["linear_shift"]
    assert (row.verdict, row.measured) == ("not applicable", None)
    assert row.detail == f"positions end at {length - 1}, too soon to fit a matrix"


@pytest.mark.parametrize(
    "encoding", [pe.Sinusoidal(1024), pe.AxialSinusoidal.mae(1024), pe.FourierFeatures.sam(1024)]
)
def test_a_shift_of_1024_channels_is_measured_without_large_solvers(encoding, monkeypatch):
    """LAPACK's threads took over 20 s for a system of 768 channels while other programs ran."""

    def bounded(solver):
        def call(a, *others, **options):
            assert max(a.shape) <= 64
            return solver(a, *others, **options)

        return call

    for name in ("lstsq", "svd", "solve", "cholesky", "qr", "eigh", "inv"):
        monkeypatch.setattr(np.linalg, name, bounded(getattr(np.linalg, name)))
    shift = [each for each in ALL if each.name == "linear_shift"]
    assert run(encoding, shift, limit=LIMIT).ok


def test_one_channel_of_1024_that_does_not_shift_is_found():
    @dataclass(frozen=True)
    class OneBent(pe.Sinusoidal):
        def encode(self, positions, params=None, *, dtype=None):
            made = super().encode(positions, params, dtype=dtype)
            made[..., 700] += 1e-3 * made[..., 100] ** 2
            return made

    shift = [each for each in ALL if each.name == "linear_shift"]
    assert run(OneBent(1024), shift, limit=LIMIT).failed == ("linear_shift",)
