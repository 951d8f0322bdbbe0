"""A call whose keys and values are in a cache."""

import pytest
import torch

import posenc as pe
from posenc.core.mechanisms import Unbiased
from posenc.torch import KVCache
from posenc.torch.attention.cached import prepare_cached

Q, K, V = torch.randn(3, 1, 2, 4, 8, generator=torch.Generator().manual_seed(0))


def cache_of(encoding):
    return KVCache(encoding).append(K, V)


def test_keys_are_rotated_as_they_enter_and_queries_in_the_call():
    rope = pe.RoPE(8)
    call = prepare_cached(Q[:, :, :1], None, None, cache_of(rope), causal=True)
    assert isinstance(call.encoding, Unbiased)
    assert torch.allclose(call.k, rope.rotate(K, range(4)), atol=1e-6)
    assert torch.allclose(call.q, rope.rotate(Q[:, :, :1], [3]), atol=1e-6)
    assert call.k_pos.tolist() == [0, 1, 2, 3]


def test_a_bias_stays_with_the_positions_of_the_cache():
    call = prepare_cached(Q[:, :, :2], None, None, cache_of(pe.ALiBi(2)), causal=True)
    assert call.encoding == pe.ALiBi(2)
    assert (call.q_pos.tolist(), call.k_pos.tolist()) == ([2, 3], [0, 1, 2, 3])
    assert torch.equal(call.k, K)


@pytest.mark.parametrize("name", ["k", "v", "k_pos", "params"])
def test_what_the_cache_has_must_be_left_out(name):
    given = {"k": None, "v": None} | {name: torch.zeros(1)}
    k, v = given.pop("k"), given.pop("v")
    with pytest.raises(ValueError, match=f"{name} must be left out for a cache, which has its own"):
        prepare_cached(Q, k, v, cache_of(pe.RoPE(8)), **given)


def test_another_encoding_than_that_of_the_cache_is_refused():
    cache = cache_of(pe.RoPE(8))
    prepare_cached(Q, None, None, cache, encoding=pe.RoPE(8))
    with pytest.raises(ValueError, match="encoding must be that of the cache"):
        prepare_cached(Q, None, None, cache, encoding=pe.RoPE(8, base=5e5))
    with pytest.raises(TypeError, match="cache must be a KVCache; got list"):
        prepare_cached(Q, None, None, [])
