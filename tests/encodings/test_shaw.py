"""Shaw's relative keys and values against their oracle."""

import numpy as np
import pytest

import posenc as pe
from tests import bounds
from tests.libraries import numpy_of
from tests.oracles import scores
from tests.patient import check

Q = np.array([0, 5, 40, 700, 5, 1300], dtype=np.int32)


K = np.array([0, 1, 7, 39, 41, 1300, 6], dtype=np.int32)


def qkv(rng, heads=2, dim=4):
    return rng.normal(size=(heads, len(Q), dim)), rng.normal(size=(heads, len(K), dim))


def test_shaw_equals_the_oracle_on_every_library(xp, rng):
    encoding, (q, k) = pe.Shaw(4, 3), (x.astype("f") for x in qkv(rng))
    keys, values = encoding.init(rng).values()
    ours = xp.call(
        lambda q, k, qp, kp, a: pe.logits(encoding, q, k, qp, kp, {"key_table": a}),
        q,
        k,
        Q,
        K,
        keys,
    )
    # two sums of dim products, their sum and a division, each of sizes that add up to this
    longest = np.abs(keys).max(0, keepdims=True)
    bound = bounds.products(q, np.abs(k) + longest, more=3) / 2
    assert (np.abs(numpy_of(ours) - scores.shaw_logits(q, k, keys, Q, K)) <= bound).all()
    weights = rng.uniform(size=(2, len(Q), len(K))).astype("f")
    out = xp.call(
        lambda w, v, qp, kp, b: encoding.mix(w, v, qp, kp, {"value_table": b}),
        weights,
        k,
        Q,
        K,
        values,
    )
    # a sum over the keys; one for each row of the table, and one over its 7 rows; the sum of both
    most = np.abs(np.swapaxes(k, 1, 2)) + np.abs(values).max(0)[:, None]
    bound = bounds.products(weights, most, more=8)
    assert (np.abs(numpy_of(out) - scores.shaw_output(weights, k, values, Q, K)) <= bound).all()
    plain = pe.Shaw(4, 3, values=False).mix(weights, k, Q, K)
    assert (np.abs(plain - weights.astype(float) @ k) <= bound).all()


def test_initial_values_are_those_of_the_code(rng):
    shaw = pe.Shaw(64, 16).init(rng)["key_table"]
    assert abs(shaw).max() <= np.sqrt(6 / 97) < 1.01 * abs(shaw).max()


@pytest.mark.parametrize("reach", [0, 1])
def test_one_row_for_all_distances_tells_no_order(reach):
    encoding = pe.Shaw(8, reach)
    assert encoding.traits.ordered == (reach > 0)
    assert check(encoding).ok
