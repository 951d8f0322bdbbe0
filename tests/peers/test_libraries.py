"""Encodings of small libraries: what is missing is named."""

import sys

import pytest

from posenc import peers

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
