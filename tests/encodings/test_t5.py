"""T5's buckets and the bias that is looked up by them."""

import re
from functools import cache

import numpy as np
import pytest
import torch

import posenc as pe
from tests.libraries import numpy_of
from tests.oracles import bias as oracle

Q, K = np.array([0, 5, 40, 300], dtype=np.int32), np.array([0, 1, 7, 39, 41, 900], dtype=np.int32)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("buckets", "far"), [(32, 128), (8, 20), (64, 1000)])
def test_t5_buckets_equal_the_oracle_at_every_distance(xp, buckets, far, bidirectional):
    behind = np.arange(-300, 1500, dtype=np.int32)
    encoding = pe.T5Bias(2, buckets=buckets, max_distance=far, bidirectional=bidirectional)
    ours = numpy_of(xp.call(encoding.buckets_of, behind))
    assert ours.tolist() == true_buckets(-300, 1500, buckets, far, bidirectional)


@cache  # every library is held to the same
def true_buckets(first, end, buckets, far, bidirectional):
    rule = {"buckets": buckets, "max_distance": far, "bidirectional": bidirectional}
    return [oracle.t5_bucket(d, **rule) for d in range(first, end)]


def test_t5_bucket_starts_of_the_catalogue():
    starts = [16, 19, 21, 24, 27, 31, 35, 40, 46, 52, 59, 67, 77, 87, 99, 113]
    assert pe.T5Bias(1).buckets_of(np.array(starts)).tolist() == list(range(16, 32))
    assert pe.T5Bias(1).buckets_of(np.array(starts[1:]) - 1).tolist() == list(range(16, 31))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_t5_bias_equals_the_oracle(xp, rng, bidirectional):
    encoding = pe.T5Bias(3, bidirectional=bidirectional)
    table = encoding.init(rng)["table"]
    ours = xp.call(lambda q, k, t: encoding.bias(q, k, {"table": t}), Q, K, table)
    rule = {"buckets": 32, "max_distance": 128, "bidirectional": bidirectional}
    assert np.allclose(numpy_of(ours), oracle.bias(table, Q.tolist(), K.tolist(), **rule))


def test_t5_gradients_reach_the_table(rng):
    encoding = pe.T5Bias(2, buckets=8, max_distance=20)
    table = torch.from_numpy(encoding.init(rng)["table"]).double().requires_grad_()
    p = torch.arange(6)
    assert torch.autograd.gradcheck(lambda t: encoding.bias(p, p, {"table": t}), (table,))


def test_unscaled_products_are_named(rng):
    q, k = rng.normal(size=(2, 1, 2, 5, 16))
    table = {"table": np.zeros((32, 2))}
    plain, unscaled = (
        pe.logits(pe.T5Bias(2, scaled=scaled), q, k, range(5), range(5), table)
        for scaled in (True, False)
    )
    assert np.allclose(unscaled, 4 * plain)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: pe.T5Bias(2, buckets=7), "buckets must be an even number; got buckets=7"),
        (
            lambda: pe.T5Bias(2, max_distance=16),
            "max_distance must be a whole number of at least 17 and at most 16,777,216; "
            "got max_distance=16",
        ),
        (
            lambda: pe.T5Bias(2).bias(np.arange(2), np.arange(2)),
            "params must hold 'table', as init(rng) makes it; got None",
        ),
    ],
)
def test_messages(work, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        work()
