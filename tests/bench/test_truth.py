"""The truth of the benchmarks is that of the oracles, which tests elsewhere hold."""

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.bench import truth

P = torch.tensor([0, 1, 5, 2047, 10_000_000])


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
def test_rotation(pairing):
    x = torch.randn(2, 3, len(P), 8, dtype=torch.float64)
    ours = pe.RoPE(8, pairing=pairing).rotate(x.numpy(), P.numpy())
    # angles of 10^7 in float64 are within two roundings of 2^-53
    assert np.abs(truth.rotate(x, P, pairing).numpy() - ours).max() < 1e7 * 2**-52 * 8
    other = {"halves": "interleaved", "interleaved": "halves"}[pairing]
    assert np.abs(truth.rotate(x, P, other).numpy() - ours).max() > 0.1


def test_table():
    ours = pe.Sinusoidal(8).encode(P.numpy())
    assert np.abs(truth.encode(P, 8).numpy() - ours).max() < 1e7 * 2**-52 * 2


def test_alibi():
    q_pos, k_pos = torch.arange(3, 8), torch.arange(8)
    ours = pe.ALiBi(4).bias(q_pos.numpy(), k_pos.numpy())
    assert np.array_equal(truth.alibi_bias(4, q_pos, k_pos).numpy(), ours)


def test_t5():
    table = torch.randn(32, 2)
    p = torch.arange(0, 300, 3)
    ours = pe.T5Bias(2).bias(p, p, {"table": table})
    assert torch.equal(truth.t5_bias(table, p, p), ours.double())


def test_attention():
    q, k, v = torch.randn(3, 1, 2, 5, 4)
    p, bias = torch.arange(5), torch.randn(2, 5, 5).double()
    seen = p[:, None] >= p
    weights = torch.exp((q.double() @ k.double().mT) / 2 + bias) * seen
    expected = weights @ v.double() / weights.sum(-1, keepdim=True)
    assert torch.allclose(truth.attend(q, k, v, bias, p, p), expected, atol=1e-14)
