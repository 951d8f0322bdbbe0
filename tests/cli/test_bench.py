"""The command `posenc bench`."""

import json

from posenc.bench import tables


def test_bench_times_one_encoding(run):
    told = json.loads(run("bench", "RoPE(8)", "--rounds", "1", "--json").stdout)
    assert told["encodings"]["RoPE(8)"]["dim"] == 8
    assert run("bench", "nope", "--rounds", "1").stdout.splitlines()[1].startswith("nope ")


def test_a_wrong_result_is_reported_with_exit_code_1(run, monkeypatch):
    def wrong(**_):
        raise ArithmeticError("posenc: error 1 is above 1e-05; not timed")

    monkeypatch.setattr(tables, "measure", wrong)
    result = run("bench", "--rounds", "1")
    assert result.exit_code == 1
    assert result.stderr == "Error: posenc: error 1 is above 1e-05; not timed\n"
