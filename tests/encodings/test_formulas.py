"""Every bias and score against its oracle: forward on every library, gradient in PyTorch."""

import numpy as np
import pytest
import torch

import posenc as pe
from tests import bounds
from tests.encodings.parameters import drawn
from tests.libraries import numpy_of
from tests.oracles import bias as oracle
from tests.oracles import scores

Q = np.array([0, 5, 40, 700, 5, 1300], dtype=np.int32)
K = np.array([0, 1, 7, 39, 41, 1300, 6], dtype=np.int32)
POINTS = np.array([[0, 0], [2, 3], [1, 1], [2, 0]], dtype=np.int32)

RNG = np.random.default_rng(0)
FIRE = ("c", "multiplier", "w1", "b1", "w2", "b2")

CASES = {
    "alibi": (pe.ALiBi(3), lambda q, k: oracle.alibi(3, q, k)),
    "alibi of the paper": (
        pe.ALiBi(3, slopes="paper"),
        lambda q, k: oracle.alibi(3, q, k, rule="paper"),
    ),
    "alibi, offset": (
        pe.ALiBi(3, future="offset"),
        lambda q, k: oracle.alibi(3, q, k, future="offset"),
    ),
    "alibi of falcon": (
        pe.ALiBi.falcon(3, 64),
        lambda q, k: oracle.alibi(3, q, k, divisor=8.0),
    ),
    "two-sided alibi": (pe.TwoSidedALiBi(3), oracle.two_sided_alibi),
    "clipped": (pe.ClippedBias(3, 4), oracle.clipped),
    "t5": (
        pe.T5Bias(3, bidirectional=True),
        lambda table, q, k: oracle.bias(
            table, q, k, buckets=32, max_distance=128, bidirectional=True
        ),
    ),
    "kerple, log": (pe.KERPLE(3), lambda r1, r2, q, k: oracle.kerple("log", r1, r2, q, k)),
    "kerple, power": (
        pe.KERPLE(3, kernel="power"),
        lambda r1, r2, q, k: oracle.kerple("power", r1, r2, q, k),
    ),
    "fire": (
        pe.FIRE(3, hidden=4),
        lambda *a: oracle.fire(dict(zip(FIRE, a[:6], strict=True)), *a[6:]),
    ),
    "sandwich": (pe.Sandwich(3, features=16), lambda q, k: oracle.sandwich(3, q, k, dim=16)),
    "swin": (
        pe.SwinBias(3, (3, 4)),
        lambda table, q, k: oracle.swin(table, (3, 4), q, k),
    ),
    "swin v2": (
        pe.SwinV2Bias(3, (3, 4), hidden=5),
        lambda w1, b1, w2, q, k: oracle.swin_v2(w1, b1, w2, (3, 4), None, q, k),
    ),
    "swin v2, a larger window": (
        pe.SwinV2Bias(3, (6, 6), pretrained_window=(3, 4), hidden=5),
        lambda w1, b1, w2, q, k: oracle.swin_v2(w1, b1, w2, (6, 6), (3, 4), q, k),
    ),
}


def positions(encoding):
    return (Q, K) if encoding.axes is None else (POINTS, POINTS[1:])


def listed(points):
    return points.tolist()


@pytest.mark.parametrize("name", CASES)
def test_equals_the_oracle_on_every_library(xp, rng, name):
    encoding, expected = CASES[name]
    params = {n: v.astype("f") for n, v in drawn(encoding, rng).items()}
    names = list(params)
    ours = xp.call(
        lambda q, k, *values: encoding.bias(q, k, dict(zip(names, values, strict=True))),
        *positions(encoding),
        *params.values(),
    )
    truth = expected(*params.values(), *(listed(p) for p in positions(encoding)))
    assert ours.shape == truth.shape
    bound = bounds.UNIT["float32"] * bounds.bias_roundings(encoding, params, truth)
    assert (np.abs(numpy_of(ours) - truth) <= bound).all()


