"""KERPLE and Sandwich: bounds, special cases, initial values."""

import numpy as np
import torch

import posenc as pe
from tests.oracles import bias as oracle

Q = np.array([0, 5, 40, 700, 5, 1300], dtype=np.int32)
K = np.array([0, 1, 7, 39, 41, 1300, 6], dtype=np.int32)


def test_bounds_of_kerple():
    """Outside its bounds r counts as the nearest within, and still learns."""
    r1, r2 = np.array([0.001, 0.5]), np.array([0.003, 2.7])
    for kernel in ("log", "power"):
        ours = pe.KERPLE(2, kernel=kernel).bias(Q, K, {"r1": r1, "r2": r2})
        assert np.allclose(ours, oracle.kerple(kernel, r1, r2, Q, K))
        tensors = {n: torch.from_numpy(r).requires_grad_() for n, r in (("r1", r1), ("r2", r2))}
        p = torch.from_numpy(Q), torch.from_numpy(K)
        pe.KERPLE(2, kernel=kernel).bias(*p, tensors).sum().backward()
        assert all((t.grad != 0).all() for t in tensors.values())


def test_a_power_of_1_is_alibi():
    slopes = pe.ALiBi(8).head_slopes()[:5]
    params = {"r1": slopes, "r2": np.ones(5)}
    assert np.allclose(pe.KERPLE(5, kernel="power").bias(Q, K, params), pe.ALiBi(8).bias(Q, K)[:5])


def test_initial_values_are_those_of_the_paper(rng):
    kerple, power = pe.KERPLE(4000).init(rng), pe.KERPLE(4000, kernel="power").init(rng)
    for drawn, mean, most in (
        (kerple["r1"], 1.0, 2),
        (kerple["r2"], 0.5, 1),
        (power["r1"], 0.5, 1),
        (power["r2"], 1.0, 2),
    ):
        assert abs(drawn.mean() - mean) < 0.05
        assert 0.01 <= drawn.min() < 0.02
        assert drawn.max() < most


def test_sandwich_at_distance_0_counts_its_cosines():
    """cos 0 = 1 for each of features/2 frequencies, divided by 8h/H."""
    at_zero = pe.Sandwich(4, features=6).bias([7], [7]).ravel()
    assert np.allclose(at_zero, 3 * 4 / (8 * np.arange(1, 5)))
    assert np.allclose(pe.Sandwich(1, features=6).frequencies(), 10_000 ** (-np.arange(1, 4) / 3))
