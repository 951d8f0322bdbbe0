"""Encodings of models in transformers, which is here."""

import pytest
import torch

import posenc as pe
from posenc import peers
from tests.patient import check
from tests.slow import slow


@pytest.mark.parametrize(
    ("make", "failed"),
    [
        (lambda: peers.hugging_face("llama"), ("castproof",)),
        (peers.bloom, ()),
        *slow(  # importing one takes a second or more
            (lambda: peers.hugging_face("phi"), ("castproof",)),  # half a head, cut by it
            (lambda: peers.hugging_face("falcon"), ("castproof",)),  # no head_dim to set
            (lambda: peers.hugging_face("gpt_oss"), ("castproof",)),  # YaRN's factor
            (
                lambda: peers.hugging_face("modernbert", layer_type="full_attention"),
                ("castproof",),
            ),
            (peers.vjepa2, ("norm_preserving", "relative", "composes", "unique")),
        ),
        (lambda: peers.bloom(16, "bfloat16"), ("relative",)),
    ],
)
def test_models_of_transformers_fail_where_they_are_at_fault(make, failed):
    assert check(make()).failed == failed


def test_an_adapted_module_turns_as_ours_does():
    ours, theirs = pe.RoPE(64, pairing="halves"), peers.hugging_face("llama")
    x, p = torch.randn(9, 64), torch.arange(100, 109)
    torch.testing.assert_close(theirs.rotate(x, p), ours.rotate(x, p), atol=1e-4, rtol=0)


@pytest.mark.parametrize("model", ["llama4", "no_such_model", "t5"])
def test_a_model_without_one_rotary_module_is_refused(model):
    with pytest.raises(ValueError, match=f"model must be a type .*; got '{model}'"):
        peers.hugging_face(model)
