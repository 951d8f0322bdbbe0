"""`posenc bench` says when its timings cannot be trusted."""

import json

import pytest
from click.testing import CliRunner

from posenc.bench import attentions, costs, rotations, tables
from posenc.cli.bench import bench
from tests.bench.test_timing import set_machine


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
    monkeypatch.setattr(costs, "compare_times", lambda *args, **kwargs: rows)
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
