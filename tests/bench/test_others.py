"""The implementations of others are right, as far as the way they round allows."""

import dataclasses

import pytest
import torch

from posenc.bench import others, rotations
from posenc.bench.case import Request

FORMS = {
    "HF apply": others.hf_apply,
    "HF apply and table": others.hf_with_table,
    "complex form": others.complex_form,
    "table lookup": others.table_lookup,
}


def enter(made, dtype, first=0, length=600):
    task = rotations.Task(torch.arange(first, first + length), dtype)
    setup = task.enter_others(made)
    assert setup.missing == {}
    return setup.entries


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", FORMS)
@pytest.mark.usefixtures("small")
def test_each_form_is_within_its_bound(name, dtype):
    entry = enter({name: FORMS[name]}, dtype, first=1000)[name]
    error = entry.error()
    assert error.is_within
    assert error.part > 0.01  # the bound is not without meaning
    assert "float32" in entry.convention


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.usefixtures("small")
def test_a_form_with_the_other_pairing_or_a_position_off_is_rejected(name):
    def swap(q, positions):
        right = FORMS[name](q, positions)
        other = {"halves": "interleaved", "interleaved": "halves"}[right.pairing]
        return dataclasses.replace(right, pairing=other)

    def shift(q, positions):
        return FORMS[name](q, positions + 1)

    for wrong in (swap, shift):
        assert not enter({name: wrong}, torch.float32)[name].error().is_within


def test_without_transformers_its_operations_are_the_same():
    pytest.importorskip("transformers")
    positions = torch.arange(5000, 5040)
    q, k = rotations.Task(positions, torch.bfloat16).given
    made = [others.hf_with_table(q, positions, direct=direct) for direct in (True, False)]
    assert made[0].source.startswith("transformers 5")
    assert made[1].source == "its operations in plain PyTorch"
    for theirs, plain in zip(made[0].apply(q, k), made[1].apply(q, k), strict=True):
        assert torch.equal(theirs, plain)


@pytest.mark.usefixtures("small")
def test_a_library_that_is_not_installed_is_named(monkeypatch):
    def absent(module, package=None):
        raise ModuleNotFoundError(f"{package or module} must be installed")

    monkeypatch.setattr(others, "import_library", absent)
    setup = rotations.rotate(torch.tensor([2047]), torch.float32, Request(quick=True, peers=True))
    assert setup.missing["x-transformers"] == "x-transformers must be installed"
    assert set(setup.missing) == set(others.PEERS)
