"""Calls that go to PyTorch's attention from the door: right, or declined."""

import pytest
import torch

import posenc as pe
from posenc.torch import KVCache
from posenc.torch.attention.call import prepare
from posenc.torch.attention.dense import dense
from posenc.torch.attention.direct import attend_newest, attend_plain

GENERATOR = torch.Generator().manual_seed(0)
Q, K, V = torch.randn(3, 2, 2, 6, 8, generator=GENERATOR, dtype=torch.float64)


@pytest.mark.parametrize("encoding", [pe.RoPE(8), pe.NoPE()], ids=str)
@pytest.mark.parametrize(("queries", "causal"), [(6, True), (6, False), (1, True), (4, False)])
def test_what_is_taken_is_the_specification(encoding, queries, causal):
    q = Q[:, :, -queries:]
    made = attend_plain(q, K, V, encoding, causal=causal)
    truth = dense(prepare(q, K, V, encoding=encoding, causal=causal))
    assert (made - truth).abs().max() < 1e-12


@pytest.mark.parametrize(
    ("q", "encoding", "causal"),
    [
        (Q, pe.ALiBi(2), True),  # a bias
        (Q[:, :, :4], pe.RoPE(8), True),  # PyTorch's causal mask begins at the first key
        (Q, pe.RoPE(8, scaling=pe.DynamicNTK(2.0, 4)), True),  # depends on the length
        (Q.float(), pe.RoPE(8), True),  # of another dtype than k
        (Q[..., :4], pe.RoPE(8), True),
        (Q, pe.RoPE(16), True),
        (Q, pe.RoPE(8), 1),  # no flag
        (Q.tolist(), pe.RoPE(8), True),
    ],
)
def test_what_it_does_not_know_to_be_right_is_declined(q, encoding, causal):
    assert attend_plain(q, K, V, encoding, causal=causal) is None


@pytest.mark.parametrize("window", [None, 3])
@pytest.mark.parametrize("encoding", [pe.RoPE(8), pe.ALiBi(2), pe.NoPE()], ids=str)
def test_the_newest_token_attends_to_the_cache(encoding, window):
    cache = KVCache(encoding)
    for t in range(6):
        cache = cache.append(K[:, :, t : t + 1], V[:, :, t : t + 1])
        q = Q[:, :, t : t + 1]
        made = attend_newest(q, cache, causal=True, window=window)
        options = {"encoding": encoding, "causal": True, "window": window}
        truth = dense(prepare(q, K[:, :, : t + 1], V[:, :, : t + 1], **options))
        assert (made - truth).abs().max() < 1e-7


def test_two_queries_and_gradients_are_declined():
    cache = KVCache(pe.ALiBi(2)).append(K, V)
    assert attend_newest(Q[:, :, :2], cache, causal=True, window=None) is None
    learning = Q[:, :, :1].clone().requires_grad_()
    assert attend_newest(learning, cache, causal=True, window=None) is None
    with torch.no_grad():
        assert attend_newest(learning, cache, causal=True, window=None) is not None
