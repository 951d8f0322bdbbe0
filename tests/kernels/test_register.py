"""What PyTorch is told about the operators: shapes without values, and derivatives."""

import pytest
import torch

from posenc import kernels

pytestmark = pytest.mark.skipif(not kernels.load().active, reason=kernels.load().why)

W = torch.tensor([1.0, 0.1], dtype=torch.float64)
REST = (None, 1.5, True, 1, False)  # axis, scale, halves, start, back


def drawn(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_shapes_and_strides_are_known_without_values():
    p, w = torch.empty(3, device="meta"), W.to("meta")
    q, k = torch.empty(2, 3, 5, device="meta").mT.mT, torch.empty(1, 3, 5, device="meta")
    made = torch.ops.posenc.rotate_qk(q, k, p, p, w, *REST)
    assert [x.shape for x in made] == [q.shape, k.shape]
    assert all(x.is_meta for x in made)
    assert torch.ops.posenc.rotate_qk_(q, k, p, p, w, *REST) is None
    assert torch.ops.posenc.add_waves(q, p, w, 2.0, False).shape == q.shape


def test_the_derivative_of_a_rotation_is_its_transpose():
    x, g, p = drawn(3, 5).requires_grad_(), drawn(3, 5) + 1, torch.arange(3)
    (found,) = torch.autograd.grad(torch.ops.posenc.rotate(x, p, W, *REST), x, g)
    assert torch.equal(found, torch.ops.posenc.rotate(g, p, W, *REST[:-1], True))


def test_only_what_is_asked_for_is_turned_back():
    q, k, p = drawn(3, 5).requires_grad_(), drawn(3, 5).requires_grad_(), torch.arange(3)
    turned, _ = torch.ops.posenc.rotate_qk(q, k, p, p + 1, W, *REST)
    of_q, of_k = torch.autograd.grad(turned.sum(), (q, k), allow_unused=True)
    assert of_k is None or not of_k.any()
    assert torch.equal(
        of_q, torch.ops.posenc.rotate(torch.ones(3, 5).double(), p, W, *REST[:-1], True)
    )


@pytest.mark.parametrize("learned", [0, 1])
def test_what_needs_no_gradient_is_not_turned_back(learned):
    """The forward pass is one call and so is the backward pass of the one that learns."""
    tensors, p = [drawn(3, 5), drawn(3, 5)], torch.arange(3)
    tensors[learned].requires_grad_()
    both = torch.stack(torch.ops.posenc.rotate_qk(*tensors, p, p, W, *REST))
    with torch.profiler.profile() as profile:
        both.sum().backward()
    called = [event.key for event in profile.key_averages() if event.key.startswith("posenc::")]
    assert called == ["posenc::rotate"]
    assert tensors[1 - learned].grad is None


@pytest.mark.parametrize("factor", [1.0, 2.5])
def test_a_sum_has_its_factor_for_a_derivative(factor):
    x, p = drawn(3, 4).requires_grad_(), torch.arange(3)
    torch.ops.posenc.add_waves(x, p, W, factor, False).sum().backward()
    assert (x.grad == factor).all()
