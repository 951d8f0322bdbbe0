import pytest

from posenc.bench import attentions, conversions, models, rotations, swaps, tables
from posenc.bench.case import Case, Entry, Request, Setup
from posenc.bench.run import run_cases
from tests.bench.made_up import entry


@pytest.fixture
def small(monkeypatch):
    """Benchmarks of few heads and channels: what they do is the same."""
    for module, heads, dim in ((rotations, 2, 8), (attentions, 2, 8), (tables, None, 16)):
        monkeypatch.setattr(module, "DIM", dim)
        if heads:
            monkeypatch.setattr(module, "HEADS", heads)
    sizes = {"LAYERS": 2, "DIM": 16, "HEADS": 2, "VOCABULARY": 7, "LENGTH": 20, "STEPS": 3}
    for name, size in sizes.items():
        monkeypatch.setattr(models, name, size)
        monkeypatch.setattr(swaps, name, size)
    monkeypatch.setattr(conversions, "MEGABYTE", 2**10)
    monkeypatch.setattr(conversions, "DIM", 32)


@pytest.fixture
def data():
    """A run of a case that claims are about, with numbers that were made up."""
    setup = Setup(
        {
            "clone": Entry(int),
            "posenc, halves": entry(0.5, ours=True),
            "HF apply": entry(0.75, convention="float8", source="transformers 5"),
            "wrong": entry(2.0),
        },
        {"torchtune": "torchtune must be installed"},
    )
    seconds = {"clone": 1e-6, "posenc, halves": 3e-6, "HF apply": 4.5e-6}
    setup = Setup(setup.entries, setup.missing, lambda: seconds)
    case = Case("decode-float32", "decode", "one token", lambda request: setup)
    return run_cases([case], Request(), rounds=2)
