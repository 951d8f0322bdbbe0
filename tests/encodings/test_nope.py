"""No encoding: the logits are the products of queries and keys."""

import numpy as np

import posenc as pe
from tests.patient import check


def test_logits_are_the_products(rng):
    q, k = rng.normal(size=(2, 3, 4, 16))
    expected = np.einsum("hqd,hkd->hqk", q, k) / 4
    p = np.array([0, 9, 10**6, 3])
    assert np.allclose(pe.logits(pe.NoPE(), q, k, p, p), expected, rtol=0, atol=1e-14)
    assert not pe.NoPE().bias(p, p[:2]).any()


def test_it_claims_no_order_and_passes_what_it_claims():
    assert not pe.NoPE().traits.ordered
    assert not pe.NoPE().traits.unique
    assert check(pe.NoPE()).ok
