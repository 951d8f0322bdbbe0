"""Checks take little memory, and a process that takes more is ended with a sentence."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import posenc as pe
from posenc.checks.properties import ALL
from posenc.checks.properties.samples import MOST_NUMBERS, first_positions, split_blocks
from posenc.checks.subject import Subject
from posenc.explorer import check_process

WIDE = {
    "Sinusoidal(4096)": pe.Sinusoidal(4096),
    "AxialRoPE.split(4096, axes=4)": pe.AxialRoPE.split(4096, axes=4),
    "Shaw(64, 4096)": pe.Shaw(64, 4096),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_wide_encoding_is_asked_for_all_positions_in_blocks(name):
    """4,096 rows of 4,096 channels at once took 832 and 1,162 MB."""
    wide = 2 * 4096 + 1 if name.startswith("Shaw") else 4096
    subject = Subject(WIDE[name])
    points = first_positions(subject)
    blocks = list(split_blocks(subject, points))
    assert len(points) == 4096
    np.testing.assert_array_equal(np.concatenate(blocks), points)
    assert max(map(len, blocks)) <= MOST_NUMBERS // wide


class Spoiled(pe.Additive):
    """Wide, and at one place as at another, or no number."""

    dim = 1024

    def __init__(self, place, value):
        self.place, self.value = place, value

    def encode(self, positions, params=None, *, dtype=None):
        where = np.asarray(positions)
        made = pe.Sinusoidal(self.dim).encode(where, dtype=dtype)
        made[where == self.place] = self.value
        return made


@pytest.mark.parametrize("name", ["finite", "unique"])
def test_a_fault_at_the_end_of_a_wide_encoding_is_found(name):
    """Of 1,024 channels only the first 2,048 positions were looked at."""
    zero = pe.Sinusoidal(1024).encode(np.arange(1), dtype=np.float64)[0]
    spoiled = Spoiled(4_000, np.nan if name == "finite" else zero)
    (check,) = [check for check in ALL if check.name == name]
    found = check.measure(Subject(spoiled), np.random.default_rng(0))
    assert found.value == 1


def checked(expression, *most):
    command = [sys.executable, "-m", "posenc.explorer.check_process", expression, "0", *most]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow  # test_verdicts compares such a report with that of the library
def test_the_report_is_that_of_the_checks():
    done = checked("Sinusoidal(8)")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"] is True


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="a bound of Linux")
def test_what_takes_more_memory_than_it_may_is_told_apart():
    done = checked("Sinusoidal(512)", str(2**20))  # no room for a thread
    assert done.returncode == check_process.TOO_LARGE, done.stderr
