"""One call of `attend`: positions filled in, what can be folded away, what is needed of tokens."""

import math

import pytest
import torch

import posenc as pe
from posenc.core.mechanisms import Unbiased
from posenc.torch.attention.call import prepare

Q, K = (torch.randn(1, 2, n, 8, generator=torch.Generator().manual_seed(n)) for n in (3, 5))


def test_without_positions_queries_are_the_last_of_the_keys():
    call = prepare(Q, K, K, encoding=pe.NoPE())
    assert (call.q_pos.tolist(), call.k_pos.tolist()) == ([2, 3, 4], [0, 1, 2, 3, 4])
    assert call.visibility.offset == 2
    assert call.pairs == 15


def test_positions_of_one_side_serve_both_where_lengths_agree():
    call = prepare(K, K, K, encoding=pe.NoPE(), q_pos=[4, 4, 5, 6, 7])
    assert call.k_pos is call.q_pos or call.k_pos.tolist() == call.q_pos.tolist()
    assert call.visibility.offset is None
    with pytest.raises(ValueError, match=r"must be given both where lengths differ; .* only q_pos"):
        prepare(Q, K, K, encoding=pe.NoPE(), q_pos=[0, 1, 2])


def test_small_whole_numbers_become_wide_ones():
    p = torch.arange(5, dtype=torch.uint8)
    assert prepare(K, K, K, encoding=pe.NoPE(), q_pos=p).q_pos.dtype == torch.int64


@pytest.mark.parametrize(("scaled", "scale"), [(True, 1 / math.sqrt(8)), (False, 1.0)])
def test_the_scale_is_that_of_the_encoding_unless_given(scaled, scale):
    encoding = pe.T5Bias(2, scaled=scaled)
    params = {"table": torch.zeros(32, 2)}
    call = prepare(Q, K, K, encoding=encoding, params=params, causal=True)
    assert call.scale == scale
    given = prepare(Q, K, K, encoding=encoding, params=params, causal=True, scale=0.5)
    # `logits` divides by sqrt(dim) where the encoding says so: products then have a scale of 0.5
    products = given.scale_queries(Q) / (math.sqrt(8) if scaled else 1)
    assert torch.allclose(products, 0.5 * Q)


def test_a_rotation_is_folded_into_q_and_k_and_a_bias_stays():
    rope = pe.RoPE(8)
    call = prepare(Q, K, K, encoding=rope).fold_into_qk()
    assert isinstance(call.encoding, Unbiased)
    assert torch.equal(call.k, rope.rotate(K, range(5)))
    alibi = prepare(Q, K, K, encoding=pe.ALiBi(2), causal=True)
    assert alibi.fold_into_qk() is alibi
    assert alibi.remaining() == (pe.ALiBi(2), 8)
    xl = pe.TransformerXL(2, 8, features=6)
    params = {n: torch.zeros(p.shape) for n, p in xl.parameters().items()}
    left, width = prepare(Q, K, K, encoding=xl, params=params).remaining()
    assert isinstance(left, Unbiased)
    assert width == 8 + 6


def test_tensors_are_put_back_in_their_order():
    params = {"table": torch.ones(32, 2)}
    call = prepare(Q, K, K, encoding=pe.T5Bias(2), params=params, causal=True)
    doubled = call.with_tensors([2 * x for x in call.tensors()])
    assert torch.equal(doubled.q, 2 * Q)
    assert torch.equal(doubled.params["table"], 2 * params["table"])
    assert doubled.encoding == call.encoding
