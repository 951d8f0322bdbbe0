"""The driver: only what is missing is made, and every outcome is kept."""

from dataclasses import replace

import pytest

from posenc.lab import driver
from posenc.lab.driver import Progress, estimate_work, execute, format_seconds
from posenc.lab.engines import Advance
from posenc.lab.record import Failure
from posenc.lab.store import Store
from tests.lab.runs import TINY, make_record

GRID = [replace(TINY, seed=seed) for seed in range(3)]


class Engine:
    """Makes up records, and remembers what it was asked for."""

    def __init__(self, *, fail=(), then=None):
        self.asked, self.fail, self.then, self.closed = [], fail, then, False

    def __call__(self, todo, store, *, processes):
        try:
            for settings in todo:
                self.asked.append(settings.seed)
                yield Advance(settings, 6, 0.5)
                if settings.seed in self.fail:
                    yield Failure(settings, "it broke")
                else:
                    yield make_record(seed=settings.seed)
                if self.then is not None:
                    raise self.then
        finally:
            self.closed = True


def test_finished_runs_are_not_made_again(tmp_path):
    store, engine = Store.create(tmp_path), Engine()
    store.write(make_record(seed=1))
    told = []
    assert execute(GRID, store, engine, processes=1, tell=lambda p, e: told.append((p.done, e)))
    assert engine.asked == [0, 2]
    assert [done for done, _ in told] == [1, 2, 2, 3]
    assert execute(GRID, store, Engine(then=AssertionError), processes=1)
    assert store.list_finished() == {settings.key for settings in GRID}


def test_failures_are_kept_and_tried_again(tmp_path):
    store = Store.create(tmp_path)
    assert not execute(GRID, store, Engine(fail={1}), processes=1)
    assert [f.error for f in store.read_failures()] == ["it broke"]
    again = Engine()
    assert execute(GRID, store, again, processes=1)
    assert again.asked == [1]
    assert store.read_failures() == []


def test_an_interruption_loses_nothing_that_was_finished(tmp_path):
    store, engine = Store.create(tmp_path), Engine(then=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        execute(GRID, store, engine, processes=1)
    assert store.list_finished() == {GRID[0].key}
    assert engine.closed


def test_time_that_is_up_ends_the_engine(tmp_path):
    store, engine = Store.create(tmp_path), Engine()
    assert not execute(GRID, store, engine, processes=1, minutes=0)
    assert engine.asked == [0]
    assert engine.closed


def test_time_left_follows_the_work_that_is_done(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(driver.time, "monotonic", lambda: now[0])
    short, long = TINY, replace(TINY, steps=36, seed=1)
    assert estimate_work(long) == 3 * estimate_work(short)
    progress = Progress.of([short, long], [short, long])
    assert progress.seconds_left is None
    progress.note(Advance(short, 1, 0.5))
    progress.note(Advance(short, 6, 0.5))
    now[0] += 10.0
    assert progress.seconds_left == pytest.approx(70)  # half of a quarter took 10 seconds
    progress.note(make_record())
    assert progress.seconds_left == pytest.approx(30)
    progress.note(Advance())
    assert (progress.done, progress.failed) == (1, 0)


def test_what_a_checkpoint_had_took_no_time(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(driver.time, "monotonic", lambda: now[0])
    progress = Progress.of(GRID[:2], GRID[:2])
    progress.note(Advance(GRID[0], 9, 0.5))  # it goes on after the eighth of 12 steps
    progress.note(Advance(GRID[0], 10, 0.5))
    now[0] += 10.0
    assert progress.seconds_left == pytest.approx(70), "14 steps at 5 seconds each"
    progress.note(make_record())
    now[0] += 10.0
    assert progress.seconds_left == pytest.approx(60), "12 steps; 4 took 20 seconds"


def test_times_are_for_people():
    assert [format_seconds(s) for s in (0.4, 99, 100, 3600)] == [
        "0 s",
        "99 s",
        "2 min",
        "1 h 00 min",
    ]