@pytest.mark.parametrize("name", [n for n, (e, _) in CASES.items() if e.init(RNG)])
def test_gradients_equal_those_of_the_oracle(rng, name):
    encoding, expected = CASES[name]
    params = drawn(encoding, rng)
    points = [listed(p) for p in positions(encoding)]
    tensors = {n: torch.from_numpy(v.copy()).requires_grad_() for n, v in params.items()}
    made = encoding.bias(*(torch.from_numpy(p) for p in positions(encoding)), tensors)
    cotangent = rng.normal(size=made.shape)
    made.backward(torch.from_numpy(cotangent))
    for varied in params:

        def of_one(value, varied=varied):
            return expected(*[value if n == varied else v for n, v in params.items()], *points)

        truth = scores.gradient(of_one, params[varied], cotangent)
        assert np.allclose(tensors[varied].grad.numpy(), truth, rtol=1e-5, atol=1e-6), varied


@pytest.mark.parametrize("name", [n for n, (e, _) in CASES.items() if e.axes is None])
def test_a_batch_of_positions_is_each_row_by_itself(rng, name):
    encoding, _ = CASES[name]
    params = encoding.init(rng)
    q, k = np.stack([Q, Q + 3]), np.stack([K, K[::-1]])
    both = encoding.bias(q, k, params)
    for row in range(2):
        assert np.array_equal(both[row], encoding.bias(q[row], k[row], params))


@pytest.mark.parametrize("name", CASES)
def test_terms_are_the_bias(rng, name):
    """Where a bias says that it is a sum of products, it is; for ALiBi behind the query only."""
    encoding, expected = CASES[name]
    q, k = positions(encoding)
    terms = encoding.terms(torch.from_numpy(q), torch.from_numpy(k), causal=True)
    assert (terms is not None) == (
        name in ("alibi", "alibi of the paper", "alibi of falcon", "sandwich")
    )
    if terms is not None:
        products = (terms[0] @ terms[1].mT).numpy()
        products += 16 / 2 * 3 / (8 * np.arange(1, 4)[:, None, None]) if name == "sandwich" else 0
        behind = q[:, None] >= k[None, :]
        truth = expected(listed(q), listed(k))
        assert np.abs(np.where(behind, products - truth, 0)).max() < 1e-9
        assert (
            name == "sandwich" or encoding.terms(torch.from_numpy(q), torch.from_numpy(k)) is None
        )


def qkv(rng, heads=2, dim=4):
    return rng.normal(size=(heads, len(Q), dim)), rng.normal(size=(heads, len(K), dim))


@pytest.mark.parametrize("kind", ["shaw", "transformer-xl"])
def test_gradients_of_scores_equal_those_of_the_oracle(rng, kind):
    encoding = pe.Shaw(4, 3) if kind == "shaw" else pe.TransformerXL(2, 4, features=6)
    q, k = qkv(rng)
    params = {
        n: v.astype(np.float64) * 5 for n, v in encoding.init(rng).items() if n != "value_table"
    }
    values = {"q": q, "k": k} | params

    def truth_of(a):
        if kind == "shaw":
            return scores.shaw_logits(a["q"], a["k"], a["key_table"], Q, K)
        return scores.transformer_xl_logits(*a.values(), Q, K)

    tensors = {n: torch.from_numpy(v.copy()).requires_grad_() for n, v in values.items()}
    learned = {n: t for n, t in tensors.items() if n in params}
    p = torch.from_numpy(Q), torch.from_numpy(K)
    made = pe.logits(encoding, tensors["q"], tensors["k"], *p, learned)
    cotangent = rng.normal(size=made.shape)
    made.backward(torch.from_numpy(cotangent))
    for varied in values:
        truth = scores.gradient(
            lambda value, varied=varied: truth_of(values | {varied: value}),
            values[varied],
            cotangent,
        )
        assert np.allclose(tensors[varied].grad.numpy(), truth, rtol=1e-5, atol=1e-6), varied


def test_shared_heads_of_keys_serve_their_group(rng):
    q, k = rng.normal(size=(1, 6, 5, 8)), rng.normal(size=(1, 2, 5, 8))
    for encoding in (pe.ALiBi(6), pe.RoPE(8), pe.Shaw(8, 2)):
        params = encoding.init(rng)
        ours = pe.logits(encoding, q, k, range(5), range(5), params)
        repeated = pe.logits(encoding, q, np.repeat(k, 3, axis=1), range(5), range(5), params)
        assert np.array_equal(ours, repeated)
