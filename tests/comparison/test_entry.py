"""Entries: parameters, properties and cost of one encoding."""

import time
from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.comparison.cells import MARKS, cells
from posenc.names.resolve import resolve
from tests.comparison.conftest import SEEDS
from tests.patient import check


@pytest.mark.parametrize("name", SEEDS)
def test_parameters_are_what_init_draws(table, name):
    encoding = resolve(name)[name]
    drawn = encoding.init(np.random.default_rng(0))
    entry = table[name]
    assert entry.encoding == str(encoding)
    assert entry.parameters == sum(value.size for value in drawn.values())
    assert entry.trained == entry.parameters
    assert entry.parameter_bytes == 4 * entry.parameters


def test_parameters_that_are_kept_are_not_trained():
    entry = pe.compare("fourier-features", bench=False)["fourier-features"]
    assert (entry.parameters, entry.trained) == (64, 0)
    assert cells(entry, "en")["parameters"] == "64 fixed"


@pytest.mark.parametrize("name", SEEDS)
def test_properties_are_what_the_checks_find(table, name):
    report = check(resolve(name)[name])
    for row in report.rows:
        ours = table[name].report[row.name]
        assert (ours.verdict, ours.measured, ours.bound) == (row.verdict, row.measured, row.bound)
    told = cells(table[name], "en")
    assert told["unique"] == f"{MARKS[report['unique'].verdict]} " + (
        f"{report['unique'].measured:,.0f} repeated"
    )
    assert told["relative"].split() == [
        MARKS[report["relative"].verdict],
        f"{report['relative'].measured:.1g}",
    ]


@dataclass(frozen=True)
class Raising(pe.Additive):
    dim: int = 4

    def init(self, rng):
        raise OSError("no\ndisk")

    def encode(self, positions, params=None, *, dtype=None):
        raise OSError("no\ndisk")


def test_what_raises_is_told_and_not_timed():
    entry = pe.compare({"raising": Raising()})["raising"]
    assert not entry.report.ok
    assert entry.cost is None
    assert cells(entry, "en")["ratio"] == "not timed: OSError: no disk"


@dataclass(frozen=True)
class Sleeping(pe.Bias):
    heads: int = 1

    def bias(self, q_pos, k_pos, params=None):
        if len(q_pos) > 1:
            time.sleep(1)
        return 0.0 * (q_pos[:, None] - k_pos)[None]


def test_what_gives_no_answer_is_not_waited_for_again():
    entry = pe.compare({"sleeping": Sleeping()}, limit=0.1)["sleeping"]
    assert entry.untimed == "a check had no answer within its time limit"
