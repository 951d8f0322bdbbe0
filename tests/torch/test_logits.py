"""`BiasLogits`, `ScoreQK` and `RotateQK` pass on what an encoding needs of the tokens."""

from dataclasses import dataclass, field

import pytest
import torch

import posenc as pe
from posenc.torch import BiasLogits, RotateQK, ScoreQK
from tests.torch.own_encodings import Forgetting

FEATURES = frozenset({"features"})


@dataclass(frozen=True)
class Gated(pe.Bias):
    """A bias of the gates between a key and its query, 0 where the mask hides it."""

    heads: int = 1
    needs: frozenset[str] = field(default=frozenset({"features", "mask"}), init=False)

    def bias(self, q_pos, k_pos, params=None, *, features, mask):
        of_q, of_k = (x[..., 0] for x in features)
        return torch.where(mask, of_q[:, None] - of_k[None, :], 0.0)[None]


@dataclass(frozen=True)
class Selective(pe.Rotary):
    """RoPE at positions that the features stretch."""

    dim: int
    needs: frozenset[str] = field(default=FEATURES, init=False)

    def cos_sin(self, positions, params=None, *, dtype=None, features):
        angles = (positions * features[..., 0])[..., None] * torch.ones(self.dim // 2)
        return angles.cos().to(dtype), angles.sin().to(dtype)


@pytest.fixture
def drawn():
    q, k = torch.randn(2, 1, 1, 5, 8)
    return q, k, torch.arange(5), torch.randn(5, 2), torch.ones(5, 5, dtype=torch.bool).tril()


def test_a_bias_gets_features_and_mask(drawn):
    q, k, p, features, mask = drawn
    encoding, products = Gated(), q @ k.mT / 8**0.5
    ours = BiasLogits(encoding)(products, p, features=features, mask=mask)
    truth = pe.logits(encoding, q, k, p, p, features=features, mask=mask)
    assert torch.allclose(ours, truth, atol=1e-6)
    pair = BiasLogits(encoding).bias(p, features=(features, features + 1), mask=mask)
    assert torch.allclose(pair, ours - products - mask.float(), atol=1e-6)


def test_scores_get_features_and_mask(drawn):
    q, k, p, features, mask = drawn
    ours = ScoreQK(Forgetting(2))(q, k, p, features=features, mask=mask)
    assert torch.equal(ours, pe.logits(Forgetting(2), q, k, p, p, features=features, mask=mask))


@pytest.mark.parametrize("inplace", [False, True])
def test_a_rotation_gets_features_of_queries_and_of_keys(drawn, inplace):
    q, k, p, features, _ = drawn
    encoding, other = Selective(8), features.flip(0)
    truth = encoding.rotate(q, p, features=features), encoding.rotate(k, p, features=other)
    assert not torch.equal(truth[0], encoding.rotate(q, p, features=other))
    ours = RotateQK(encoding, inplace=inplace)(q.clone(), k.clone(), p, features=(features, other))
    assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(ours, truth, strict=True))


def test_features_are_asked_for_and_refused(drawn):
    q, k, p, features, mask = drawn
    with pytest.raises(ValueError, match=r"^features must be given for Selective"):
        RotateQK(Selective(8))(q, k, p)
    with pytest.raises(ValueError, match=r"^features must be left out for RoPE"):
        RotateQK(pe.RoPE(8))(q, k, p, features=features)
    with pytest.raises(ValueError, match=r"^mask must be left out for ALiBi"):
        BiasLogits(pe.ALiBi(1))(q @ k.mT, p, mask=mask)
    with pytest.raises(ValueError, match=r"^mask must be given for Forgetting"):
        ScoreQK(Forgetting(2))(q, k, p, features=features)
