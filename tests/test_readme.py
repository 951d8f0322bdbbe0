"""The numbers of the README are those that were measured."""

from pathlib import Path

import pytest
import torch

import posenc as pe
from posenc.interop.conventions import ROTARY

ROOT = Path(__file__).parent.parent
README = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("claim", "page", "measured"),
    [
        ("4,096 positions have 769 distinct encodings", "peers", "bfloat16: 769)"),
        (
            "0.058 at position 1,000,000 | 3.0e-8",
            "conformance",
            "| 1,000,000 | 5.8e-02 | 3.0e-08 |",
        ),
        ("cosines off by 1.9 within 2,047 tokens", "conformance", "| 2,047 | 1.9e+00 |"),
        ("frequencies off by 37.8%", "conformance", "37.8%"),
        ("vary from 0.256 to 0.639", "conformance", "from 0.256 to 0.639"),
        ("Of 18 encodings of other libraries", "peers", "measured 18 encodings"),
        ("that we checked, 13 lack", "peers", "13 do not"),
        ("195 of the 199 rotary architectures", "conformance", "199 architectures"),
        ("195 of the 199 rotary architectures", "conformance", "195 matched"),
    ],
)
def test_faults_of_others_are_in_the_measured_pages(claim, page, measured):
    assert claim in README
    assert measured in " ".join((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8").split())


def test_how_many_model_types_are_known():
    halves = sum(convention.pairing == "halves" for convention in ROTARY.values())
    assert f"for {len(ROTARY)} model types ({halves} of them `halves`)" in README


def test_the_wrong_pairing_changes_what_a_llama_computes(monkeypatch):
    llama = pytest.importorskip("transformers.models.llama.modeling_llama")
    sizes = {"hidden_size": 512, "intermediate_size": 1024, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 8, "vocab_size": 1000}
    torch.manual_seed(0)
    rope = {"rope_type": "default", "rope_theta": 5e5}
    model = llama.LlamaForCausalLM(llama.LlamaConfig(rope_parameters=rope, **sizes)).eval()
    tokens = torch.randint(0, 1000, (1, 256))

    def logits():
        with torch.no_grad():
            return model(tokens).logits

    theirs = logits()
    errors = {}
    for pairing in ("halves", "interleaved"):
        ours = pe.RoPE(64, base=5e5, pairing=pairing)
        monkeypatch.setattr(
            llama,
            "apply_rotary_pos_emb",
            lambda q, k, *_, ours=ours, **__: (
                ours.rotate(q, range(256)),
                ours.rotate(k, range(256)),
            ),
        )
        errors[pairing] = float((logits() - theirs).abs().max())
    assert float(theirs.abs().max()) == pytest.approx(2.14, abs=0.005)
    assert errors["interleaved"] == pytest.approx(0.29, abs=0.005)
    assert errors["halves"] < 2e-6
    assert "logits of up to 2.14 by up to 0.29" in README
