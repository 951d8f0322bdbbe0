"""`posenc explore`: what it hands over to the server, and what it refuses."""

import os
import subprocess
import sys
from urllib.parse import parse_qs

import pytest
from click.testing import CliRunner

from posenc.cli import main
from posenc.explorer import app, server
from tests.explorer.serving import page


@pytest.fixture
def static(tmp_path):
    (tmp_path / "static").mkdir()
    return page(tmp_path / "static")


def run(*arguments):
    return CliRunner().invoke(main, ["explore", "--no-open", *arguments])


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
    (tmp_path / "mine.py").write_text("import posenc as pe\nplain = pe.Sinusoidal(8)")
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    query = parse_qs(served[0]["query"].removeprefix("?"))
    assert query == (state and {"v": ["1"], **state})


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


@pytest.mark.parametrize("told", [None, "2"])
def test_each_worker_has_one_thread_of_blas_unless_told_otherwise(monkeypatch, static, told):
    monkeypatch.setenv("OMP_NUM_THREADS", told or "")
    if told is None:
        monkeypatch.delenv("OMP_NUM_THREADS")
    monkeypatch.setattr(app, "STATIC", static)
    monkeypatch.setattr(server.Server, "run", lambda self, sockets: None)
    assert run("--port", "0").exit_code == 0
    assert os.environ["OMP_NUM_THREADS"] == (told or "1")
