"""How timings are taken, and when they can be trusted."""

import gc
from itertools import chain, repeat

import pytest

from posenc.bench import timing
from posenc.bench.timing import machine_load, spread, summarize, time_interleaved


def test_rounds_are_interleaved_and_every_second_one_runs_backwards():
    calls = []
    time_interleaved({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, rounds=3)
    # once each, to see how long it takes; then each is called before it is timed
    assert "".join(calls) == "ab" + "aabb" + "bbaa" + "aabb"


def test_what_others_leave_behind_is_not_timed():
    """Work that takes longer after other work, and the time that it takes after itself."""
    last = []

    def run(name):
        def function():
            clock.now += 1.0 if last == [name] else 9.0
            last[:] = [name]

        return function

    with pytest.MonkeyPatch.context() as patch:
        clock = Clock(patch)
        times = time_interleaved({name: run(name) for name in "abc"}, rounds=4)
    assert times == {name: [1.0] * 4 for name in "abc"}


def test_rounds_go_on_while_there_is_time(monkeypatch):
    clock = Clock(monkeypatch)
    times = time_interleaved({"a": clock.work(repeat(0.5))}, rounds=2, most=100, seconds=5.0)
    assert times == {"a": [0.5] * 5}
    times = time_interleaved({"a": clock.work(repeat(1.0))}, rounds=2, most=3, seconds=5.0)
    assert times == {"a": [1.0] * 3}
    times = time_interleaved({"a": clock.work(repeat(9.0))}, rounds=2, most=100, seconds=5.0)
    assert times == {"a": [9.0] * 2}


def test_short_work_is_repeated_within_a_sample(monkeypatch):
    clock, calls = Clock(monkeypatch), []

    def run():
        calls.append(1)
        clock.now += 2.0**-20

    times = time_interleaved({"a": run}, rounds=1, sample=2.0**-10)
    assert times == {"a": [2.0**-20]}
    # one, one alone, enough of them, one that is not timed, a round
    assert len(calls) == 1 + 1 + 1024 + 1 + 1024


def test_nothing_is_collected_between_rounds():
    seen = []
    time_interleaved({"a": lambda: seen.append(gc.isenabled())}, rounds=1)
    assert seen == [False] * 3
    assert gc.isenabled()


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
    work = {
        name: clock.work(chain([99.0], *([99.0, each] for each in times)))  # every second is timed
        for name, times in seconds.items()
    }
    errors = dict.fromkeys(work, 0.0)
    return summarize(time_interleaved(work, rounds=len(ROUNDS)), errors)


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
    assert machine_load() == {"load": load, "cores": 2, "busy": busy}


def test_a_system_without_a_load_average_is_not_called_busy(monkeypatch):
    def refuse():
        raise OSError

    monkeypatch.setattr(timing.os, "getloadavg", refuse, raising=False)
    assert (machine_load()["load"], machine_load()["busy"]) == (None, False)
    monkeypatch.delattr(timing.os, "getloadavg")
    assert (machine_load()["load"], machine_load()["busy"]) == (None, False)


def set_machine(monkeypatch, load):
    monkeypatch.setattr(timing.os, "getloadavg", lambda: (load, 0.0, 0.0), raising=False)
    monkeypatch.setattr(timing.os, "sched_getaffinity", lambda pid: {0, 1}, raising=False)
