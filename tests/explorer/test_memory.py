"""The largest requests that are accepted, of each kind: the memory that they take is bounded."""

import json
import os
import time
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from tests.explorer.serving import page, started

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


@pytest.mark.explorer_slow
@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="read from /proc")
@pytest.mark.parametrize(("kind", "encodings", "length"), WORST)
def test_the_largest_requests_take_little_memory(tmp_path, kind, encodings, length):
    query = {"e": encodings, "n": length, "view": kind}
    paths = ("explain",) if kind == "explain" else (f"view/{kind}", "export/npy", "export/png")
    with started(page(tmp_path)) as explorer:
        pid, port = explorer.process.pid, explorer.port
        for path in paths:  # what is imported once
            assert status_of(port, path, query | {"n": min(length, 8)})[0] == 200
        idle = resident(pid, "VmRSS")
        for path in paths:
            Path(f"/proc/{pid}/clear_refs").write_text("5")
            start = time.perf_counter()
            status, body = status_of(port, path, query)
            spent, taken = time.perf_counter() - start, resident(pid, "VmHWM") - idle
            print(f"\n{path} {encodings} of {length}: {spent:.1f} s, {taken / 2**20:.0f} MiB")
            assert status == 200, json.loads(body)
            assert taken < MOST
