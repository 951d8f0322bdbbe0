"""Attention a block of queries at a time, by each of its routes, against the specification."""

import pytest
import torch

import posenc as pe
from posenc.torch.attention import blocked
from posenc.torch.attention.call import prepare
from posenc.torch.attention.dense import dense

ROUTES = {
    "at once": ("its pairs are few enough to write down at once", pe.ALiBi(2), {}),
    "by a line": ("the bias is a window of 2N - 1 values", pe.ALiBi(2), {}),
    "gathered": (
        "the bias is made for a block",
        pe.ALiBi(2),
        {"q_pos": [i // 2 for i in range(150)]},
    ),
    "freshly made": ("the bias is made for a block of queries at a time", pe.FIRE(2), {}),
    "scores": ("its scores are made for a block of queries at a time", pe.Shaw(8, 3), {}),
}


@pytest.mark.parametrize("route", ROUTES)
def test_every_route_is_the_specification(route, monkeypatch):
    words, encoding, options = ROUTES[route]
    if route != "at once":
        monkeypatch.setattr(blocked, "FEW_PAIRS", 0)
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, 150, 8, generator=generator, dtype=torch.float64)
    params = {
        name: 0.1 * torch.randn(p.shape, generator=generator, dtype=torch.float64) + 0.2
        for name, p in encoding.parameters().items()
    }
    call = prepare(q, k, v, encoding=encoding, params=params or None, causal=True, **options)
    assert blocked.describe_route(call).startswith(words)
    assert (blocked.attend_in_blocks(call) - dense(call)).abs().max() < 1e-7


def test_a_bias_in_parts_is_the_bias(monkeypatch):
    monkeypatch.setattr(blocked, "PAIRS", 30)
    p, alibi = torch.arange(20), pe.ALiBi(2)
    made = blocked.bias_in_parts(alibi, p, p, None, heads=2)
    assert torch.equal(made, alibi.bias(p, p))
