"""The newest token of a cache: one bias for all layers."""

import copy

import numpy as np
import pytest
import torch

import posenc as pe
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
