"""The largest requests that are accepted, of each kind: the memory that they take is bounded."""

import contextlib
import json
import os
import socket
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from posenc.explorer import delivery
from posenc.explorer.replies import STATIC
from tests.explorer.serving import page, started
from tests.slow import slow

MOST = 256 * 2**20
WORST = [
    ("heatmap", ["Sinusoidal(512)"], 8_192),
    ("heatmap", ["RoPE(128)"] * 4, 8_192),
    ("waves", ["Sinusoidal(4096)"], 1_024),
    ("waves", ["RoPE(1024)", "RoPE(1022)", "RoPE(1020)", "RoPE(1018)"], 1_024),
    ("similarity", ["RoPE(2048)"], 2_048),
    ("similarity", ["RoPE(1024)"] * 4, 1_024),
    ("rotation", ["RoPE(512)"], 8_192),
    ("decay", ["RoPE(4096)"], 1_024),
    ("decay", ["RoPE(128)"] * 4, 8_192),
    ("sum", ["Sinusoidal(170)"], 8_192),
    ("sum", ["Sinusoidal(42)"] * 4, 8_192),
    ("learned", ["Learned(2048, 1448)"], 1_448),
    ("learned", ["Learned(8192, 512)"] * 4, 724),
    ("bias", ["ALiBi(64)"], 512),
    ("bias", ["FIRE(8, hidden=64)"], 512),
    ("bias", ["T5Bias(4)"], 2_048),
    ("bias", ["T5Bias(4)"] * 4, 1_024),
    ("bias", ["SwinV2Bias(64, (32, 32))"] * 4, 0),
    ("maps", ["LearnedFourier(4096, 2, features=4096)"] * 4, 0),
    ("attention", ["RoPE(2896)"], 512),
    ("attention", ["RoPE(1448)", "RoPE(1446)", "RoPE(1444)", "RoPE(1442)"], 512),
    ("attention", ["ALiBi(64)"], 512),
    ("attention", ["ALiBi(16)"] * 4, 512),
    ("attention", ["Sandwich(64)"], 512),
    ("attention", ["FIRE(8, hidden=64)"], 512),
    ("attention", ["Shaw(512, 2048)"], 512),
    ("attention", ["TransformerXL(8, 64)"] * 4, 512),
    ("attention", ["Tempered(ALiBi(64), LogN(512))"], 512),
    ("explain", ["Sinusoidal(512)"], 512),
    ("explain", ["RoPE(4096)"], 512),
    ("explain", ["ALiBi(16)"], 512),
    ("explain", ["Sandwich(16)"], 512),
    ("explain", ["FIRE(8, hidden=16)"], 512),
    ("explain", ["Shaw(512, 2048)"], 512),
    ("explain", ["TransformerXL(8, 64)"], 512),
    ("explain", ["TransformerXL(64, 16)"], 62),
    ("explain", ["Tempered(ALiBi(16), LogN(512))"], 512),
]


