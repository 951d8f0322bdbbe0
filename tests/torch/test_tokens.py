"""Modules of encodings that depend on the tokens."""

import pytest
import torch

import posenc as pe
from posenc.torch import BiasLogits, RotateQK, ScoreQK
from tests.checks import tokens
from tests.torch.own_encodings import Forgetting

P = torch.arange(5)
SEEN = torch.ones(5, 5, dtype=torch.bool).tril()


def test_scores_of_a_batch_are_those_of_each_text():
    score, (q, k), features = (
        ScoreQK(Forgetting(3)),
        torch.randn(2, 2, 3, 5, 8),
        torch.randn(2, 5, 3),
    )
    made = score(q, k, P, features=features, mask=SEEN)
    for row in range(2):
        alone = score(q[row], k[row], P, features=features[row], mask=SEEN)
        assert (made[row] - alone)[:, SEEN].abs().max() <= 1e-6
    with pytest.raises(ValueError, match=r"^features must be given for Forgetting"):
        score(q, k, P, mask=SEEN)


def test_biases_see_features():
    bias, logits, features = BiasLogits(tokens.Gated()), torch.randn(2, 5, 5), torch.randn(5, 3)
    given = features.clone().requires_grad_()
    made = bias(logits, P, features=given)
    away = (P[:, None] - P).abs()
    exact = logits - away * (1 + features.mT[:2, None] ** 2)
    assert (made - exact).abs().max() <= 1e-5
    made.sum().backward()
    assert given.grad[:, :2].abs().min() > 0
    with pytest.raises(ValueError, match=r"^features must be given for Gated"):
        bias(logits, P)


def test_rotations_see_features():
    rotate, (q, k), features = (
        RotateQK(tokens.Selective()),
        torch.randn(2, 2, 3, 5, 4),
        torch.randn(2, 5, 3),
    )
    made = rotate(q, k, P, features=features)
    pair = rotate(q, k, P, features=(features, features))
    for ours, same, x in zip(made, pair, (q, k), strict=True):
        assert torch.equal(ours, same)
        for row in range(2):
            alone = rotate.rotary.rotate(x[row], P, rotate.tensors(), features=features[row])
            assert (ours[row] - alone).abs().max() <= 1e-6
    with pytest.raises(ValueError, match=r"^features must be given for Selective"):
        rotate(q, k, P)
    with pytest.raises(ValueError, match=r"^features must be left out for RoPE"):
        RotateQK(pe.RoPE(4))(q, k, P, features=features)


def test_what_depends_on_the_tokens_is_not_turned_in_place():
    class Chosen(tokens.Selective):
        def parameters(self):
            return {}

    with pytest.raises(ValueError, match=r"^inplace must be False for a rotation that depends on"):
        RotateQK(Chosen(), inplace=True)


def test_a_bias_of_a_batch_has_a_row_for_each_text():
    class Near(pe.Bias):
        needs = frozenset({"features"})

        def bias(self, q_pos, k_pos, params=None, *, features):
            return (features[0] @ features[1].mT)[..., None, :, :] + 0.0 * q_pos[..., None, :, None]

    q, features = torch.randn(2, 3, 5, 8), torch.randn(2, 5, 3)
    made = pe.logits(Near(), q, q, P, P, features=features)
    for row in range(2):
        alone = pe.logits(Near(), q[row], q[row], P, P, features=features[row])
        assert (made[row] - alone).abs().max() <= 1e-5
