"""Adapters of other libraries: those of transformers, which is here; and what is missing."""

import sys

import pytest
import torch

import posenc as pe
from posenc import peers
from posenc.core.rotation import rotate
from tests.patient import check
from tests.slow import slow

MISSING = {
    peers.rotary_embedding_torch: "rotary-embedding-torch",
    peers.x_transformers: "x-transformers",
    peers.x_transformers_alibi: "x-transformers",
    peers.positional_encodings: "positional-encodings",
    peers.torchtune: "torchtune",
    peers.timm_rotary: "timm",
    peers.keras_hub_sine: "keras",
    peers.keras_hub_rotary: "keras-hub",
}


@pytest.mark.parametrize("make", MISSING, ids=lambda f: f.__name__)
def test_a_missing_library_is_named(make, monkeypatch):
    package = MISSING[make].replace("-", "_")
    for name in [package, *[n for n in sys.modules if n.startswith(f"{package}.")]]:
        monkeypatch.setitem(sys.modules, name, None)  # as if it were not installed
    with pytest.raises(ModuleNotFoundError, match=f"pip install {MISSING[make]};"):
        make()


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


def test_runs_are_found():
    found = list(peers.adapters.split_runs(torch.tensor([5, 6, 7, 0, 9, 10, 10])))
    assert [(p, part.start, part.stop) for p, part in found] == [
        (5, 0, 3),
        (0, 3, 4),
        (9, 4, 6),
        (10, 6, 7),
    ]


def test_a_table_too_large_is_refused():
    with pytest.raises(ValueError, match="positions must lie between 0 and 49"):
        peers.adapters.find_table_sides(torch.tensor([[0, 1, 50]]), 3)


class Table(torch.nn.Module):
    """Cosines and sines as a buffer: a cast rounds them, which is as good as rounding results."""

    def __init__(self):
        super().__init__()
        angles = torch.arange(4096.0)[:, None] * 10_000.0 ** (-torch.arange(4) / 4)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def forward(self, x, positions):
        cos, sin = (table[positions].to(x.dtype) for table in (self.cos, self.sin))
        return rotate(x, cos, sin)


class Kept(torch.nn.Module):
    """Angles made for a call in bfloat16 are kept and served to later calls in float32."""

    def __init__(self):
        super().__init__()
        self.angles = None

    def forward(self, x, positions):
        if self.angles is None or x.dtype == torch.bfloat16:
            where = torch.arange(4096, dtype=x.dtype).float()[:, None]
            self.angles = where * 10_000.0 ** (-torch.arange(4) / 4)
        angles = self.angles[positions]
        return rotate(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))


def test_rounding_a_table_is_no_fault():
    assert check(pe.adapt.rotary(Table(), dim=8)).failed == ()


def test_a_cache_without_its_dtype_is_found():
    assert "stateless" in check(pe.adapt.rotary(Kept(), dim=8)).failed
