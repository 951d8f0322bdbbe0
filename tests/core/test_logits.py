from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from tests import bounds
from tests.libraries import numpy_of


@dataclass(frozen=True)
class Turn(pe.Rotary):
    speed: float

    def cos_sin(self, positions, *, dtype=None):
        angle = positions[..., None] * self.speed
        return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)


@dataclass(frozen=True)
class Nearness(pe.Bias):
    heads: int

    def bias(self, q_pos, k_pos, params=None):
        slopes = np.arange(1, self.heads + 1)[:, None, None]
        return -slopes * abs(pe.distances(q_pos, k_pos))[..., None, :, :]


@dataclass(frozen=True)
class Gated(pe.Scores):
    def scores(self, q, k, q_pos, k_pos, params=None):
        return np.tanh(q @ np.swapaxes(k, -1, -2)) * (pe.distances(q_pos, k_pos) >= 0)


@pytest.fixture
def q(rng):
    return rng.normal(size=(2, 3, 5, 8))  # batch, head, q, dim


@pytest.fixture
def k(rng):
    return rng.normal(size=(2, 3, 7, 8))


def test_additive_logits_are_those_of_the_sums(xp, q, k):
    encoding, q_pos, k_pos = pe.Sinusoidal(8), np.arange(5, dtype=np.int32), np.arange(7) + 2
    q, k, k_pos = q.astype("f"), k.astype("f"), k_pos.astype(np.int32)
    ours = xp.call(lambda *a: pe.logits(encoding, *a), q, k, q_pos, k_pos)
    e_q, e_k = encoding.encode(q_pos), encoding.encode(k_pos)
    truth = (q + e_q) @ np.swapaxes(k + e_k, -1, -2) / np.sqrt(8)
    # beside the products' sum, e(p) and x + e(p) on both sides and the division are rounded
    bound = bounds.products(abs(q) + abs(e_q), abs(k) + abs(e_k), more=6) / np.sqrt(8)
    assert (abs(numpy_of(ours) - truth) < bound).all()


def test_rotary_logits_are_relative_and_rotate_undoes_itself(q, k):
    encoding, k_pos = Turn(0.3), np.arange(7)
    near = pe.logits(encoding, q[..., :2], k[..., :2], np.arange(5), k_pos)
    far = pe.logits(encoding, q[..., :2], k[..., :2], np.arange(5) + 1000, k_pos + 1000)
    assert np.allclose(near, far, atol=1e-10)
    turned = encoding.rotate(q[..., :2], np.arange(5))
    assert not np.allclose(turned, q[..., :2])
    assert np.allclose(encoding.rotate(turned, np.arange(5), inverse=True), q[..., :2])


def test_bias_is_added_for_each_head(q, k):
    ours = pe.logits(Nearness(3), q, k, range(5), range(7))
    products = q @ np.swapaxes(k, -1, -2) / np.sqrt(8)
    assert np.allclose((ours - products)[1, 2, 4], [-12, -9, -6, -3, 0, -3, -6])


def test_sixteen_bit_products_do_not_overflow_on_the_way():
    q = np.full((1, 8), 100.0, dtype=np.float16)
    ours = pe.logits(pe.NoPE(), q, q, [0], [0])
    assert ours.dtype == np.float16
    assert ours.item() == np.float16(80_000 / np.sqrt(8))


def test_scores_make_the_logits_themselves(q, k):
    ours = pe.logits(Gated(), q, k, range(5), range(7))
    assert ours.shape == (2, 3, 5, 7)
    assert ours[0, 0, 0, 1] == 0


def test_learned_parameters_are_passed_in(q, k, rng):
    encoding = pe.Learned(10, 8)
    params = encoding.init(rng)
    assert pe.logits(encoding, q, k, range(5), range(7), params).shape == (2, 3, 5, 7)


def test_attention_without_an_encoding_does_not_see_order(rng):
    """Shuffled tokens give shuffled outputs; with positions they do not."""
    x, order = rng.normal(size=(6, 8)), rng.permutation(6)

    def attend(x, encoding=None):
        scores = x @ x.T if encoding is None else pe.logits(encoding, x, x, range(6), range(6))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        return weights / weights.sum(axis=-1, keepdims=True) @ x

    assert np.allclose(attend(x)[order], attend(x[order]))
    encoding = pe.Sinusoidal(8)
    assert not np.allclose(attend(x, encoding)[order], attend(x[order], encoding), atol=1e-2)
