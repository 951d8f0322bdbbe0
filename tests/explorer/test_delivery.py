"""Answers that wait for their readers: their bytes are bounded, and so are the seconds."""

import asyncio

import pytest

from posenc.explorer import delivery
from tests.explorer.asking import Client
from tests.explorer.clock import clock

LARGE = b"e=Sinusoidal(64)&n=4096&view=heatmap"
"""2 MiB as an .npy."""
EXPLAINED = b"e=Sinusoidal(128)&n=512"
"""1.3 MB of JSON, of few enough numbers that the usual crew makes it."""


@pytest.fixture
def client(monkeypatch):
    """One of whose large answers two can be sent: the third has 31 MiB, and they ask for 32."""
    monkeypatch.setattr(delivery, "ANSWERS", delivery.LARGEST + 3 * 2**20)
    one, changed = Client(), delivery.ByteBudget.wait
    one.waiting = asyncio.Event()

    def wait(room):
        one.waiting.set()
        return changed(room)

    monkeypatch.setattr(delivery.ByteBudget, "wait", wait)
    yield one
    one.close()


async def stalled(client, count, path, asked):
    """So many requests whose readers take one piece, and what lets them go on."""
    stop, before = asyncio.Event(), client.stopped
    slow = [asyncio.create_task(client.asked("GET", path, asked, stop=stop)) for _ in range(count)]
    while client.stopped < before + count:
        await asyncio.sleep(0.001)
    client.waiting.clear()  # the second may have waited while the first was made
    return slow, stop


def npy(client, **rest):
    return client.asked("GET", b"/api/v1/export/npy", LARGE, **rest)


def test_a_large_answer_waits_for_room_and_is_told_in_the_end(client):
    async def crowd():
        slow, stop = await stalled(client, 2, b"/api/v1/export/npy", LARGE)
        third = asyncio.create_task(npy(client))
        await client.waiting.wait()
        small = await client.asked("GET", b"/api/v1/view/heatmap", b"e=Sinusoidal(8)&n=8")
        assert not third.done()
        stop.set()
        return small, await third, *await asyncio.gather(*slow)

    answers = client.loop.run_until_complete(crowd())
    assert [answer.status for answer in answers] == [200] * 4
    assert len({answer.body for answer in answers[1:]}) == 1


def test_who_waits_too_long_for_room_is_told(client, monkeypatch):
    monkeypatch.setattr(delivery, "SEND_SECONDS", 2 * delivery.RESERVE_SECONDS)

    async def crowd():
        slow, stop = await stalled(client, 2, b"/api/v1/export/npy", LARGE)
        third = asyncio.create_task(npy(client))
        await client.waiting.wait()
        await clock().forward(delivery.RESERVE_SECONDS)
        stop.set()
        await asyncio.gather(*slow)
        return await third

    answer = client.loop.run_until_complete(crowd())
    assert answer.status == 503
    assert answer.message == "the explorer is busy; ask again in a moment"


def test_slow_readers_lock_nobody_out(client):
    """Each piece had 10 s: four readers kept all others from large views for 21 minutes."""
    assert delivery.SEND_SECONDS < delivery.RESERVE_SECONDS

    async def crowd():
        slow, _ = await stalled(client, 2, b"/api/v1/export/npy", LARGE)
        third = asyncio.create_task(npy(client))
        await client.waiting.wait()
        await clock().forward(delivery.SEND_SECONDS)
        answer = await third
        ended = await asyncio.gather(*slow)  # though nobody reads on
        return answer, ended

    answer, ended = client.loop.run_until_complete(crowd())
    assert answer.status == 200
    assert all(len(short.body) < len(answer.body) for short in ended)


def test_what_the_usual_crew_makes_counts_by_its_bytes(client, monkeypatch):
    """240 readers of 5 MiB each held 1.2 GB."""
    monkeypatch.setattr(delivery, "ANSWERS", 3 * 2**20)
    client = Client()
    client.waiting = asyncio.Event()

    async def crowd():
        one = await client.asked("GET", b"/api/v1/explain", EXPLAINED)
        fit = 3 * 2**20 // len(one.body)
        assert len(one.body) > delivery.CHUNK
        slow, stop = await stalled(client, fit, b"/api/v1/explain", EXPLAINED)
        refused = await client.asked("GET", b"/api/v1/explain", EXPLAINED)
        small = await client.asked("GET", b"/api/v1/tokens", b"text=a+b")
        stop.set()
        await asyncio.gather(*slow)
        again = await client.asked("GET", b"/api/v1/explain", EXPLAINED)
        return refused.status, small.status, again.status

    assert client.loop.run_until_complete(crowd()) == (503, 200, 200)
    client.close()


def test_who_has_hung_up_waits_no_longer(client):
    async def crowd():
        slow, stop = await stalled(client, 2, b"/api/v1/export/npy", LARGE)
        leave = asyncio.Event()
        third = asyncio.create_task(npy(client, leave=leave))
        await client.waiting.wait()
        leave.set()
        assert await third is None  # though there is still no room
        stop.set()
        await asyncio.gather(*slow)
        return await npy(client)

    assert client.loop.run_until_complete(crowd()).status == 200
