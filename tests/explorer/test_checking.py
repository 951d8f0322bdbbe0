"""Checks take little memory, and a process that takes more is ended with a sentence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import posenc as pe
from posenc.checks.properties.samples import MOST_NUMBERS, first_points
from posenc.checks.subject import Subject
from posenc.explorer import checking

WIDE = {
    "Sinusoidal(4096)": pe.Sinusoidal(4096),
    "AxialRoPE.split(4096, axes=4)": pe.AxialRoPE.split(4096, axes=4),
    "Shaw(64, 4096)": pe.Shaw(64, 4096),
}


@pytest.mark.parametrize("name", WIDE)
def test_a_wide_encoding_is_asked_for_fewer_positions(name):
    """4,096 rows of 4,096 channels took 832 and 1,162 MB."""
    wide = 2 * 4096 + 1 if name.startswith("Shaw") else 4096
    assert 128 <= len(first_points(Subject(WIDE[name]))) <= MOST_NUMBERS // wide


def test_the_usual_encoding_is_asked_for_all():
    assert len(first_points(Subject(pe.Sinusoidal(512)))) == 4096


def checked(expression, *most):
    command = [sys.executable, "-m", "posenc.explorer.checking", expression, "0", *most]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_report_is_that_of_the_checks():
    done = checked("Sinusoidal(8)")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["ok"] is True


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="a bound of Linux")
def test_what_takes_more_memory_than_it_may_is_told_apart():
    done = checked("Sinusoidal(512)", str(2**20))  # no room for a thread
    assert done.returncode == checking.TOO_LARGE, done.stderr
