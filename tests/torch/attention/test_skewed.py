"""Scores whose part for a distance is a product with the query, read out of a skewed matrix."""

import pytest
import torch

import posenc as pe
from posenc.torch.attention import skewed
from posenc.torch.attention.call import prepare
from posenc.torch.attention.dense import dense

XL = pe.TransformerXL(4, 8, features=6)


def call_of(queries=7, keys=11, *, encoding=XL, learns=False, **options):
    generator = torch.Generator().manual_seed(0)

    def draw(*shape):
        made = torch.randn(shape, generator=generator, dtype=torch.float64)
        return made.requires_grad_(learns)

    q, k, v = draw(2, 4, queries, 8), draw(2, 2, keys, 8), draw(2, 2, keys, 8)
    params = {name: draw(*parameter.shape) for name, parameter in encoding.parameters().items()}
    return prepare(q, k, v, encoding=encoding, params=params or None, causal=True, **options)


def in_blocks(call, size=3):
    queries, keys = call.q.shape[2], call.k.shape[2]
    starts = range(0, queries, size)
    return [(slice(i, min(i + size, queries)), slice(0, keys)) for i in starts]


def test_a_skewed_view_has_a_row_for_each_query_and_no_memory_of_its_own():
    products = torch.arange(12.0).reshape(1, 1, 3, 4)
    view = skewed._skew(products, 2)
    assert view[0, 0].tolist() == [[2, 3], [5, 6], [8, 9]]
    assert view.untyped_storage().data_ptr() == products.untyped_storage().data_ptr()


@pytest.mark.parametrize("options", [{}, {"window": 4}, {"documents": torch.arange(7) // 3}])
def test_it_is_the_specification_forward_and_backward(options):
    """A logit is a sum of 14 products of size 30 at most, here; float64 is good to 1e-12 of it."""
    keys = 7 if "documents" in options else 11
    ours, truth = (call_of(7, keys, learns=True, **options) for _ in range(2))
    out, expected = skewed.attend_skewed(ours, in_blocks(ours)), dense(truth)
    assert (out - expected).abs().max() < 1e-12
    cotangent = torch.randn(out.shape, generator=torch.Generator().manual_seed(1)).double()
    slopes = torch.autograd.grad(out, ours.tensors(), cotangent)
    for slope, true in zip(
        slopes, torch.autograd.grad(expected, truth.tensors(), cotangent), strict=True
    ):
        assert (slope - true).abs().max() <= 1e-11 * true.abs().max()


def test_only_positions_that_go_up_one_by_one_have_a_part_for_each_distance():
    assert skewed.has_relative_terms(call_of())
    spread = {"q_pos": torch.tensor([0, 2, 5]), "k_pos": torch.tensor([0, 2, 5])}
    assert not skewed.has_relative_terms(call_of(3, 3, **spread))
    assert not skewed.has_relative_terms(call_of(encoding=pe.Shaw(8, 2)))
    assert not skewed.has_relative_terms(call_of(encoding=pe.ALiBi(4)))
