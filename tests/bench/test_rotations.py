"""The benchmarks of rotations."""

import pytest
import torch

from posenc.bench import rotations
from posenc.bench.case import Request
from posenc.bench.run import run_case
from posenc.torch import RotateQK

QUICK = Request(quick=True)
OURS = ["posenc, interleaved", "posenc, halves"]

SETUPS = {
    "prefill": lambda dtype: rotations.rotate(torch.arange(70), dtype, QUICK),
    "in place": lambda dtype: rotations.rotate_in_place(torch.arange(70), dtype, QUICK),
    "decode": lambda dtype: rotations.rotate(torch.tensor([2047]), dtype, QUICK),
    "train": lambda dtype: rotations.train(torch.arange(70), dtype, QUICK),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", SETUPS)
@pytest.mark.usefixtures("small")
def test_ours_are_checked_beside_a_copy(name, dtype):
    entries = SETUPS[name](dtype).entries
    assert next(iter(entries)) == ("copy_" if name == "in place" else "clone")
    assert [name for name, entry in entries.items() if entry.ours] == OURS
    for each in OURS:
        error = entries[each].error()
        assert error.is_within
        assert error.largest > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("name", SETUPS)
@pytest.mark.usefixtures("small")
def test_a_rotation_that_is_slightly_off_is_rejected(monkeypatch, name, dtype):
    """By a position in float32, or by tables rounded to bfloat16, as others have them."""
    right = RotateQK.forward

    def wrong(self, q, k, q_pos, k_pos=None):
        if dtype == torch.float32:
            return right(self, q, k, q_pos * (1 + 1e-6))
        q, k = right(self, q, k, q_pos)
        return q * (1 + 2**-7), k

    monkeypatch.setattr(RotateQK, "forward", wrong)
    entries = SETUPS[name](dtype).entries
    assert not any(entries[each].error().is_within for each in OURS)


@pytest.mark.usefixtures("small")
def test_many_positions_are_sampled_to_the_end(monkeypatch):
    right = RotateQK.forward

    def wrong(self, q, k, q_pos, k_pos=None):
        q, k = right(self, q, k, q_pos)
        q[:, :, -1] += 1
        return q, k

    entries = rotations.rotate(torch.arange(5000), torch.float32, QUICK).entries
    assert entries["posenc, halves"].error().is_within
    monkeypatch.setattr(RotateQK, "forward", wrong)
    entries = rotations.rotate(torch.arange(5000), torch.float32, QUICK).entries
    assert not entries["posenc, halves"].error().is_within


@pytest.mark.usefixtures("small")
def test_far_positions_are_held_against_the_first():
    setup = rotations.far_positions(3, QUICK)
    assert list(setup.entries) == ["posenc, from 0", "posenc, from 10,000,000"]
    assert all(entry.error().is_within for entry in setup.entries.values())


@pytest.mark.usefixtures("small")
def test_a_case_is_timed_and_says_which_rows_are_ours():
    case = next(case for case in rotations.CASES if case.name == "decode-float32")
    result = run_case(case, QUICK, rounds=1)
    assert [name for name, row in result["rows"].items() if row["ours"]] == OURS
    assert result["rows"]["clone"]["ratio"] == 1.0
    assert result["wrong"] == []
