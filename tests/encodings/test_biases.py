from functools import cache

import numpy as np
import pytest
import torch

import posenc as pe
from tests.libraries import numpy_of
from tests.oracles import bias as oracle

Q, K = np.array([0, 5, 40, 300], dtype=np.int32), np.array([0, 1, 7, 39, 41, 900], dtype=np.int32)


@pytest.mark.parametrize("rule", ["official", "paper"])
@pytest.mark.parametrize("heads", [1, 2, 3, 8, 12, 71])
def test_alibi_slopes_equal_the_oracle(heads, rule):
    slopes = pe.ALiBi(heads, slopes=rule).head_slopes()
    assert slopes.tolist() == pytest.approx(oracle.alibi_slopes(heads, rule=rule), rel=1e-15)


def test_alibi_slopes_of_twelve_heads_are_those_of_the_code_not_of_the_sentence():
    official = pe.ALiBi(12).head_slopes()[8:]
    assert official.round(4).tolist() == [0.7071, 0.3536, 0.1768, 0.0884]
    assert pe.ALiBi(12, slopes="paper").head_slopes()[0].round(2) == 0.63


def test_alibi_bias_is_minus_slope_times_distance(xp):
    ours = numpy_of(xp.call(pe.ALiBi(3).bias, Q, K))
    slopes = np.array(oracle.alibi_slopes(3, rule="official"))
    expected = -slopes[:, None, None] * abs(Q[:, None] - K[None, :])
    assert np.allclose(ours, expected, rtol=1e-6)


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


def test_an_encoding_may_be_made_inside_a_compiled_function():
    def biased(p):
        return pe.ALiBi(2).bias(p, p)

    p = torch.arange(5)
    made = torch.compile(biased, fullgraph=True, backend="eager")(p)
    assert torch.equal(made, biased(p))


def test_t5_gradients_reach_the_table(rng):
    encoding = pe.T5Bias(2, buckets=8, max_distance=20)
    table = torch.from_numpy(encoding.init(rng)["table"]).double().requires_grad_()
    p = torch.arange(6)
    assert torch.autograd.gradcheck(lambda t: encoding.bias(p, p, {"table": t}), (table,))


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: pe.ALiBi(0),
            "heads must be a whole number of at least 1 and at most 4,096; got heads=0",
        ),
        (
            lambda: pe.ALiBi(8, slopes="steep"),
            "slopes must be 'official' or 'paper'; got slopes='steep'",
        ),
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
    with pytest.raises((ValueError, TypeError)) as caught:
        work()
    assert str(caught.value) == message


@pytest.mark.parametrize(("dtype", "big"), [(torch.bfloat16, 16.0), (torch.float16, 64.0)])
def test_logits_of_a_half_are_rounded_once(dtype, big):
    """q k^T = 2 b^2 + 2 is no number of the half; the bias takes it back to where there is one."""
    q = torch.tensor([[[big, 1.0, 0.0, 0.0]]], dtype=dtype)
    k = torch.tensor([[[2 * big, 2.0, 0.0, 0.0]]], dtype=dtype)
    away = int(big**2 / pe.ALiBi(1).head_slopes()[0])
    assert pe.logits(pe.ALiBi(1), q, k, [away], [0]).item() == 1
