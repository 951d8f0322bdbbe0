"""`posenc explore`: its address, its port, its end, and what it says when it cannot start."""

import contextlib
import http.client
import json
import os
import socket
import subprocess
import sys
import time
from urllib.parse import parse_qs

import pytest
from click.testing import CliRunner

from posenc.cli import main
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


def run(*arguments):
    return CliRunner().invoke(main, ["explore", "--no-open", *arguments])


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


@pytest.mark.parametrize(
    ("arguments", "state"),
    [
        ((), {}),
        (("rope", "alibi(4)"), {"e": ["RoPE(64)", "alibi(4)"]}),
        (("rope", "--text", "犬 が"), {"e": ["RoPE(64)"], "text": ["犬 が"]}),
        (("dog bites man",), {"text": ["dog bites man"]}),
        (("--load", "mine.py", "plain", "rope"), {"e": ["plain", "RoPE(64)"]}),
    ],
)
def test_it_opens_at_the_encodings_that_are_named(monkeypatch, tmp_path, arguments, state):
    served = []
    monkeypatch.setattr(server, "serve", lambda **options: served.append(options))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    query = parse_qs(served[0]["query"].removeprefix("?"))
    assert query == (state and {"v": ["1"], **state})


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


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--port", "-1"), "must be in 0 .. 65535; got -1"),
        (("--port", "65536"), "must be in 0 .. 65535; got 65536"),
        (("--port", "x"), "'x' is not a valid integer"),
        (("--host", "256.1.1.1"), "cannot listen on 256.1.1.1:8765: "),
        (("--host", ""), "host must be an address"),
        (("--host", "ü..example"), "host must be an address or a name"),
        (("--lang", "fr"), "'fr' is not one of 'en', 'ja', 'zh-Hans', 'zh-Hant'"),
        (("--load", "none.py"), "file must be a Python file that exists; got none.py"),
        (("rpoe",), "no encoding is called 'rpoe'; did you mean rope?"),
        (("rope", "the dog"), "to encode a sentence, use --text 'the dog'"),
        (("rope", "alibi", "t5", "xpos", "fire"), "encodings must be at most 4; got 5"),
    ],
)
def test_what_is_wrong_is_a_sentence(monkeypatch, static, arguments, message):
    monkeypatch.setattr(app, "STATIC", static)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.output


def test_a_file_that_fails_is_a_sentence(monkeypatch, static, tmp_path):
    monkeypatch.setattr(app, "STATIC", static)
    (tmp_path / "mine.py").write_text("1 / 0")
    result = run("--load", str(tmp_path / "mine.py"))
    assert result.exit_code == 2
    assert "ZeroDivisionError" in result.stderr


def test_a_page_that_was_not_built_is_a_sentence(monkeypatch, tmp_path):
    monkeypatch.setattr(app, "STATIC", tmp_path / "none")
    result = run()
    assert result.exit_code == 2
    told = " ".join(result.stderr.split())
    assert "The explorer's page was not built. In a clone, run make page." in told


def test_without_a_page_the_address_says_so(monkeypatch, client, tmp_path):
    monkeypatch.setattr(app, "STATIC", tmp_path / "none")
    answer = client.get("/")
    assert answer.status == 503
    assert answer.body.decode().startswith("The explorer's page was not built.")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_a_missing_library_is_a_sentence_with_the_command(library):
    code = f"import sys; sys.modules[{library!r}] = None; from posenc.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "explore", "--no-open"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert (
        f"{library} is not installed; to install the explorer: pip install '.[explorer]' in a"
        in (done.stderr)
    )
    assert "Traceback" not in done.stderr


def test_the_browser_is_opened_beside(monkeypatch, static):
    """A browser in the terminal keeps who opens it: the server must not wait for that."""
    opened, said = [], []
    monkeypatch.setattr(app, "STATIC", static)
    monkeypatch.setattr(server.webbrowser, "open", opened.append)
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: time.sleep(0.3))
    server.serve(port=0, query="?v=1", say=said.append)
    assert opened == [said[0].removeprefix("posenc explorer: ")]
    assert opened[0].endswith("/?v=1")


@pytest.mark.parametrize("told", [None, "2"])
def test_each_worker_has_one_thread_of_blas_unless_told_otherwise(monkeypatch, static, told):
    monkeypatch.setenv("OMP_NUM_THREADS", told or "")
    if told is None:
        monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(app, "STATIC", static)
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: None)
    assert run("--port", "0").exit_code == 0
    assert os.environ["OMP_NUM_THREADS"] == (told or "1")


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
