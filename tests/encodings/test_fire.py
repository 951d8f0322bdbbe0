"""FIRE: its bounds and its initial values."""

import numpy as np

import posenc as pe
from tests.encodings.parameters import drawn
from tests.oracles import bias as oracle

Q = np.array([0, 5, 40, 700, 5, 1300], dtype=np.int32)
K = np.array([0, 1, 7, 39, 41, 1300, 6], dtype=np.int32)


def test_c_and_the_multiplier_count_by_their_size():
    assert np.allclose(*(pe.FIRE(1).ratios(Q, K, c, -0.1) for c in (-0.3, 0.3)))
    encoding = pe.FIRE(3, hidden=4, eps=0.5, length=300)
    params = drawn(encoding, np.random.default_rng(0)) | {"multiplier": np.array(-1.3)}
    expected = oracle.fire(params, Q, K, length=300, eps=0.5)
    assert np.allclose(encoding.bias(Q, K, params), expected)


def test_initial_values_are_those_of_the_paper(rng):
    fire = pe.FIRE(8).init(rng)
    assert fire["c"] == np.float32(0.1)
    assert fire["multiplier"] == 1
    assert abs(fire["w2"]).max() < 1 / np.sqrt(32) < 1.1 * abs(fire["w2"]).max()
