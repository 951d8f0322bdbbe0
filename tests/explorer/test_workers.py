"""Work is bounded: threads, those who wait, time; and nothing that goes wrong stays."""

import asyncio
import sys
import threading
import time
from functools import partial

import pytest

import posenc as pe
from posenc import checks
from posenc.explorer import exports, verdicts
from posenc.explorer.cache import SharedCache
from posenc.explorer.parameters import RequestError
from posenc.explorer.workers import Workers
from tests.explorer.asking import Client, small_crew
from tests.explorer.clock import clock, run


def running():
    return {thread for thread in threading.enumerate() if thread.name == "posenc-worker"}


@pytest.fixture
def begun():
    """How many threads of a crew began in this test and run; those of others may end meanwhile."""
    before = running()
    return lambda: len(running() - before)


def wait_until(condition, seconds=60.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


@pytest.fixture
def release():
    """Set, it ends all that waits for it."""
    event = threading.Event()
    yield event
    event.set()


def test_no_more_threads_than_allowed_and_none_is_left(begun):
    most, lock, now = 0, threading.Lock(), 0
    three = threading.Barrier(3)  # of the work at hand; of 99, so that none is left to wait alone

    def work():
        nonlocal most, now
        with lock:
            now += 1
            most = max(most, now)
        three.wait(60)
        with lock:
            now -= 1
        return 7

    async def many():
        workers = Workers(3, waiting=99, seconds=60.0)
        made = await asyncio.gather(*(workers.run(work) for _ in range(99)))
        assert begun() == 3
        workers.close()
        return made

    assert asyncio.run(many()) == [7] * 99
    assert most == 3
    wait_until(lambda: begun() == 0)


def test_who_comes_behind_too_many_is_told(release):
    async def many():
        workers = Workers(1, waiting=2, seconds=5.0)
        first = [asyncio.create_task(workers.run(release.wait)) for _ in range(3)]
        await asyncio.sleep(0.05)
        with pytest.raises(RequestError, match="busy") as refusal:
            await workers.run(lambda: 1)
        assert refusal.value.status == 503
        release.set()
        await asyncio.gather(*first)
        assert await workers.run(lambda: 2) == 2
        workers.close()

    asyncio.run(many())


def test_what_takes_too_long_is_refused_and_others_go_on(release, begun):
    async def slow():
        workers = Workers(1, waiting=8, seconds=0.5)
        with pytest.raises(RequestError, match=r"takes longer than 0\.5 seconds") as refusal:
            await workers.run(release.wait)
        assert refusal.value.status == 503
        assert await workers.run(lambda: "still here") == "still here"
        with pytest.raises(
            RequestError, match="longer"
        ):  # no more threads are left behind than there are
            await workers.run(release.wait)
        assert begun() <= 2
        with pytest.raises(RequestError, match="busy"):
            await workers.run(lambda: 1)
        release.set()
        while begun() > 1:  # those that were given up have yet to end
            await asyncio.sleep(0.01)
        assert await workers.run(lambda: "again") == "again"
        workers.close()

    asyncio.run(slow())
    wait_until(lambda: begun() == 0)


def test_the_time_in_the_queue_is_not_that_of_the_work():
    begun, released = ([threading.Event() for _ in range(3)] for _ in range(2))

    def work(number):
        begun[number].set()
        return released[number].wait(120)

    async def many():
        workers = Workers(1, waiting=5, seconds=1_000.0)
        jobs = [asyncio.create_task(workers.run(partial(work, each))) for each in range(3)]
        for job, began, release in zip(jobs, begun, released, strict=True):
            while not began.is_set():
                await asyncio.sleep(0.001)
            # the third begins after 1,200 seconds, which is longer than any may take, and ends
            # before the 2,000 that it may wait
            await clock().forward(600.0)
            release.set()
            assert await job
        workers.close()

    run(many())


def test_closing_tells_those_who_wait(release):
    async def stop():
        workers = Workers(1, waiting=5, seconds=30.0)
        tasks = [asyncio.create_task(workers.run(release.wait)) for _ in range(3)]
        await asyncio.sleep(0.05)
        workers.close()
        told = await asyncio.gather(*tasks, return_exceptions=True)
        assert [str(error) for error in told] == ["the explorer is stopping"] * 3
        with pytest.raises(RequestError, match="stopping"):
            await workers.run(lambda: 1)

    asyncio.run(stop())


@pytest.mark.parametrize("error", [ValueError("x"), StopIteration(), KeyboardInterrupt()])
def test_whatever_is_raised_arrives_and_the_thread_lives(error):
    def work():
        raise error

    async def fail():
        workers = Workers(1, waiting=1, seconds=5.0)
        with pytest.raises((ValueError, RuntimeError)):
            await workers.run(work)
        with pytest.raises(RuntimeError, match="SystemExit"):
            await workers.run(sys.exit)
        assert await workers.run(lambda: 3) == 3
        workers.close()

    asyncio.run(fail())


def test_memory_that_there_is_not_is_a_sentence():
    def work():
        raise MemoryError

    async def fail():
        workers = Workers(1, waiting=1, seconds=5.0)
        with pytest.raises(RequestError, match="memory"):
            await workers.run(work)
        workers.close()

    asyncio.run(fail())


class Sleeping(pe.Additive):
    """An encoding of someone's own that may hang, fail, or hold a list."""

    dim = 8

    def __init__(self, wait=lambda: None):
        self.wait = wait

    def encode(self, positions, params=None, *, dtype=None):
        self.wait()
        return pe.Sinusoidal(8).encode(positions, dtype=dtype)


def test_a_slow_request_is_503_and_the_next_is_answered(release):
    begun = threading.Event()

    def wait():
        begun.set()
        release.wait(120)

    client = Client(loaded={"mine": Sleeping(wait)}, crew=small_crew(seconds=1_000.0))

    async def slow():
        asking = asyncio.create_task(client.asked("GET", b"/api/v1/view/heatmap", b"e=mine"))
        while not begun.is_set():
            await asyncio.sleep(0.001)
        await clock().forward(1_000.0)
        return await asking

    answer = client.loop.run_until_complete(slow())
    assert answer.status == 503
    assert answer.message == "this takes longer than 1000 seconds; ask for less"
    assert client.get("/api/v1/tokens", text="a b").status == 200
    release.set()
    client.close()


def test_a_page_to_save_does_not_wait_for_checks(release, monkeypatch):
    checking, check = threading.Event(), checks.check
    # A check is given up after 20 s, which a page to save may take on a busy machine.
    monkeypatch.setattr(checks, "check", lambda *of, seed: check(*of, seed=seed, limit=600.0))
    monkeypatch.setattr(verdicts, "_check_in_process", lambda *_: {"rows": []})  # those of the page
    monkeypatch.setattr(
        verdicts, "REPORTS", SharedCache(1)
    )  # or other tests would be given these rows

    def wait():
        checking.set()
        release.wait()

    client = Client(loaded={"mine": Sleeping(wait)}, crew=small_crew(seconds=60.0))

    async def both():
        check = asyncio.create_task(client.asked("GET", b"/api/v1/check", b"e=mine"))
        while not checking.is_set():
            await asyncio.sleep(0.01)
        two = b"e=Sinusoidal(8)&e=Sinusoidal(4)&n=2"
        saved = await client.asked("GET", b"/api/v1/export/html", two)
        assert not check.done()
        release.set()
        await check
        return saved

    assert client.loop.run_until_complete(both()).status == 200
    client.close()


@pytest.mark.parametrize(
    ("path", "asked"),
    [
        ("view/heatmap", b"n=4096"),
        ("view/heatmap.npy", b"n=4096"),
        ("explain", b"n=512"),
        ("export/npy", b"n=4096"),
        ("export/png", b"n=8"),
        ("export/svg", b"n=8"),
    ],
)
def test_small_answers_do_not_wait_for_large_ones(release, path, asked):
    """Two large tables kept /tokens waiting for 16 s."""
    begun = threading.Semaphore(0)

    def wait():
        begun.release()
        release.wait()

    mine = Sleeping(wait)
    mine.dim = 512
    client = Client(loaded={"mine": mine}, crew=small_crew(seconds=60.0))

    async def both():
        address = f"/api/v1/{path}".encode()
        large = asyncio.create_task(client.asked("GET", address, b"e=mine&" + asked))
        while not begun.acquire(blocking=False):
            assert not large.done(), large.result()
            await asyncio.sleep(0.01)
        told = await client.asked("GET", b"/api/v1/tokens", b"text=a+b")
        seen = await client.asked("GET", b"/api/v1/view/heatmap", b"e=Sinusoidal(8)&n=8")
        assert not large.done()
        release.set()
        await large
        return told.status, seen.status

    assert client.loop.run_until_complete(both()) == (200, 200)
    client.close()


def test_small_answers_do_not_wait_for_tables(release, monkeypatch):
    """Whose seconds are spent while they are sent, piece by piece."""
    begun = threading.Semaphore(0)

    def pieces(made, text):
        yield "first\n"
        begun.release()
        release.wait(120)
        yield "last\n"

    monkeypatch.setattr(exports, "csv_pieces", pieces)
    client = Client(crew=small_crew(waiting=8, seconds=60.0))
    asked = {"large": b"e=Sinusoidal(512)&n=1024&view=heatmap", "usual": b"e=Sinusoidal(8)&n=8"}

    async def both():
        tables = [
            asyncio.create_task(client.asked("GET", b"/api/v1/export/csv", of))
            for of in asked.values()
        ]
        for _ in tables:
            while not begun.acquire(blocking=False):
                await asyncio.sleep(0.01)
        told = await client.asked("GET", b"/api/v1/tokens", b"text=a+b")
        seen = await client.asked("GET", b"/api/v1/view/heatmap", b"e=Sinusoidal(8)&n=8")
        assert not any(table.done() for table in tables)
        release.set()
        got = await asyncio.gather(*tables)
        return told.status, seen.status, {table.body for table in got}

    whole = "\ufefffirst\nlast\n".encode()
    assert client.loop.run_until_complete(both()) == (200, 200, {whole})
    client.close()


@pytest.mark.parametrize("path", ["view/heatmap", "cell", "explain", "check", "export/csv"])
def test_an_encoding_that_fails_is_a_sentence(path):
    def fail():
        raise KeyError("oops")

    client = Client(loaded={"mine": Sleeping(fail), "fine": Sleeping()})
    answer = client.get(f"/api/v1/{path}", e="mine")
    if path == "check":
        assert answer.json["ok"] is False
    else:
        assert answer.status == 400
        assert answer.message == "mine, which you loaded, failed: KeyError: 'oops'"
    assert client.get(f"/api/v1/{path}", e="fine").status == 200
    client.close()


def test_loaded_encodings_are_listed_by_name_and_only_by_name():
    client = Client(loaded={"mine": Sleeping()})
    groups = client.get("/api/v1/encodings").json["groups"]
    (row,) = [r for group in groups for r in group["encodings"] if r["loaded"]]
    assert (row["name"], row["expression"], row["fields"]) == ("mine", "mine", [])
    assert client.get("/api/v1/view/heatmap", e="Sleeping()").status == 400
    assert client.get("/api/v1/spell", e="mine", **{"set.dim": 4}).status == 400
    code = client.get("/api/v1/export/py", e="mine").body.decode()
    assert "mine['mine']" in code
    client.close()
