import json
from itertools import chain

import numpy as np
import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.bench import attentions, costs, rotations, tables, timing
from posenc.bench.timing import compared, interleaved, machine, spread
from posenc.cli.bench import bench


def test_measures_every_way_and_its_error():
    result = tables.measure(rounds=1, length=2048, dim=16)
    rows = result["rows"]
    assert rows["straightforward, torch"]["ratio"] == 1.0
    assert rows["straightforward, torch"]["error"] > 1e-5
    assert rows["posenc, torch"]["error"] < 4e-8


def test_no_speed_is_reported_on_wrong_numbers(monkeypatch):
    right = pe.Sinusoidal.encode

    def wrong(self, positions, params=None, *, dtype=None):
        encoded = right(self, positions, params, dtype=dtype)
        return encoded + 1e-6 if dtype is np.float32 else encoded

    monkeypatch.setattr(pe.Sinusoidal, "encode", wrong)
    with pytest.raises(ArithmeticError, match=r"posenc, numpy: error 1e-06 is above 1.5e-07"):
        tables.measure(rounds=1, length=2048, dim=16)


def test_rotations_are_measured_beside_a_copy():
    rows = rotations.measure(rounds=1, shape=(1, 2, 16, 8))["rows"]
    assert list(rows) == ["clone", "rotate, interleaved", "rotate, halves"]
    assert 0 < rows["rotate, halves"]["error"] < 2e-6


def test_attention_is_measured_beside_none_and_beside_a_dense_bias():
    rows = attentions.measure(rounds=1, shape=(1, 2, 300, 16))["rows"]
    assert next(iter(rows)) == "no bias, is_causal"
    assert {"ALiBi, attend, auto", "ALiBi, attend, folded", "T5, attend, auto"} < set(rows)
    assert all(0 < row["error"] < 1e-5 for row in rows.values())


def test_rounds_are_interleaved():
    calls = []
    interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=2)
    assert "".join(calls) == "ababab"


class Clock:
    """A clock that each piece of work moves on by itself."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)

    def work(self, seconds):
        """Work that takes these seconds, one after the other."""
        left = iter(seconds)

        def run():
            self.now += next(left)

        return run


ROUNDS = [1.0, 1.0, 1.02, 1.04, 1.08]
"""The middle half lies between 1 and 1.04: a spread of 0.039."""


def timed(monkeypatch, **seconds):
    clock = Clock(monkeypatch)
    work = {name: clock.work(chain([99.0], each)) for name, each in seconds.items()}  # warm-up
    errors = dict.fromkeys(work, 0.0)
    return compared("work", work, errors, bound=0.0, rounds=len(ROUNDS))["rows"]


def test_rows_that_agree_from_round_to_round_are_steady(monkeypatch):
    rows = timed(monkeypatch, first=ROUNDS, twice=[2 * t for t in ROUNDS])
    assert [row["steady"] for row in rows.values()] == [True, True]
    assert rows["first"]["seconds"] == pytest.approx(1.02)
    assert rows["twice"]["ratio"] == pytest.approx(2.0)
    assert rows["twice"]["spread"] == pytest.approx(0.04 / 1.02)


def test_a_row_is_unsteady_if_its_rounds_or_those_of_the_first_differ(monkeypatch):
    restless = [1.0, 1.0, 1.1, 1.3, 1.5]  # the middle half: 0.3 / 1.1
    rows = timed(monkeypatch, first=ROUNDS, other=restless, third=ROUNDS)
    assert [row["steady"] for row in rows.values()] == [True, False, True]
    assert rows["other"]["spread"] == pytest.approx(0.3 / 1.1)
    rows = timed(monkeypatch, first=restless, other=ROUNDS)
    assert [row["steady"] for row in rows.values()] == [False, False]


def test_one_slow_round_is_no_trouble_and_one_round_alone_says_nothing():
    assert spread([1.0, 1.0, 1.0, 1.0, 50.0]) == 0.0
    assert spread([1.0]) is None


@pytest.mark.parametrize(("load", "busy"), [(0.1, False), (1.0, False), (1.1, True), (17.0, True)])
def test_a_machine_with_other_work_is_busy(monkeypatch, load, busy):
    set_machine(monkeypatch, load)
    assert machine() == {"load": load, "cores": 2, "busy": busy}


def test_a_system_without_a_load_average_is_not_called_busy(monkeypatch):
    monkeypatch.delattr(timing.os, "getloadavg", raising=False)
    assert machine()["load"] is None
    assert machine()["busy"] is False


def set_machine(monkeypatch, load):
    monkeypatch.setattr(timing.os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    monkeypatch.setattr(timing.os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)


def run_bench(monkeypatch, load, steady, *arguments):
    """`posenc bench` of results that were made up."""
    row = {"seconds": 0.1, "ratio": 1.0, "error": 0.0, "spread": 0.01, "steady": True}
    rows = {"first": row, "other": row | {"steady": steady}}
    for part in (tables, rotations, attentions):
        made = {"what": part.__name__, "rounds": 9, "rows": rows}
        monkeypatch.setattr(part, "measure", lambda *, rounds, made=made: made)
    set_machine(monkeypatch, load)
    result = CliRunner().invoke(bench, arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.parametrize(
    ("load", "steady", "trusted"), [(0.0, True, True), (9.0, True, False), (0.0, False, False)]
)
def test_the_cost_of_an_encoding_says_when_it_cannot_be_trusted(monkeypatch, load, steady, trusted):
    row = {"seconds": 0.1, "ratio": 1.0, "error": 0.0, "spread": 0.01, "steady": steady}
    rows = {"rows": {"q k^T": row, "applied": row}}
    monkeypatch.setattr(costs, "compared", lambda *args, **kwargs: rows)
    set_machine(monkeypatch, load)
    told = json.loads(CliRunner().invoke(bench, ["nope", "--json"]).output)
    assert told["trusted"] is trusted
    assert told["encodings"]["nope"]["steady"] is steady
    lines = CliRunner().invoke(bench, ["nope"]).output.splitlines()
    assert lines[1].endswith("  unsteady") is not steady
    assert lines[-1].startswith("Unreliable timings: ") is not trusted
    assert ("1 of 1 rows are unsteady" in lines[-1]) is not steady


def test_the_command_says_when_it_cannot_be_trusted(monkeypatch):
    assert "Unreliable" not in run_bench(monkeypatch, 0.0, True)
    busy = run_bench(monkeypatch, 3.25, True)
    assert "load average was 3.2 on 2 cores" in busy.splitlines()[-1]
    unsteady = run_bench(monkeypatch, 0.0, False).splitlines()
    assert unsteady[-1].startswith("Unreliable timings: 3 of 6 rows are unsteady. ")
    assert [line.endswith("  unsteady") for line in unsteady[1:3]] == [False, True]


@pytest.mark.parametrize(
    ("load", "steady", "trusted"), [(0.0, True, True), (9.0, True, False), (0.0, False, False)]
)
def test_json_says_so_too(monkeypatch, load, steady, trusted):
    told = json.loads(run_bench(monkeypatch, load, steady, "--json"))
    assert told["trusted"] is trusted
    assert told["machine"] == {"load": load, "cores": 2, "busy": load > 1}
    assert told["benchmarks"][0]["rows"]["other"]["steady"] is steady
