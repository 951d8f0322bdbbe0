"""`make bench-regress`: what became slower, by time or by the number of calls."""

import json

import pytest

from posenc.bench.case import Case, Entry, Setup
from tests.bench import regress
from tests.bench.regress import count_calls, count_case, main


def two(x):
    return abs(x) + abs(x)


def test_calls_of_python_and_of_c_are_counted():
    assert count_calls(lambda: None) == 1
    assert count_calls(lambda: two(1)) == 4


def test_only_ours_are_counted_and_what_is_made_once_is_not():
    made = []

    def ours():
        if not made:
            made.append(two(1))

    entries = {"copy": Entry(int), "posenc": Entry(ours, ours=True)}
    case = Case("work", "group", "", lambda request: Setup(entries))
    assert count_case(case) == {"work: posenc": 1}


@pytest.fixture
def bench(monkeypatch, tmp_path, capsys):
    """Runs the command on timings that were made up, with what was recorded before."""
    monkeypatch.setattr(regress, "RATIOS", tmp_path / "ratios.json")
    monkeypatch.setattr(regress, "describe_machine", dict)
    monkeypatch.setattr(regress, "name_class", lambda machine: "here")
    case = Case("work", "group", "", lambda request: Setup({}), quick=True)
    monkeypatch.setattr(regress, "choose", lambda quick: [case])

    def run(*ratios, calls=100, steady=True, wrong=(), arguments=()):
        left = iter(ratios)

        def run_case(case, request):
            row = {"ours": True, "steady": steady, "ratio": next(left)}
            rows = {"copy": row | {"ours": False, "ratio": 1.0}, "posenc": row}
            return {"wrong": list(wrong), "rows": rows}

        monkeypatch.setattr(regress, "run_case", run_case)
        monkeypatch.setattr(regress, "count_case", lambda case: {"work: posenc": calls})
        monkeypatch.setattr("sys.argv", ["regress", *arguments])
        try:
            main()
        except SystemExit as end:
            code = end.code
        else:
            code = 0
        assert next(left, None) is None
        return code, capsys.readouterr().out

    return run


def test_the_first_run_on_a_machine_records(bench):
    code, told = bench(1.2345)
    assert code == 0
    assert "recorded 1 ratios and 1 counts of calls for here" in told
    kept = json.loads(regress.RATIOS.read_text())
    assert kept == {"here": {"ratios": {"work: posenc": 1.234}, "calls": {"work: posenc": 100}}}


def test_no_ratio_is_recorded_of_an_unsteady_row(bench):
    bench(1.2, steady=False)
    assert json.loads(regress.RATIOS.read_text())["here"]["ratios"] == {}


def test_a_row_within_the_margin_passes(bench):
    bench(1.0)
    code, told = bench(1.25)
    assert (code, told.splitlines()[-1]) == (0, "nothing became slower")
    assert "compared 1 ratios, margin 25%; 0 too unsteady" in told


def test_a_row_that_is_slower_twice_fails(bench):
    bench(1.0)
    code, told = bench(1.3, 1.26)
    assert code == 1
    assert told.splitlines()[-1] == "work: posenc: 1.3, was 1 of its baseline"


def test_a_row_that_is_slower_once_passes(bench):
    bench(1.0)
    code, told = bench(1.3, 1.1)
    assert code == 0
    assert "measuring again: work: posenc" in told


def test_an_unsteady_row_is_held_by_its_calls(bench):
    bench(1.0, calls=100)
    assert bench(9.0, calls=105, steady=False)[0] == 0
    code, told = bench(9.0, calls=106, steady=False)
    assert code == 1
    assert told.splitlines()[-1] == "work: posenc: 106 calls, were 100"


def test_recording_again_replaces(bench):
    bench(1.0)
    assert bench(2.0, arguments=["--record"])[0] == 0
    assert bench(2.1)[0] == 0


def test_a_wrong_result_is_no_matter_of_speed(bench):
    with pytest.raises(ArithmeticError, match="work: posenc is off"):
        bench(1.0, wrong=["work: posenc is off"])
