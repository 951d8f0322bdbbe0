"""Transformer-XL's scores against their oracle."""

import numpy as np

import posenc as pe
from tests import bounds
from tests.libraries import numpy_of
from tests.oracles import scores

Q = np.array([0, 5, 40, 700, 5, 1300], dtype=np.int32)


K = np.array([0, 1, 7, 39, 41, 1300, 6], dtype=np.int32)


def qkv(rng, heads=2, dim=4):
    return rng.normal(size=(heads, len(Q), dim)), rng.normal(size=(heads, len(K), dim))


def test_transformer_xl_equals_the_oracle_on_every_library(xp, rng):
    """Ahead and behind: no triangle of garbage."""
    encoding = pe.TransformerXL(2, 4, features=6)
    q, k = (x.astype("f") for x in qkv(rng))
    params = {n: 20 * v for n, v in encoding.init(rng).items()}
    ours = xp.call(
        lambda q, k, qp, kp, *p: pe.logits(
            encoding, q, k, qp, kp, dict(zip(params, p, strict=True))
        ),
        q,
        k,
        Q,
        K,
        *params.values(),
    )
    truth = scores.transformer_xl_logits(q, k, *params.values(), Q, K)
    # q + u and q + v are rounded; (q + v) W is a sum of 4, turned by sines and cosines of 1 at most
    # (4 roundings, and 4 of tables that JAX adds angles with); a sum of 4 + 6 products; a division
    u, v, w = (np.abs(x)[:, None] for x in params.values())
    turned = 2 * ((np.abs(q) + v) @ w[:, 0]).sum(-1, keepdims=True)
    sizes = (np.abs(q) + u) @ np.abs(np.swapaxes(k, 1, 2)) + turned
    assert (np.abs(numpy_of(ours) - truth) <= bounds.gamma(1 + 4 + 8 + 10 + 1) * sizes / 2).all()
