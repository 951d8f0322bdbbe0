import pytest

from posenc.bench import attentions, rotations, tables


@pytest.fixture
def small(monkeypatch):
    """Benchmarks of few heads and channels: what they do is the same."""
    for module, heads, dim in ((rotations, 2, 8), (attentions, 2, 8), (tables, None, 16)):
        monkeypatch.setattr(module, "DIM", dim)
        if heads:
            monkeypatch.setattr(module, "HEADS", heads)
