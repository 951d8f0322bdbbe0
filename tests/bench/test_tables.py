"""The benchmarks of sinusoidal tables and of adding them."""

import numpy as np
import pytest
import torch

import posenc as pe
from posenc.bench import tables
from posenc.bench.case import Request

pytestmark = pytest.mark.usefixtures("small")


def test_every_way_to_build_a_table_is_checked():
    entries = tables.build_table(20_000, Request()).entries
    errors = {name: entry.error() for name, entry in entries.items()}
    assert errors["sin(position * frequency)"].largest > 1e-5
    assert errors["posenc, torch"].largest < 4e-8
    assert all(error.is_within for error in errors.values())


def test_a_table_that_is_slightly_off_is_rejected(monkeypatch):
    right = pe.Sinusoidal.encode

    def wrong(self, positions, params=None, *, dtype=None):
        return right(self, positions, params, dtype=dtype) + (1e-6 if dtype is np.float32 else 0)

    monkeypatch.setattr(pe.Sinusoidal, "encode", wrong)
    entries = tables.build_table(2048, Request()).entries
    within = {name: entry.error().is_within for name, entry in entries.items()}
    assert within == {
        "sin(position * frequency)": True,
        "posenc, torch": True,
        "posenc, numpy": False,
    }


@pytest.mark.parametrize(("batch", "length"), [(2, 70), (1, 1)])
def test_adding_is_checked(monkeypatch, batch, length):
    entries = tables.add_positions(batch, length, Request()).entries
    assert entries["posenc"].error().is_within
    assert torch.equal(entries["x + table"].run(), entries["posenc"].run())
    right = tables.AddPositions.forward
    monkeypatch.setattr(
        tables.AddPositions, "forward", lambda self, x, p: right(self, x, p * (1 - 1e-4))
    )
    assert not tables.add_positions(2, 70, Request()).entries["posenc"].error().is_within