def resident(pid: int, name: str) -> int:
    """VmRSS now, or VmHWM: the most since it was last asked to begin anew."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def status_of(port: int, path: str, query: dict) -> tuple[int, bytes]:
    try:
        with urlopen(
            f"http://127.0.0.1:{port}/api/v1/{path}?{urlencode(query, doseq=True)}"
        ) as got:
            return got.status, got.read()
    except HTTPError as error:
        return error.code, error.read()


# The largest table has 2^20 cells, 52 MB of text; half of it takes half as long.
@pytest.mark.parametrize("dim", [512, *slow(1_024)])
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="read from /proc")
def test_a_table_is_made_piece_by_piece(tmp_path, dim):
    """The largest took 407 MB."""
    table = {"e": f"Sinusoidal({dim})", "n": 1_024, "view": "heatmap"}
    cells = 1_024 * dim
    with started(page(tmp_path)) as explorer:
        pid, port = explorer.process.pid, explorer.port
        assert status_of(port, "export/csv", table | {"n": 8})[0] == 200
        idle = resident(pid, "VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        status, body = status_of(port, "export/csv", table)
        taken = resident(pid, "VmHWM") - idle
    assert status == 200
    assert body.count(b"\n") == 1 + cells
    # the view's float64 values, as much again on the way to them, and pieces of 4,096 lines, whose
    # cells are Python objects: 8 of 32 bytes at most in each
    assert taken < 2 * 8 * cells + 8 * 4_096 * 8 * 32


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="read from /proc")
def test_readers_that_do_not_read_hold_little(tmp_path):
    """Forty of them held 1.5 GB: each its whole answer."""
    head = "GET /api/v1/export/npy?{} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with started(page(tmp_path)) as explorer, contextlib.ExitStack() as stack:
        pid, port = explorer.process.pid, explorer.port
        query = {"view": "heatmap", "n": 2_048}
        assert status_of(port, "export/npy", query | {"e": "Sinusoidal(8)"})[0] == 200
        idle = resident(pid, "VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        for number in range(12):
            asking = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            asking.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            each = urlencode(query | {"e": f"Sinusoidal({2_000 + 2 * number})"})
            asking.sendall(head.format(each).encode())
            asking.settimeout(120)
            if number < 4:  # it has begun to come, and is not read on
                assert asking.recv(16, socket.MSG_PEEK)
        assert status_of(port, "tokens", {"text": "a b"})[0] == 200  # nobody waits for them
        taken = resident(pid, "VmHWM") - idle
    one = 8 * 2_048 * 2_048
    # those that are sent, the views that are kept, and one that is made: its values twice
    assert taken < delivery.ANSWERS + 2**27 + 2 * one


@pytest.mark.explorer_slow
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="read from /proc")
@pytest.mark.parametrize(("kind", "encodings", "length"), WORST)
def test_the_largest_requests_take_little_memory(tmp_path, kind, encodings, length):
    query = {"e": encodings, "n": length}
    asked = {f"view/{kind}": query} | dict.fromkeys(
        ("export/npy", "export/png"), query | {"view": kind}
    )
    asked = {"explain": query} if kind == "explain" else asked
    with started(page(tmp_path)) as explorer:
        pid, port = explorer.process.pid, explorer.port
        for path, query in asked.items():  # what is imported once
            assert status_of(port, path, query | {"n": min(length, 8)})[0] == 200
        idle = resident(pid, "VmRSS")
        for path, query in asked.items():
            Path(f"/proc/{pid}/clear_refs").write_text("5")
            start = time.perf_counter()
            status, body = status_of(port, path, query)
            spent, taken = time.perf_counter() - start, resident(pid, "VmHWM") - idle
            print(f"\n{path} {encodings} of {length}: {spent:.1f} s, {taken / 2**20:.0f} MiB")
            assert status == 200, json.loads(body)
            assert taken < MOST


@pytest.mark.explorer_slow
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="read from /proc")
@pytest.mark.skipif(not (STATIC / "index.html").exists(), reason="the page was not built")
@pytest.mark.parametrize(
    ("kind", "encodings", "length"),
    [
        ("heatmap", [f"Sinusoidal({dim})" for dim in (682, 680, 678, 676)], 512),
        ("heatmap", [f"Sinusoidal({dim})" for dim in (340, 338, 336, 334)], 1_024),
        ("bias", ["T5Bias(4)"] * 4, 1_024),
    ],
)
def test_the_largest_pages_to_save_take_little_memory(tmp_path, kind, encodings, length):
    """The first took 517 MiB, and made 64.6 of them."""
    query = {"e": encodings, "n": length, "view": kind}
    with started(page(tmp_path)) as explorer:
        pid, port = explorer.process.pid, explorer.port
        assert status_of(port, "export/html", query | {"n": 8})[0] == 200
        idle = resident(pid, "VmRSS")
        Path(f"/proc/{pid}/clear_refs").write_text("5")
        status, body = status_of(port, "export/html", query)
        taken = resident(pid, "VmHWM") - idle
        print(f"\n{encodings} of {length}: {taken / 2**20:.0f} MiB, {len(body) / 2**20:.1f} made")
    assert status == 200, json.loads(body)
    assert len(body) < delivery.LARGEST
    assert taken < MOST
