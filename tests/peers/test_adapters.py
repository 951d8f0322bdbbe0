"""Adapters: modules of other libraries, runs of positions, and tables of them."""

import pytest
import torch

import posenc as pe
from posenc import peers
from posenc.core.rotation import rotate
from tests.patient import check


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


def test_an_adapter_calls_casts_and_owns_as_its_module_does():
    linear = torch.nn.Linear(2, 2)
    adapter = peers.adapters.ModuleAdapter(linear, lambda module, x: 2 * module(x))
    assert torch.equal(adapter(torch.ones(2)), 2 * linear(torch.ones(2)))
    assert [*adapter.parameters()] == [*linear.parameters()]
    assert adapter.to(torch.float64) is adapter
    assert linear.weight.dtype == torch.float64
