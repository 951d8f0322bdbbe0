import json
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.text import tokens


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(main, arguments)


def test_show_writes_and_names_its_figure(run, tmp_path):
    result = run("show", "我 爱 学习 AI")
    assert result.exit_code == 0
    assert result.stdout == "posenc-sinusoidal.png\n"
    assert (tmp_path / "posenc-sinusoidal.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("name", "start"), [("a.svg", b"<?xml"), ("a.pdf", b"%PDF")])
def test_the_ending_chooses_the_format(run, tmp_path, name, start):
    assert run("show", "a b", "--out", name).exit_code == 0
    assert (tmp_path / name).read_bytes().startswith(start)


def test_show_json_is_the_view(run):
    result = run("show", "犬が人を噛む", "--dim", "8", "--json")
    data = json.loads(result.stdout)
    assert data["tokens"] == list("犬が人を噛む")
    assert np.allclose(data["values"], pe.Sinusoidal(8).encode(range(6)))


def test_show_learned_is_seeded(run):
    views = [run("show", "a b", "--encoding", "learned", "--json", "--seed", s) for s in "001"]
    assert views[0].stdout == views[1].stdout != views[2].stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", " "), "the sentence has no tokens"),
        (("show", "a", "--dim", "0"), "dim must be a whole number of at least 1"),
        (("show", "a", "--dim", "x"), "'x' is not a valid integer"),
        (("show", "a", "--seed", "-1"), "seed must be a whole number of at least 0; got seed=-1"),
        (
            ("show", "a", "--encoding", "rpoe"),
            "name must be that of an encoding, one of sinusoidal, learned",
        ),
        (("show", "a", "--encoding", "fourier-features"), "does not encode the tokens"),
        (("show", "a", "--out", "a.bmp"), "must end in .png, .svg or .pdf; got a.bmp"),
        (("show", "a", "--out", "no/such/a.png"), "cannot write no/such/a.png"),
        (("bench", "--rounds", "0"), "rounds must be a whole number of at least 1; got rounds=0"),
        (("show", "a", "--json", "--out", "a.png"), "leave out --out"),
        (("shwo",), "No such command 'shwo'"),
    ],
)
def test_wrong_usage_is_a_sentence_and_exit_code_2(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


def test_help_shows_the_examples_line_by_line(run):
    lines = run("show", "--help").stdout.splitlines()
    assert '  posenc show "我 爱 学习 AI"' in lines


@pytest.mark.parametrize(
    "sentence", ["$\\frac{$ bad", "cost $a_$", "\udcff\udcfe", "x" * 2000, "\x07 a"]
)
def test_odd_sentences_are_drawn(run, sentence):
    result = run("show", sentence)
    assert result.exit_code == 0
    assert result.stdout == "posenc-sinusoidal.png\n"


def test_list_names_every_encoding(run):
    assert [line.split()[0] for line in run("list").stdout.splitlines()] == list(pe.catalogue())
    row = json.loads(run("list", "--json").stdout)["encodings"]["learned"]
    assert row == {"acts": "additive", "parameters": ["length", "dim", "std"]}


def test_the_command_is_installed():
    command = [sys.executable, "-c", "from posenc.cli import main; main()", "--version"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert pe.__version__ in done.stdout


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("the dog", ["the", "dog"]),
        ("word", ["word"]),
        ("我喜歡學習", list("我喜歡學習")),
        ("が\u3099", ["が\u3099"]),
        ("café", ["café"]),
        ("Привет", ["Привет"]),
        ("犬👨\u200d👩\u200d👧猫", ["犬", "👨\u200d👩\u200d👧", "猫"]),
        ("学\u200b习", ["学\u200b", "习"]),
        ("", []),
    ],
)
def test_tokens(sentence, expected):
    assert tokens(sentence) == expected
