"""Our attention as transformers calls it, against softmax in float64, written out."""

import numpy as np
import pytest
import torch
from torch import nn

import posenc as pe
from posenc.models.attention import POSITIONS, InLayer, attend_in_model, hand_over
from posenc.torch import BiasLogits
from tests.oracles.llama import alibi

N, D = 7, 8


class Attention(nn.Module):
    is_causal = True

    def __init__(self, encoding, owner=None):
        super().__init__()
        self.posenc = InLayer(encoding, owner)


def attend(module, mask=None, *, q=slice(None), **options):
    generator = torch.Generator().manual_seed(0)
    query = torch.randn(2, 4, N, D, generator=generator)
    key, value = (torch.randn(2, 2, N, D, generator=generator) for _ in range(2))
    positions = torch.arange(N)[None].expand(2, -1)[:, q]
    options |= {POSITIONS: positions}
    out, weights = attend_in_model(module, query[:, :, q], key, value, mask, **options)
    assert weights is None
    return query.double().numpy(), key.double().numpy(), value.double().numpy(), out


def softmax(module, mask, *, scale=D**-0.5, softcap=None, sinks=None, causal=True, **options):
    q, k, v, out = attend(module, mask, **options)
    k, v = np.repeat(k, 2, axis=1), np.repeat(v, 2, axis=1)
    made = scale * q @ k.swapaxes(-1, -2)
    made = made if softcap is None else softcap * np.tanh(made / softcap)
    made = made + alibi(4, np.arange(N))
    seen = np.tril(np.ones((N, N), dtype=bool)) if causal else np.ones((N, N), dtype=bool)
    made = np.where(seen if mask is None else seen & mask.numpy(), made, -np.inf)
    weights = np.exp(made)
    weights /= weights.sum(-1, keepdims=True) + (0 if sinks is None else np.exp(sinks))
    return np.abs(out.numpy() - (weights @ v).swapaxes(1, 2)).max()


@pytest.mark.parametrize("scale", [D**-0.5, 0.9])
def test_a_bias_beside_the_scale_of_the_layer(scale):
    assert softmax(Attention(pe.ALiBi(4)), None, scale=scale, scaling=scale) < 1e-6


def test_a_mask_a_softcap_and_sinks():
    window = torch.ones(N, N, dtype=torch.bool).triu(-2).tril()[None, None].expand(2, 1, -1, -1)
    module = Attention(pe.ALiBi(4))
    assert softmax(module, window, sliding_window=3) < 1e-6
    assert softmax(module, None, softcap=2.0) > 0.01  # what it would be without
    sinks = torch.tensor([0.5, -1.0, 2.0, 0.0])
    wide = sinks.double().numpy()[:, None, None]
    q, k, v, out = attend(module, None, softcap=2.0, s_aux=sinks)
    made = D**-0.5 * q @ np.repeat(k, 2, 1).swapaxes(-1, -2)
    made = 2 * np.tanh(made / 2) + alibi(4, np.arange(N))
    made = np.where(np.tril(np.ones((N, N), dtype=bool)), made, -np.inf)
    weights = np.exp(made) / (np.exp(made).sum(-1, keepdims=True) + np.exp(wide))
    want = (weights @ np.repeat(v, 2, 1)).swapaxes(1, 2)
    assert np.abs(out.numpy() - want).max() < 1e-6


def test_an_additive_mask_and_one_of_bool_are_the_same():
    seen = torch.ones(2, 1, N, N, dtype=torch.bool).tril()
    added = torch.zeros(2, 1, N, N).masked_fill(~seen, torch.finfo(torch.float32).min)
    module = Attention(pe.ALiBi(4))
    of_bool, additive = (attend(module, mask)[-1] for mask in (seen, added))
    assert torch.allclose(of_bool, additive, atol=1e-6)
    added[:, :, 2] = torch.finfo(torch.float32).min
    assert not attend(module, added)[-1][:, 2].any(), "a query that sees nothing gets 0"


def test_the_newest_query_sees_what_it_sees_in_the_whole_text():
    module = Attention(pe.ALiBi(4))
    whole, newest = attend(module)[-1], attend(module, q=slice(N - 1, N))[-1]
    assert torch.allclose(whole[:, -1:], newest, atol=1e-6)


def test_dropout_leaves_weights_out():
    torch.manual_seed(0)
    module = Attention(pe.ALiBi(4))
    assert not torch.allclose(attend(module, dropout=0.5)[-1], attend(module)[-1], atol=0.1)


def test_order_counts_where_positions_do_not_increase():
    """A model without a mask hides what comes later, whatever its position."""
    module = Attention(pe.NoPE())
    q, k, v = torch.randn(3, 1, 4, N, D)
    back = torch.arange(N).flip(0)[None]
    out, _ = attend_in_model(module, q, k, v, None, **{POSITIONS: back})
    want = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    assert torch.allclose(out.transpose(1, 2), want, atol=1e-6)


def test_what_is_learned_comes_from_its_owner():
    owner = BiasLogits(pe.KERPLE(4))
    module = Attention(pe.KERPLE(4), owner)
    before = attend(module)[-1].detach()
    with torch.no_grad():
        for p in owner.parameters():
            p.add_(1)
    after = attend(module)[-1]
    assert not torch.allclose(after, before, atol=1e-3)
    after.square().sum().backward()
    assert all(p.grad.abs().max() > 0 for p in owner.parameters())


def test_what_cannot_be_honoured_is_refused():
    module = Attention(pe.ALiBi(4))
    with pytest.raises(ValueError, match="position_bias must be None for the attention of posenc"):
        attend(module, position_bias=torch.zeros(1))
    q = torch.zeros(1, 4, N, D)
    with pytest.raises(ValueError, match="Attention must hand its keyword arguments on to its"):
        attend_in_model(module, q, q, q, None)
    with pytest.raises(ValueError, match=r"scaling must be 1 / sqrt\(8\) for an encoding that"):
        attend(Attention(pe.TransformerXL(4, 8)), scaling=1.0)


def test_positions_are_handed_over_beside_the_tables():
    args, kwargs = hand_over(nn.Identity(), (1,), {"position_embeddings": ("tables", "where")})
    assert (args, kwargs) == ((1,), {"position_embeddings": "tables", POSITIONS: "where"})
