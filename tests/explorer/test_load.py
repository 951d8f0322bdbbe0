"""A hundred clients for a minute: no error, memory within bounds."""

import asyncio
import json
import os
import time
from collections import Counter
from pathlib import Path
from urllib.parse import quote

import numpy as np
import pytest

from tests.explorer.serving import page, started

CLIENTS, SECONDS = 100, float(os.environ.get("POSENC_LOAD_SECONDS", "60"))
SENTENCES = ["我 爱 学习 AI", "犬が人を噛む", "the dog bit the man", "位置編碼 很 有趣"]


def requests(number: int) -> list[str]:
    """What a page asks for as someone plays with it; every client has sizes of its own."""
    dim, text = 16 + 2 * (number % 48), quote(SENTENCES[number % 4])
    rope, waves = quote(f"RoPE({dim}, scaling=YaRN(4.0, 4096))"), quote(f"Sinusoidal({dim})")
    return [
        f"/api/v1/tokens?text={text}&by=words",
        f"/api/v1/view/heatmap?e={waves}&text={text}",
        f"/api/v1/view/heatmap?e={waves}&n=512",
        f"/api/v1/view/heatmap.npy?e={waves}&n=512",
        f"/api/v1/cell?e={rope}&p={number}&d=3",
        f"/api/v1/view/rotation?e={rope}&text={text}",
        f"/api/v1/view/attention?e={waves}&text={text}",
        f"/api/v1/cell?e={waves}&p=5&d={number % 16}",
        f"/api/v1/view/bias?e=ALiBi(8)&n={32 + number}",
        "/api/v1/encodings",
    ]


async def visit(port: int, number: int, until: float, found: list[tuple[int, float]]) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    paths = requests(number)
    turn = number
    while time.monotonic() < until:
        start = time.perf_counter()
        head = f"GET {paths[turn % len(paths)]} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n"
        writer.write(head.encode())
        lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        length = next(int(x.split(":")[1]) for x in lines if x.lower().startswith("content-length"))
        body = await reader.readexactly(length)
        found.append((int(lines[0].split()[1]), time.perf_counter() - start))
        if b"application/json" in "".join(lines).encode():
            json.loads(body)
        turn += 1
    writer.close()
    await writer.wait_closed()


def memory(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.explorer_slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_a_hundred_clients_for_a_minute(tmp_path):
    (tmp_path / "static").mkdir()
    with started(page(tmp_path / "static")) as explorer:
        pid, found, sizes = explorer.process.pid, [], []

        async def crowd(clients, seconds):
            until = time.monotonic() + seconds
            tasks = [visit(explorer.port, i, until, found) for i in range(clients)]
            crowd = asyncio.gather(*tasks)
            while not crowd.done():
                sizes.append(memory(pid))
                await asyncio.sleep(0.5)
            await crowd

        asyncio.run(crowd(10, 3))  # what is imported and kept once
        warm = memory(pid)
        found.clear()
        asyncio.run(crowd(CLIENTS, SECONDS))
        told = explorer.interrupt()
    times = np.array([spent for _, spent in found]) * 1e3
    print(
        f"\n{len(found)} requests, {len(found) / SECONDS:.0f} per second, "
        f"{dict(Counter(status for status, _ in found))}; p50 {np.percentile(times, 50):.0f} ms, "
        f"p99 {np.percentile(times, 99):.0f} ms, longest {times.max():.0f} ms; memory "
        f"{warm / 2**20:.0f} MiB, at most {max(sizes) / 2**20:.0f}, then {sizes[-1] / 2**20:.0f}"
    )
    assert {status for status, _ in found} == {200}
    assert len(found) > 10 * CLIENTS
    assert max(sizes) - warm < 600 * 2**20
    assert "Traceback" not in told
