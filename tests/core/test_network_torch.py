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


def test_of_no_numbers_there_are_none():
    x, *weights = draw(2)
    assert apply_network(x[:, :0], *weights).shape == (2, HEADS, 0)


def test_a_backward_pass_within_autocast_is_not_rounded():
    given = [x.detach().float().requires_grad_() for x in draw(2)]  # autocast leaves float64 alone
    out = apply_network(*given)
    plain = torch.autograd.grad(out.sum(), given, retain_graph=True)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        cast = torch.autograd.grad(out.sum(), given)
    assert all(map(torch.equal, plain, cast))


def test_several_gradients_may_be_taken_at_once():
    given = draw(2)
    out = apply_network(*given)
    cotangents = torch.randn(3, *out.shape, dtype=out.dtype)
    at_once = torch.autograd.grad(out, given, cotangents, is_grads_batched=True, retain_graph=True)
    for n, cotangent in enumerate(cotangents):
        one = torch.autograd.grad(out, given, cotangent, retain_graph=True)
        for mine, exact in zip(at_once, one, strict=True):
            assert torch.allclose(mine[n], exact, rtol=0, atol=1e-13)
