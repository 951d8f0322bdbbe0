"""Running benchmarks: what is off is not timed, and when a row can be trusted."""

import pytest

from posenc.bench import run
from posenc.bench.case import Case, Entry, Request, Setup
from posenc.bench.run import check_entries, run_case, run_cases
from tests.bench.made_up import case_of, entry
from tests.bench.test_timing import set_machine


def test_what_of_ours_is_off_is_named_and_not_timed():
    case = case_of(copy=Entry(int), posenc=entry(3.0, ours=True), other=entry(0.5))
    result = run_case(case, Request(), rounds=2)
    assert list(result["rows"]) == ["copy", "other"]
    assert result["wrong"] == ["made-up: posenc is off by 3, 3 times its bound; not timed"]
    assert run_cases([case], Request(), rounds=2)["trusted"] is False


def test_what_of_others_is_off_is_a_note():
    case = case_of(copy=Entry(int), posenc=entry(0.5, ours=True), other=entry(4.0))
    result = run_case(case, Request(), rounds=2)
    assert list(result["rows"]) == ["copy", "posenc"]
    assert result["wrong"] == []
    assert result["notes"] == ["other is off by 4, 4 times its bound; not timed"]


def test_a_convention_is_told_where_it_is_less_exact_than_ours():
    ours = entry(0.5, ours=True)
    less, more = (entry(e, convention="float8") for e in (0.75, 0.25))
    named = {"copy": Entry(int), "posenc": ours, "less": less, "more": more}
    right, errors, notes, wrong = check_entries(named.items())
    assert list(right) == list(named)
    assert errors == {"copy": None, "posenc": 0.5, "less": 0.75, "more": 0.25}
    assert notes == ["Less exact than ours, off by 0.5: less by 0.75 (float8)"]
    assert wrong == []


@pytest.mark.parametrize("ours", [True, False])
def test_nothing_is_timed_beside_a_baseline_that_is_off(ours):
    result = run_case(case_of(first=entry(3.0, ours=ours), posenc=entry(0.0)), Request())
    assert result["rows"] == {}
    assert result["wrong"] == ["made-up: first is off by 3, 3 times its bound; not timed"]


@pytest.mark.parametrize(("others", "steady"), [(0.0, True), (1.0, True), (1.1, False)])
def test_rows_are_unsteady_while_others_take_more_than_half_of_the_cores(
    monkeypatch, others, steady
):
    set_machine(monkeypatch, 0.0)
    monkeypatch.setattr(run.Watch, "others", lambda self: others)
    times = {"copy": [1.0, 1.0], "posenc": [2.0, 2.0]}
    monkeypatch.setattr(run, "time_interleaved", lambda work, **options: times)
    case = case_of(copy=Entry(int), posenc=entry(0.0, ours=True))
    data = run_cases([case], Request(), rounds=2)
    rows = data["benchmarks"][0]["rows"]
    assert [row["steady"] for row in rows.values()] == [steady, steady]
    assert rows["posenc"]["ratio"] == 2.0
    assert data["trusted"] is steady


def test_a_round_may_be_a_process_of_its_own():
    rounds = iter([{"a": 1.0, "b": 3.0}, {"a": 2.0, "b": 4.0}])
    entries = {"a": Entry(int), "b": Entry(int, ours=True)}
    setup = Setup(entries, sample=lambda: next(rounds))
    case = Case("made-up", "group", "work", lambda request: setup)
    rows = run_case(case, Request(), rounds=2)["rows"]
    assert (rows["a"]["seconds"], rows["b"]["seconds"]) == (1.5, 3.5)


def test_progress_is_told_before_each_case():
    told = []
    case = case_of(copy=Entry(int))
    run_cases([case, case], Request(), rounds=1, progress=lambda *each: told.append(each))
    assert told == [(0, 2, case), (1, 2, case)]
