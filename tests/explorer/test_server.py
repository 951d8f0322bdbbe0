"""`posenc explore`: its address, its port, its end, and what it says when it cannot start."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time

import pytest

from posenc.explorer import app, server
from tests.explorer.serving import page, started

pytestmark = pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")

MINE = """
import time
from dataclasses import dataclass
from pathlib import Path
import posenc as pe

@dataclass(frozen=True)
class Slow(pe.Additive):
    dim: int = 4
    def encode(self, positions, params=None, *, dtype=None):
        Path(__file__).with_name("begun").touch()
        time.sleep(600)

plain = pe.Sinusoidal(8)
"""


@pytest.fixture
def static(tmp_path):
    (tmp_path / "static").mkdir()
    return page(tmp_path / "static")


def get(port, path, host="127.0.0.1", **headers):
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=30)) as connection:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


def test_it_prints_its_address_answers_and_stops_at_once(static):
    with started(static, "--lang", "ja") as explorer:
        kept = socket.create_connection(("127.0.0.1", explorer.port))
        kept.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert kept.recv(12) == b"HTTP/1.1 200"
        status, body = get(explorer.port, "/")
        assert (status, body[:15]) == (200, b"<!doctype html>")
        assert explorer.said == [f"posenc explorer: http://127.0.0.1:{explorer.port}/?v=1&lang=ja"]
        assert get(explorer.port, "/api/v1/colours", Host="evil.example")[0] == 403
        told = explorer.interrupt()  # which waits for a minute, the connection for ever
        assert explorer.process.returncode in (0, 130)
        assert "Traceback" not in told
        assert told == ""
        kept.close()


def test_ctrl_c_does_not_wait_for_work_or_half_a_request(static, tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    with started(static, "--load", str(tmp_path / "mine.py")) as explorer:
        listed = json.loads(get(explorer.port, "/api/v1/encodings")[1])
        names = [row["name"] for group in listed["groups"] for row in group["encodings"]]
        assert {"Slow", "plain"} <= set(names)
        working = http.client.HTTPConnection("127.0.0.1", explorer.port)
        working.request("GET", "/api/v1/view/heatmap?e=Slow")
        half = socket.create_connection(("127.0.0.1", explorer.port))
        half.sendall(
            b"POST /api/v1/config HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
        )
        while not (tmp_path / "begun").exists():
            time.sleep(0.05)
        told = explorer.interrupt()  # which waits for a minute, the work for ten
        assert explorer.process.returncode in (0, 130)
        assert "Traceback" not in told
        answer = working.getresponse()
        assert answer.status == 503
        assert b"the explorer is stopping" in answer.read()
        working.close()
        half.close()


def test_a_port_in_use_is_a_sentence_and_the_next_one(static):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with started(static, port=port) as explorer:
            assert explorer.said[0] == f"port {port} is in use; taking {explorer.port}"
            assert port < explorer.port <= port + server.TRIES
            assert get(explorer.port, "/")[0] == 200
            explorer.interrupt()


def test_another_host_is_the_one_that_listens(static):
    with started(static, "--host", "0.0.0.0") as explorer:
        assert get(explorer.port, "/")[0] == 200
        assert get(explorer.port, "/", host="127.0.0.2")[0] == 200
        assert get(explorer.port, "/", Host="evil.example")[0] == 403
        explorer.interrupt()
    with started(static) as explorer:
        with pytest.raises(OSError, match="refused"):
            get(explorer.port, "/", host="127.0.0.2")
        explorer.interrupt()


def test_ipv6_has_brackets(static):
    try:
        server.bind_socket("::1", 0)[0].close()
    except ValueError:
        pytest.skip("no IPv6 here")
    with started(static, "--host", "::1") as explorer:
        assert explorer.address == f"http://[::1]:{explorer.port}/"
        assert get(explorer.port, "/", host="::1")[0] == 200
        explorer.interrupt()


def test_the_browser_is_opened_beside(monkeypatch, static):
    """A browser in the terminal keeps who opens it: the server must not wait for that."""
    opened, said = [], []
    monkeypatch.setattr(app, "STATIC", static)
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: time.sleep(0.3))
    server.serve(port=0, query="?v=1", say=said.append)
    assert opened == [said[0].removeprefix("posenc explorer: ")]
    assert opened[0].endswith("/?v=1")


def test_the_server_starts_without_what_is_heavy():
    heavy = "matplotlib", "torch", "jax", "posenc.checks", "posenc.plot", "tokenizers", "icu4py"
    code = (
        "import sys, posenc.explorer.server as s; s.app.application();"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_all_ports_in_use_is_a_sentence(monkeypatch):
    monkeypatch.setattr(server, "TRIES", 1)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(
            ValueError, match=f"port must be free, or one of the next 1; got {port}"
        ):
            server.bind_socket("127.0.0.1", port)
