"""The benchmark of the lab's training step."""

import pytest
import torch

from posenc.bench import lab
from posenc.bench.case import Request
from posenc.bench.models import HAND


def test_both_are_checked_and_learn_the_same():
    entries = lab.train(Request()).entries
    assert list(entries) == [HAND, lab.OURS]
    for entry in entries.values():
        entry.run()
        assert entry.error().is_within, "of the model as it was, whatever it has learned"


def test_a_model_that_rotates_otherwise_is_rejected(monkeypatch):
    entries = lab.train(Request()).entries
    monkeypatch.setattr(lab, "compute_logits", lambda model, tokens: model(tokens.flip(1)).detach())
    assert not entries[lab.OURS].error().is_within


def test_hand_written_attention_has_the_weights_of_ours():
    settings = lab.make_settings()
    model = lab.start(settings, lab.find_encoding(settings)).model
    other = lab.replace_attention(model, heads=1, length=34)
    tokens = torch.randint(20, (2, 34))
    assert torch.allclose(model(tokens), other(tokens), atol=1e-5)
    kinds = {type(block.attention).__name__ for block in other.blocks}
    assert kinds == {"Plain"}
    with pytest.raises(RuntimeError):
        other(torch.randint(20, (2, 35)))  # its table ends
