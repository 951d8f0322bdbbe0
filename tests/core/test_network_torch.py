"""A network of one number, in parts, against its formula."""

import pytest
import torch

from posenc.core import network_torch
from posenc.core.network_torch import apply_network

HIDDEN, HEADS = 5, 3


def draw(*shape):
    made = torch.randn(*shape, 7), torch.randn(HIDDEN, 1), torch.randn(HIDDEN)
    made += torch.randn(HEADS, HIDDEN), torch.randn(HEADS)
    return [x.double().requires_grad_() for x in made]


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (0,)])
@pytest.mark.parametrize("at_a_time", [1, 3 * HIDDEN, 2**17])
def test_parts_of_any_size_equal_the_formula(shape, at_a_time, monkeypatch):
    monkeypatch.setattr(network_torch, "HIDDEN", at_a_time)
    x, w1, b1, w2, b2 = given = draw(*shape)
    ours = apply_network(*given)
    truth = w2 @ torch.relu(w1 * x[..., None, :] + b1[:, None]) + b2[:, None]
    assert ours.shape == (*shape, HEADS, 7)
    cotangent = torch.randn_like(truth)
    both = ((out, *torch.autograd.grad(out, given, cotangent)) for out in (ours, truth))
    for mine, exact in zip(*both, strict=True):
        # sums of at most 6 products and 6 * 7 numbers, each of about 1
        assert torch.allclose(mine, exact, rtol=0, atol=6 * 48**0.5 * 2.0**-53 * 8)


def test_it_has_a_second_derivative():
    assert torch.autograd.gradcheck(apply_network, draw(2))
    assert torch.autograd.gradgradcheck(apply_network, draw(2))
