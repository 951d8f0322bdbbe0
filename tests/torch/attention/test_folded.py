"""A bias in extra channels of q and k: plain products then have it."""

import pytest
import torch

import posenc as pe
from posenc.torch.attention import folded
from posenc.torch.attention.call import prepare


def call_of(encoding, dtype=torch.float64, length=6, **options):
    generator = torch.Generator().manual_seed(0)
    q, k, v = torch.randn(3, 1, 2, length, 8, generator=generator, dtype=torch.float64).to(dtype)
    return prepare(q, k, v, encoding=encoding, causal=True, **options)


def test_products_of_what_is_widened_have_the_bias():
    call = call_of(pe.ALiBi(2))
    wide = folded.widen(call)
    assert wide.q.shape[-1] % 8 == 0
    products = call.q @ call.k.mT * call.scale + pe.ALiBi(2).bias(call.q_pos, call.k_pos)
    off = (wide.q @ wide.k.mT * call.scale - products).tril()
    shared = off[..., :1]  # what all keys of a query have in common, no softmax sees
    assert (off - shared).tril().abs().max() < 1e-6


def test_a_half_is_split_into_parts_whose_sum_is_exact():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(100, generator=generator) * 1000
    parts = folded._split(x, torch.bfloat16)
    assert len(parts) == folded.PARTS
    assert all(part.dtype == torch.bfloat16 for part in parts)
    assert torch.equal(sum(part.double() for part in parts), x.double())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_factors_are_balanced_in_float16_alone(dtype):
    left, right = torch.tensor([2.0**-10]), torch.tensor([2.0**10])
    ours, theirs = folded._balance(left, right, dtype)
    assert ours * theirs == 1
    assert (ours == theirs) == (dtype == torch.float16)


@pytest.mark.parametrize(
    ("encoding", "why"),
    [
        (pe.RoPE(8), None),
        (pe.ALiBi(2), None),
        (pe.NoPE(), None),
        (pe.KERPLE(2), "KERPLE is not a sum of products of query terms and key terms"),
        (pe.Shaw(8, 2), "the scores of Shaw are not products of a wider q and k"),
    ],
    ids=str,
)
def test_why_it_is_unavailable(encoding, why):
    params = {n: torch.ones(p.shape) for n, p in encoding.parameters().items()} or None
    assert folded.why_unavailable(call_of(encoding, params=params)) == why
