"""Rotations of a class of one's own, and the other layout of one that has a pairing."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe


@dataclass(frozen=True)
class Turn(pe.Rotary):
    speed: float

    def cos_sin(self, positions, *, dtype=None):
        angle = positions[..., None] * self.speed
        return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)


@pytest.fixture
def q(rng):
    return rng.normal(size=(2, 3, 5, 8))  # batch, head, q, dim


def test_rotary_positions_of_a_batch_reach_every_head(q):
    encoding, positions = Turn(0.3), np.array([[0, 1, 2, 3, 4], [9, 8, 7, 6, 5]])
    turned = encoding.rotate(q[..., :2], positions)
    for row in range(2):
        for head in range(3):
            alone = encoding.rotate(q[row, head, :, :2], positions[row])
            assert np.array_equal(turned[row, head], alone)


def test_user_encodings_claim_nothing_and_have_no_parameters(rng):
    assert Turn(0.1).traits.claims() == ()
    assert Turn(0.1).init(rng) == {}


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_the_other_layout_rotates_permuted_channels_alike(q, pairing):
    rope, at = pe.RoPE(8, pairing=pairing), np.arange(5)
    other, order = rope.other_layout()
    assert other.pairing != pairing
    assert np.allclose(other.rotate(q[..., order], at), rope.rotate(q, at)[..., order], atol=1e-15)
    assert not np.allclose(other.rotate(q, at), rope.rotate(q, at), atol=1e-2)


def test_a_partial_rotation_has_no_other_layout():
    assert pe.RoPE(8, rotary_dim=4).other_layout() is None
    assert Turn(0.3).other_layout() is None
