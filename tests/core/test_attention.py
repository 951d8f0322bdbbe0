"""Attention by its definition, on every library, against the oracle."""

import math

import numpy as np
import pytest

import posenc as pe
from posenc.core.attention import attend_densely, weigh
from tests.bounds import UNIT
from tests.libraries import numpy_of
from tests.oracles import attention as oracle
from tests.oracles import bias

SHAPE = 2, 4, 5, 6
P, K = np.arange(1, 6), np.arange(6)
SEEN = P[:, None] >= K
SINKS = np.array([0.5, -40.0, 40.0, 0.0], dtype="f")


def draw(rng):
    q = rng.normal(size=(2, 4, 5, 8)).astype("f")
    k, v = rng.normal(size=(2, 2, 2, 6, 8)).astype("f")
    mask = rng.normal(size=(1, 4, 5, 6)).astype("f")
    mask[:, 1, 2] = -math.inf
    return q, k, v, mask


def run(q, k, v, mask, sinks, seen, q_pos, k_pos):
    seen = seen & (mask != -math.inf)
    options = {"seen": seen, "added": mask, "softcap": 2.0, "sinks": sinks}
    return attend_densely(pe.ALiBi(4), q, k, v, q_pos, k_pos, **options)


def test_equals_the_oracle_on_every_library(xp, rng):
    """Logits of about 10 have 40 roundings; weights twice as many, and sums of 6 keys some more."""
    q, k, v, mask = draw(rng)
    ours = xp.call(run, q, k, v, mask, SINKS, SEEN, P, K)
    products = np.einsum("bhid,bhjd->bhij", q, oracle.repeat_heads(k, 4), dtype=float) / 8**0.5
    out, total = oracle.attention(
        products,
        oracle.repeat_heads(v, 4),
        SEEN,
        bias=bias.alibi(4, P, K),
        mask=mask,
        softcap=2.0,
        sinks=SINKS,
    )
    bound = 200 * UNIT["float32"] * (1 + np.abs(products).max())
    assert np.abs(numpy_of(ours[0]) - out).max() < bound * np.abs(v).max()
    assert np.abs(numpy_of(ours[1]) - total).max() < bound * 40
    assert not numpy_of(ours[0])[:, 1, 2].any()


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_what_is_not_finite_reaches_those_who_see_it(xp, rng, bad):
    q, k, v, mask = draw(rng)
    mask = np.zeros_like(mask)
    clean = numpy_of(xp.call(run, q, k, v, mask, SINKS, SEEN, P, K)[0])
    for which in (k, v):
        kept = which[0, 1, 3, 2]
        which[0, 1, 3, 2] = bad
        out, total = xp.call(run, q, k, v, mask, SINKS, SEEN, P, K)
        which[0, 1, 3, 2] = kept
        out, total = numpy_of(out), numpy_of(total)
        sees = np.zeros(SHAPE[:3], dtype=bool)
        sees[0, 2:] = P >= 3
        assert np.isnan(out[sees]).all()
        assert np.isnan(total[sees]).all()
        assert np.array_equal(out[~sees], clean[~sees])


def test_weights_of_nothing_are_0_and_those_of_large_logits_do_not_overflow(xp):
    made = np.array([[[1e4, 1e4 - 1.0], [3.0, 4.0]]], dtype="f")
    seen = np.array([[True, True], [False, False]])
    weights, total = (numpy_of(x) for x in xp.call(weigh, made, seen))
    assert np.allclose(weights[0, 0], [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))], atol=1e-6)
    assert not weights[0, 1].any()
    assert total[0, 1] == -math.inf
    assert abs(total[0, 0] - 1e4 - math.log1p(math.exp(-1))) < 1e-3
