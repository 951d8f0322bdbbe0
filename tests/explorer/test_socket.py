"""What comes over a socket and is no proper HTTP: refused or cut off, never a 5xx, and it lives."""

import contextlib
import json
import random
import re
import socket
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.explorer.malformed import Malformed, drawn
from tests.explorer.serving import page, started

SOON, LATE = 0.15, 30.0
"""Seconds: who sends half a request is not answered, who sends a whole one is."""
WHOLE = b"GET /api/v1/tokens?text=a+b HTTP/1.1\r\nHost: 127.0.0.1\r\n"


def framed(rng: random.Random, asked: Malformed) -> tuple[bytes, float]:
    """The request as bytes, some with a broken line, header, length or end; and our patience."""
    head = b"%s %s?%s HTTP/1.1" % (asked.method.encode("latin-1"), asked.path, asked.query)
    headers = [b"%s: %s" % header for header in asked.headers]
    if asked.body:
        headers.append(b"content-length: %d" % len(asked.body))
    sent = b"\r\n".join([head, *headers, b"connection: close", b"", b""]) + asked.body
    match rng.randrange(12):
        case 0:
            return sent[: rng.randrange(len(sent))], SOON  # cut off
        case 1:
            at = rng.randrange(len(sent))
            return sent[:at] + rng.randbytes(rng.randrange(1, 9)) + sent[at:], SOON
        case 2:
            return rng.randbytes(rng.randrange(1, 400)) + b"\r\n\r\n", SOON
        case 3:
            return rng.choice(BROKEN), SOON
        case _:
            return sent, LATE


BROKEN = [
    b"\r\n\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /\r\n\r\n",
    b"GET  / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64,  # what begins with TLS
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    WHOLE + b"Content-Length: -1\r\n\r\n",
    WHOLE + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    WHOLE + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    WHOLE + b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx\r\n0\r\n\r\n",
    WHOLE + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n",
    WHOLE + b"Transfer-Encoding: gzip\r\n\r\n",
    WHOLE + b"Expect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
    WHOLE + b"Upgrade: websocket\r\nConnection: upgrade\r\nSec-WebSocket-Key: x\r\n\r\n",
    WHOLE + b"X" * 70_000 + b": y\r\n\r\n",
    WHOLE + b"X: " + b"y" * 70_000 + b"\r\n\r\n",
    WHOLE + b"X: y\r\n" * 5_000 + b"\r\n",
    WHOLE + b" folded: no\r\n\r\n",
    WHOLE + b"X\x00Y: z\r\n\r\n",
    WHOLE.replace(b"\r\n", b"\n") + b"\n",
    b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"GET http://elsewhere/api/v1/tokens HTTP/1.1\r\nHost: elsewhere\r\n\r\n",
    b"GET * HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    WHOLE + b"\r\n" + WHOLE + b"\r\n" + b"\xff" * 20 + b"\r\n\r\n",  # after two that are right
    b"POST /api/v1/config HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n{",
    b"POST /api/v1/config HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n{}",
]


def told(port: int, sent: bytes, patience: float = LATE) -> bytes:
    """All that comes back until the server hangs up, or we do."""
    got = bytearray()
    cut = (ConnectionError, TimeoutError) if patience == SOON else (ConnectionError,)
    connection = socket.create_connection(("127.0.0.1", port), timeout=patience)
    with connection, contextlib.suppress(*cut):
        connection.sendall(sent)
        while part := connection.recv(65_536):
            got += part
    return bytes(got)


def fuzzed(port: int, count: int, seed: int) -> Counter[str]:
    rng, statuses = random.Random(seed), Counter()
    requests = [framed(rng, drawn(rng)) for _ in range(count)]
    requests[: len(BROKEN)] = [(sent, SOON) for sent in BROKEN]
    with ThreadPoolExecutor(4) as pool:  # most of the time goes in waiting for no answer
        answers = list(pool.map(lambda asked: told(port, *asked), requests))
    for number, ((sent, _), got) in enumerate(zip(requests, answers, strict=True)):
        what = f"request {number} of seed {seed}: {sent[:300]!r}: {got[:300]!r}"
        found = re.match(rb"HTTP/1\.1 (\d{3}) ", got)
        assert found or not got, what
        status = found[1].decode() if found else "nothing"
        statuses[status] += 1
        assert status < "500" or status == "nothing", what
        assert b"Traceback" not in got, what
        assert b'File "' not in got, what
    return statuses


def checked(static, count, seed):
    with started(page(static)) as explorer:
        statuses = fuzzed(explorer.port, count, seed)
        alive = told(explorer.port, WHOLE + b"Connection: close\r\n\r\n")
        assert explorer.process.poll() is None
        said = explorer.interrupt()
    _, _, body = alive.partition(b"\r\n\r\n")
    assert [token["text"] for token in json.loads(body)["tokens"]] == ["a", "b"]
    assert "Traceback" not in said, said[-6_000:]
    return statuses


def test_a_few_broken_requests_over_a_socket(tmp_path):
    statuses = checked(tmp_path, 120, seed=0)
    assert statuses["200"] > 10
    assert statuses["400"] > 20


def test_hundreds_of_half_sent_requests_lock_nobody_out(tmp_path):
    """With 512 of them others were refused for as long as they lasted."""
    with started(page(tmp_path)) as explorer, contextlib.ExitStack() as stack:
        for _ in range(520):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", explorer.port)))
            half.sendall(WHOLE)
        answer = told(explorer.port, WHOLE + b"Connection: close\r\n\r\n")
        assert answer.startswith(b"HTTP/1.1 200 ")


@pytest.mark.explorer_slow
def test_thousands_of_broken_requests_over_a_socket(tmp_path):
    print(f"\nover a socket: {dict(checked(tmp_path, 4_000, seed=1))}")
