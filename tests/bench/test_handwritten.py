"""The hand-written attention that ours is timed against computes the same."""

import pytest
import torch

import posenc as pe
from posenc.bench.handwritten import GPT, RotaryAttention
from posenc.torch import SelfAttention

DIM, HEADS, LENGTH = 32, 4, 20


@pytest.fixture
def models():
    """The same model with each attention, in float64."""

    def model(attention):
        return GPT(attention, layers=2, dim=DIM, vocabulary=11).double()

    rope = pe.RoPE(DIM // HEADS, pairing="halves")
    ours = model(lambda: SelfAttention(DIM, HEADS, encoding=rope))
    theirs = model(lambda: RotaryAttention(DIM, HEADS, length=LENGTH))
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


@torch.no_grad()
def test_both_models_have_the_same_logits(models):
    """Cosines in float32 are off by 2^-25, which a run in float32 makes more of than one here."""
    ours, theirs = models
    tokens = torch.randint(11, (2, LENGTH))
    logits, theirs_logits = ours(tokens)[0], theirs(tokens)[0]
    off = (logits - theirs_logits).abs().max()
    rounded = ours.float()(tokens)[0]
    assert 0 < off <= (rounded - logits).abs().max()


@torch.no_grad()
@pytest.mark.parametrize("which", [0, 1])
def test_the_cache_changes_rounding_alone(models, which):
    model = models[which]
    tokens = torch.randint(11, (1, LENGTH))
    whole = model(tokens)[0]
    caches, parts = model.start_caches(), []
    for piece in tokens.split([7, *[1] * (LENGTH - 7)], dim=1):
        logits, caches = model(piece, caches)
        parts.append(logits)
    off = (torch.cat(parts, dim=1) - whole).abs().max()
    rounded = model.float()(tokens)[0]  # whose roundings are 2^29 times as large
    assert off <= 16 * 2.0**-29 * (rounded - whole).abs().max()
