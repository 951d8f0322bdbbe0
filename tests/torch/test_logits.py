"""The modules that make or change logits."""

import pytest
import torch

import posenc as pe
from posenc.torch import BiasLogits, ScoreQK
from tests import bounds


def test_modules_own_what_is_learned():
    torch.manual_seed(0)
    bias = BiasLogits(pe.T5Bias(2, bidirectional=True))
    assert [n for n, _ in bias.named_parameters()] == ["params.table"]
    logits, p = torch.randn(1, 2, 5, 5), torch.arange(5)
    truth = logits.double() + bias.bias(p).double()  # one sum, rounded once
    assert ((bias(logits, p) - truth).abs() <= bounds.gamma(1) * truth.abs()).all()
    bias(logits, p).sum().backward()
    assert bias.params["table"].grad.abs().sum() > 0
    copied = BiasLogits(bias.encoding, params={"table": bias.params["table"]})
    assert torch.equal(copied.params["table"], bias.params["table"])
    assert copied.params["table"].data_ptr() != bias.params["table"].data_ptr()
    score, q = ScoreQK(pe.Shaw(4, 2)), torch.randn(1, 2, 5, 4)
    assert torch.equal(score(q, q, p), pe.logits(score.encoding, q, q, p, p, score.tensors()))


@pytest.mark.parametrize("encoding", [pe.Shaw(4, 3), pe.TransformerXL(2, 4)], ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_scores_of_halves_are_the_rounded_ones(encoding, dtype):
    torch.manual_seed(0)
    q, k = torch.randn(2, 2, 5, 4).to(dtype)
    p, module = torch.arange(5), ScoreQK(encoding)
    for made in (encoding, pe.Tempered(encoding, pe.SSMax())):
        half, wide = (pe.logits(made, *qk, p, p, module.tensors()) for qk in ((q, k), _wide(q, k)))
        assert half.dtype == dtype
        assert torch.equal(half, wide.to(dtype))


def _wide(q, k):
    return q.float(), k.float()
