"""`posenc bench` says when its timings cannot be trusted."""

import json

import pytest
from click.testing import CliRunner

from posenc.bench import costs, run
from posenc.cli.bench import bench
from tests.bench.test_timing import set_machine

CASES = [(0.0, True, True), (9.0, True, False), (0.0, False, False)]


def run_bench(monkeypatch, load, steady, *arguments):
    """`posenc bench` of timings that were made up."""
    set_machine(monkeypatch, load)
    monkeypatch.setattr(run.Watch, "others", lambda self: None)
    later = 1.0 if steady else 5.0
    monkeypatch.setattr(
        run, "time_interleaved", lambda work, **_: {name: [1.0, 1.0, later] for name in work}
    )
    result = CliRunner().invoke(bench, ["--only", "add-token", *arguments])
    assert result.exit_code == 0, result.output
    return result


@pytest.mark.parametrize(("load", "steady", "trusted"), CASES)
def test_the_cost_of_an_encoding_says_when_it_cannot_be_trusted(monkeypatch, load, steady, trusted):
    row = {"seconds": 0.1, "ratio": 1.0, "error": 0.0, "spread": 0.01, "steady": steady}
    rows = {"q k^T": row, "applied": row}
    monkeypatch.setattr(costs, "summarize", lambda *args, **kwargs: rows)
    set_machine(monkeypatch, load)
    told = json.loads(CliRunner().invoke(bench, ["nope", "--json"]).output)
    assert told["trusted"] is trusted
    assert told["encodings"]["nope"]["steady"] is steady
    lines = CliRunner().invoke(bench, ["nope"]).output.splitlines()
    assert lines[1].endswith("  unsteady") is not steady
    assert lines[-1].startswith("Unreliable timings: ") is not trusted
    assert ("1 of 1 rows are unsteady" in lines[-1]) is not steady


def test_the_command_says_when_it_cannot_be_trusted(monkeypatch):
    assert "Unreliable" not in run_bench(monkeypatch, 0.0, True).stdout
    busy = run_bench(monkeypatch, 3.25, True).stdout
    assert "load average was 3.2 on 2 cores" in busy.splitlines()[-1]
    unsteady = run_bench(monkeypatch, 0.0, False).stdout.splitlines()
    assert unsteady[-1].startswith("Unreliable timings: 2 of 2 rows are unsteady. ")
    (row,) = [line for line in unsteady if line.startswith("  posenc ")]
    assert row.endswith("  unsteady")


@pytest.mark.parametrize(("load", "steady", "trusted"), CASES)
def test_json_says_so_too(monkeypatch, load, steady, trusted):
    result = run_bench(monkeypatch, load, steady, "--json")
    told = json.loads(result.stdout)
    assert told["trusted"] is trusted
    assert told["machine"]["busy"] is (load > 1)
    assert told["benchmarks"][0]["rows"]["posenc"]["steady"] is steady
    assert ("Unreliable timings" in result.stderr) is not trusted
