"""The command `posenc bench`."""

import json

import pytest

from posenc.bench import cases
from posenc.bench.case import Case, Entry, Setup
from tests.bench.made_up import entry

SECONDS = {"clone": 1e-3, "posenc, halves": 2e-3}


@pytest.fixture
def made_up(monkeypatch):
    """The list of benchmarks is one, whose numbers were made up: posenc is off by `error`."""

    def replace(error=0.0):
        entries = {"clone": Entry(int), "posenc, halves": entry(error, ours=True)}
        right = {name: SECONDS[name] for name in entries if name == "clone" or error <= 1}
        setup = Setup(entries, sample=lambda: right)
        case = Case("decode-float32", "decode", "one token", lambda request: setup, quick=True)
        other = Case("import", "start", "a process", lambda request: setup)
        monkeypatch.setattr(cases, "CASES", (case, other))

    replace()
    return replace


def test_bench_times_one_encoding(run):
    told = json.loads(run("bench", "RoPE(8)", "--rounds", "1", "--json").stdout)
    assert told["encodings"]["RoPE(8)"]["dim"] == 8
    assert run("bench", "nope", "--rounds", "1").stdout.splitlines()[1].startswith("nope ")


@pytest.mark.usefixtures("made_up")
def test_rows_go_to_stdout_and_progress_to_stderr(run):
    result = run("bench", "--quick", "--rounds", "2")
    assert result.exit_code == 0
    assert "at most 4 of clone: 2, met" in result.stdout
    assert result.stderr == "[1/1] decode: one token\n"
    assert run("bench", "--rounds", "2").stderr.splitlines()[-1] == "[2/2] start: a process"


@pytest.mark.usefixtures("made_up")
def test_json_is_one_line(run):
    line, *others = run("bench", "--only", "decode", "--rounds", "2", "--json").stdout.splitlines()
    assert others == []
    told = json.loads(line)
    assert told["benchmarks"][0]["rows"]["posenc, halves"]["ratio"] == 2.0
    assert [bar["met"] for bar in told["bars"]] == [True]


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_a_wrong_result_is_reported_with_exit_code_1(run, made_up, form):
    made_up(error=3.0)
    result = run("bench", "--quick", "--rounds", "2", *form)
    assert result.exit_code == 1
    why = "decode-float32: posenc, halves is off by 3, 3 times its bound; not timed"
    assert result.stderr.splitlines()[-1] == f"Error: {why}"
    assert why in result.stdout


@pytest.mark.usefixtures("made_up")
def test_a_picture_is_drawn_beside_the_numbers(run, tmp_path):
    pytest.importorskip("matplotlib")
    result = run("bench", "--quick", "--rounds", "2", "--picture", "bench.png")
    assert result.exit_code == 0
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("made_up")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("--only", "decoed"), "no benchmark is called 'decoed'; did you mean decode"),
        (("--only", "import", "--quick"), "--quick has no benchmark called import"),
        (("--picture", "x.gif"), "must end in .png, .svg, .pdf; got 'x.gif'"),
        (("--picture", "none/x.png"), "there is no directory none"),
        (("nope", "--quick"), "--quick cannot be used with an ENCODING"),
        (("nope", "--only", "decode"), "--only cannot be used with an ENCODING"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_timed(run, arguments, why):
    result = run("bench", *arguments)
    assert result.exit_code == 2
    assert why in result.stderr
    assert "[1/" not in result.stderr
