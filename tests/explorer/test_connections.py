"""Who sends half a request, or does not read the answer, is cut off and keeps nobody waiting."""

import asyncio
import contextlib
import socket

import pytest
import uvicorn
from uvicorn.server import ServerState

from posenc.explorer.connections import Connection
from tests.explorer.clock import clock, run, turns

PIECE = 2**18
HEAD = b"GET / HTTP/1.1\r\nHost: x\r\n"
LONG = 3_600.0


class Counting(Connection):
    """A connection that counts what has come."""

    taken = 0

    def data_received(self, data):
        super().data_received(data)
        self.taken += len(data)


class Endless:
    """An application that reads a body and then sends pieces without end."""

    def __init__(self):
        self.sent, self.ended = 0, asyncio.Event()

    async def __call__(self, scope, receive, send):
        try:
            while (message := await receive())["type"] != "http.disconnect":
                if not message.get("more_body"):
                    break
            else:
                return
            await send({"type": "http.response.start", "status": 200, "headers": []})
            # as Starlette does: who hangs up while it sends is noticed
            gone = asyncio.ensure_future(receive())
            while not gone.done():
                body = {"type": "http.response.body", "body": bytes(PIECE), "more_body": True}
                await send(body)
                self.sent += PIECE
                await asyncio.sleep(0)
        finally:
            self.ended.set()


async def small(scope, receive, send):
    headers = [(b"content-length", b"2")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def serving(app, **times):
    """Connections to an application, whose time-outs are up when the clock is put forward."""
    kind = type("Timed", (Counting,), {"REQUEST_SECONDS": LONG, "WRITE_SECONDS": LONG} | times)
    config, state = uvicorn.Config(app, http=kind, lifespan="off", log_level="error"), ServerState()
    loop = asyncio.get_running_loop()
    made = await loop.create_server(lambda: kind(config, state, {}), "127.0.0.1", 0)
    try:
        yield made.sockets[0].getsockname()[1], state
    finally:
        made.close()
        for connection in list(state.connections):
            connection.transport.abort()
        await asyncio.gather(*state.tasks, return_exceptions=True)
        await turns()  # until what was cut off is lost


@contextlib.asynccontextmanager
async def connected(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()


async def told(port, sent):
    """All that comes back until the server hangs up."""
    async with connected(port) as (reader, writer):
        writer.write(sent)
        with contextlib.suppress(ConnectionError):
            return await reader.read()
    return b""


async def arrived(state, count):
    """The one connection, as soon as so many bytes of a request have come."""
    while not state.connections or next(iter(state.connections)).taken < count:
        await asyncio.sleep(0)
    (connection,) = state.connections
    return connection


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET",
        HEAD,
        HEAD + b"Content-Length: 9\r\n\r\n",
        HEAD + b"Content-Length: 9\r\n\r\nhalf",
        HEAD + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
    ],
)
def test_who_sends_half_a_request_is_cut_off(sent):
    async def half():
        async with serving(Endless()) as (port, state), connected(port) as (reader, writer):
            writer.write(sent)
            connection = await arrived(state, len(sent))
            await clock().forward(0.9 * LONG)
            assert not connection.transport.is_closing()
            await clock().forward(0.1 * LONG)
            assert connection.transport.is_closing()
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""
            assert not state.connections

    run(half())


def test_a_byte_now_and_then_gains_no_time():
    async def trickle():
        async with serving(Endless()) as (port, state), connected(port) as (_, writer):
            writer.write(HEAD)
            connection = await arrived(state, len(HEAD))
            for count in range(1, 4):
                await clock().forward(0.3 * LONG)
                writer.write(b"X")
                await arrived(state, len(HEAD) + count)
            assert not connection.transport.is_closing()
            await clock().forward(0.1 * LONG)
            assert connection.transport.is_closing()

    run(trickle())


def test_the_rest_of_a_body_that_was_not_needed_is_not_waited_for():
    async def rest():
        async with serving(small) as (port, state), connected(port) as (reader, writer):
            asked, more = HEAD + b"Content-Length: 99\r\n\r\n", b"a little more"
            writer.write(asked)
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            writer.write(more)
            connection = await arrived(state, len(asked + more))
            await clock().forward(LONG)
            assert connection.transport.is_closing()
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""

    run(rest())


def test_work_for_a_whole_request_is_not_timed():
    release = None

    async def late(scope, receive, send):
        await release.wait()
        await small(scope, receive, send)

    async def wait():
        nonlocal release
        release = asyncio.Event()
        async with serving(late) as (port, state):
            answer = asyncio.ensure_future(told(port, HEAD + b"Connection: close\r\n\r\n"))
            while not state.tasks:
                await asyncio.sleep(0)
            await clock().forward(10 * LONG)
            (connection,) = state.connections
            assert connection.deadline() == float("inf")
            release.set()
            assert (await answer).endswith(b"ok")

    run(wait())


async def stalled(port):
    """A connection that asks and never reads."""
    asking = socket.create_connection(("127.0.0.1", port))
    asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    asking.sendall(HEAD + b"\r\n")
    return asking


def test_who_does_not_read_is_cut_off_and_holds_one_piece():
    async def slow():
        app = Endless()
        async with serving(app) as (port, state):
            asking = await stalled(port)
            held = [0]
            while not app.ended.is_set():  # for ever, without a time-out
                held += [c.transport.get_write_buffer_size() for c in state.connections]
                if held[-1]:  # the reader's time passes while something waits for it
                    await clock().forward(0.1 * LONG)
                await asyncio.sleep(0)
            asking.close()
            # 64 bytes: the frame of a chunk. Without a bound of its own the transport would hold
            # another 64 KiB before it says that it is full
            assert 0 < max(held) <= PIECE + 64

    run(slow())


def test_half_sent_requests_make_room_for_whole_ones():
    async def half():
        crowd = contextlib.AsyncExitStack()
        async with serving(small, MOST=20) as (port, state), crowd:
            for _ in range(60):
                _, writer = await crowd.enter_async_context(connected(port))
                writer.write(HEAD)
            answer = await told(port, HEAD + b"Connection: close\r\n\r\n")
            assert answer.startswith(b"HTTP/1.1 200")
            assert len(state.connections) <= 20

    run(half())


def test_readers_that_stall_make_room_too():
    async def crowd():
        app = Endless()
        async with serving(app, MOST=3) as (port, state):
            asking = [await stalled(port) for _ in range(3)]
            # until each waits for its reader: one that was yet to ask would give way unseen
            while sum(c.transport.get_write_buffer_size() > 0 for c in state.connections) < 3:
                await asyncio.sleep(0)
            asking.append(await stalled(port))
            await app.ended.wait()
            for each in asking:
                each.close()

    run(crowd())
