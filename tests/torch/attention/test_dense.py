"""The specification of attention, written out once more in NumPy."""

import math

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.torch.attention.call import prepare
from posenc.torch.attention.dense import dense

RNG = np.random.default_rng(0)
Q, K, V = (RNG.normal(size=(2, heads, 5, 4)) for heads in (4, 2, 2))


def by_hand(added, seen):
    out = np.zeros_like(Q)
    for b, h, i in np.ndindex(2, 4, 5):
        k, v = K[b, h // 2], V[b, h // 2]
        weights = np.exp(k @ Q[b, h, i] / math.sqrt(4) + added[h, i]) * seen[i]
        out[b, h, i] = weights @ v / max(weights.sum(), 1e-300)
    return out


@pytest.mark.parametrize("causal", [False, True])
def test_softmax_of_products_and_a_bias(causal):
    alibi = pe.ALiBi(4)
    call = prepare(*map(torch.from_numpy, (Q, K, V)), encoding=alibi, causal=causal)
    p = np.arange(5)
    seen = np.tril(np.ones((5, 5))) if causal else np.ones((5, 5))
    added = -alibi.head_slopes()[:, None, None] * abs(p[:, None] - p)
    assert np.allclose(dense(call).numpy(), by_hand(added, seen), rtol=0, atol=1e-7)


def test_a_query_that_sees_nothing_gets_zero_and_no_gradient():
    q, k, v = (torch.from_numpy(x).requires_grad_() for x in (Q, K, V))
    mask = torch.ones(2, 5, dtype=torch.bool)
    mask[1] = False
    out = dense(prepare(q, k, v, encoding=pe.NoPE(), mask=mask))
    assert not out[1].any()
    out.sum().backward()
    assert not q.grad[1].any()
    assert q.grad.isfinite().all()
    assert np.allclose(out[0].detach().numpy(), by_hand(np.zeros((4, 5, 5)), np.ones((5, 5)))[0])
