"""The newest token of a cache: one bias for all layers."""

import copy

import numpy as np
import pytest
import torch

import posenc as pe
from posenc import kernels
from posenc.models import newest
from posenc.models.newest import SharedBias, attend_newest, is_newest
from posenc.torch import BiasLogits
from tests.oracles.llama import alibi


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_attention_is_that_of_float64(dtype):
    generator = torch.Generator().manual_seed(0)
    q, k, v = (
        torch.randn(1, n, m, 8, generator=generator) for n, m in ((4, 1), (2, 300), (2, 300))
    )
    q, k, v = q.to(dtype), k.to(dtype), v.to(dtype)
    at = torch.tensor([[299]])
    bias = SharedBias().find(pe.ALiBi(4), None, at, 300, None, windowed=False)
    out = attend_newest(q, k, v, bias, scale=0.3)
    wide_q, wide_k, wide_v = (x.double().numpy() for x in (q, k, v))
    made = 0.3 * wide_q @ np.repeat(wide_k, 2, 1).swapaxes(-1, -2)
    made = made + alibi(4, np.arange(300))[:, -1:]
    weights = np.exp(made - made.max(-1, keepdims=True))
    want = weights / weights.sum(-1, keepdims=True) @ np.repeat(wide_v, 2, 1)
    bound = {torch.float64: 1e-6, torch.float32: 1e-5, torch.bfloat16: 2e-2}[dtype]
    assert np.abs(out.double().numpy() - want).max() < bound


def test_layers_share_a_bias_until_something_changes():
    owner, shared = BiasLogits(pe.T5Bias(4)), SharedBias()
    at, mask = torch.tensor([[4]]), torch.ones(1, 1, 1, 5, dtype=torch.bool)

    def find(keys=5, mask=mask, at=at):
        return shared.find(owner.encoding, owner, at, keys, mask, windowed=True)

    with torch.no_grad():
        first = find()
        assert find() is first
        assert find(mask=None) is not first  # another layer, without a mask
        assert find() is first
        assert find(mask=mask.clone()) is not first
        assert find(at=at.clone()) is not first
        again = find()
        owner.params["table"].add_(1)
        moved = find()
        assert torch.equal(moved, again + 1)
        at.add_(1)  # written to in place
        assert find() is not moved
        mask[..., 0] = False
        assert bool((find()[..., 0] == torch.finfo(torch.float32).min).all())
    assert copy.deepcopy(shared)._kept == ()


@pytest.mark.parametrize(
    "encoding", [pe.ALiBi(4), pe.T5Bias(4), pe.FIRE(4), pe.KERPLE(4), pe.Sandwich(4)], ids=str
)
def test_tokens_to_come_have_the_bias_of_their_own(encoding):
    """For each of 150 tokens, forth and back, the row that is made for it alone."""
    owner, shared = BiasLogits(encoding), SharedBias()
    learned = owner if encoding.parameters() else None
    with torch.no_grad():
        for keys in [*range(1, 150), 3, 70]:
            at = torch.tensor([[keys - 1]])
            made = shared.find(encoding, learned, at, keys, None, windowed=False)
            want = encoding.bias(at, torch.arange(keys)[None], owner.tensors() or None)
            assert made.shape == want.shape
            assert torch.allclose(made, want, rtol=0, atol=1e-6)
        if learned is not None:
            for p in owner.parameters():
                p.add_(1)
            assert not torch.equal(shared.find(encoding, owner, at, 70, None, windowed=False), made)


@pytest.mark.skipif(not kernels.load().active, reason=kernels.load().why)
@pytest.mark.parametrize("encoding", [pe.ALiBi(4), pe.T5Bias(4), pe.FIRE(4), pe.KERPLE(4)], ids=str)
@pytest.mark.parametrize("masked", [False, True])
def test_the_kernels_take_every_bias(encoding, masked, monkeypatch):
    """What they refuse is attention by PyTorch, which makes a swapped T5 8% slower."""
    monkeypatch.setattr(newest, "scaled_dot_product_attention", None)
    owner, at = BiasLogits(encoding), torch.tensor([[39]])
    mask = torch.ones(1, 1, 1, 40, dtype=torch.bool) if masked else None
    with torch.no_grad():
        bias = SharedBias().find(encoding, owner, at, 40, mask, windowed=False)
        q, (k, v) = torch.randn(1, 4, 1, 8), torch.randn(2, 1, 4, 40, 8)
        assert attend_newest(q, k, v, bias, scale=1.0).shape == q.shape


def test_autocast_decides_the_dtype():
    q, (k, v), bias = torch.randn(1, 4, 1, 8), torch.randn(2, 1, 4, 40, 8), torch.zeros(1, 4, 1, 40)
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        assert attend_newest(q, k, v, bias, scale=1.0).dtype == torch.bfloat16


def test_a_text_that_does_not_start_at_0_is_refused_and_a_window_is_not():
    at = torch.tensor([[9]])
    with pytest.raises(ValueError, match="got a text whose first token is at 5"):
        SharedBias().find(pe.ALiBi(4), None, at, 5, None, windowed=False)
    made = SharedBias().find(pe.ALiBi(4), None, at, 5, None, windowed=True)
    assert torch.equal(made, pe.ALiBi(4).bias(torch.tensor([[4]]), torch.arange(5)[None]))


def test_only_the_newest_query_of_a_bias_while_nothing_is_learned():
    one, many = torch.zeros(1, 4, 1, 8), torch.zeros(1, 4, 2, 8)
    assert not is_newest(pe.ALiBi(4), one, None)  # gradients may be wanted
    with torch.no_grad():
        assert is_newest(pe.ALiBi(4), one, None)
        assert not is_newest(pe.ALiBi(4), many, None)
        assert not is_newest(pe.TransformerXL(4, 8), one, None)
        assert not is_newest(pe.ALiBi(4), one, torch.zeros(1, 1, 1, 3))
    with torch.inference_mode():
        assert not is_newest(pe.ALiBi(4), one, None)
