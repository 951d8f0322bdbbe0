"""Wrong usage is reported in a sentence, with exit code 2."""

import json
import subprocess
import sys
import tomllib

import pytest

import posenc as pe
from posenc.cli.usage import EXTRAS
from tests.cli.page import PAGE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", " "), "the sentence has no tokens"),
        (("show", "a", "--dim", "0"), "dim must be a whole number of at least 1"),
        (("show", "a", "--dim", "x"), "'x' is not a valid integer"),
        (("show", "a", "--seed", "-1"), "seed must be a whole number of at least 0; got seed=-1"),
        (("show", "rpoe"), "no encoding is called 'rpoe'; did you mean rope?"),
        (
            ("show", "rop"),
            "did you mean rope? `posenc list` shows every name; to encode a sentence",
        ),
        (("show", "RoPE(64"), "'(' was never closed"),
        (("show", "confg.json"), "no such file: confg.json"),
        (("show", "missing/config.json"), "no such file: missing/config.json"),
        (("show", "rope", "the dog"), "no encoding is called 'the dog'"),
        (("show", "rope", "the dog"), "to encode a sentence, use --text 'the dog'"),
        (("show", "fourier-features", "--text", "a"), "does not encode the tokens"),
        (("show", "a", "--out", "a.bmp"), "must end in .png, .svg or .pdf; got a.bmp"),
        (("show", "a", "--out", "no/such/a.png"), "cannot write no/such/a.png"),
        (("bench", "--rounds", "0"), "rounds must be a whole number of at least 1; got rounds=0"),
        (
            ("show", "a", "--json", "--out", "a.png"),
            "--out cannot be combined with --json or --csv",
        ),
        (("show", "a", "--csv", "--dark"), "--dark cannot be combined with --json or --csv"),
        (("show", "a", "--csv", "--dpi", "150"), "--dpi cannot be combined with --json or --csv"),
        (("show", "rope", "--heads", "4"), "heads must be left out: not a size of RoPE; got"),
        (("show", "alibi", "--dim", "4"), "dim must be left out: not a size of ALiBi"),
        (
            ("show", "RoPE(8)", "--dim", "4"),
            "dim must be left out for an encoding with its own size",
        ),
        (("show", "rope", "--kind", "wavelengths", "--channels", "1"), "channels must be left out"),
        (("show", "rope", "--head", "1"), "head must be left out"),
        (("show", "rope", "--causal"), "causal must be left out"),
        (("show", "rope", "--seed", "3"), "--seed has no effect here"),
        (
            ("show", "rope", "--kind", "attention", "--channels", "5", "--json"),
            "--channels has no effect here",
        ),
        (("show", "rope", "--trained", "3"), "--trained has no effect here"),
        (("show", "--text", " "), "the sentence has no tokens"),
        (
            ("explain", "alibi", "--position", "4"),
            "--position has no effect here",
        ),
        (
            ("explain", "alibi", "--position", "3"),
            "--position has no effect here",
        ),
        (("explain", "rope", "--seed", "1"), "--seed has no effect here"),
        (("explain", "rope", "--heads", "1"), "heads must be left out: not a size of RoPE"),
        (("explain", "rope", "--json", "--digits", "3"), "--digits does not apply to JSON"),
        (
            ("explain", "rope", "--json", "--format", "html"),
            "--json cannot be combined with --format html",
        ),
        (("explain", "swin", "--text", "a b"), "--text has no effect here"),
        (
            ("explain", "rope", "--text", "a", "--length", "3"),
            "length must be left out where tokens",
        ),
        (("explain", "rope", "-o", "no/x.html"), "cannot write no/x.html"),
        (("show", "rope", "-o", ""), "'-o' / '--out': must be a file name; got ''"),
        (("explain", "rope", "-o", ""), "must be a file name; got ''"),
        (("demo", "addition", "-o", ""), "must be a file name; got ''"),
        (("explain", "rope", "-o", "x.pdf"), "must end in .txt, .md, .tex, .html or .json; got x"),
        (("demo", "addition", "-o", "x.PNG"), "must end in .txt, .md, .tex, .html or .json; got x"),
        (
            ("compare", "nope", "--json", "--format", "text"),
            "--json cannot be combined with --format text",
        ),
        (("compare", "rope", "--heads", "3"), "heads must be left out: not a size of RoPE"),
        (("compare", "RoPE(8)", "--dim", "3"), "sizes must be left out: they are for names"),
        (
            ("config", "bert.json", "--pairing", "halves"),
            "--pairing does not apply: bert has no rotary encoding",
        ),
        (("compare", "--all", "rope"), "--all cannot be combined with ENCODING; got rope"),
        (
            ("check", "--all", "rope", "yarn"),
            "--all cannot be combined with ENCODING; got rope yarn",
        ),
        (("list", "rop"), "did you mean rope?"),
        (("bench", "rop"), "did you mean rope?"),
        (("rope",), "no such command: rope; to show the encoding: posenc show rope"),
        (("help", "shwo"), "no such command: shwo; did you mean show?"),
        (("show", "a", "--json", "--csv"), "--json cannot be combined with --csv"),
        (("show", "a", "--kind", "pie"), "'pie' is not one of 'heatmap', 'waves'"),
        (("show", "alibi", "--kind", "rotation"), "suits ALiBi (bias, attention)"),
        (("show", "a", "--channels", "x"), "must be whole numbers, such as 0,1,8; got x"),
        (("show", "a", "--size", "big"), "size must be inches as WIDTHxHEIGHT, such as 8x4.5"),
        (("show", "a", "--dpi", "1"), "dpi must be a finite number of at least 10"),
        (("show", "a b", "--length", "3"), "length must be left out if tokens are given"),
        (("show", "--load", "none.py"), "file must be a Python file that exists; got none.py"),
        (("shwo",), "no such command: shwo; did you mean show?"),
    ],
)
def test_wrong_usage_is_reported_with_exit_code_2(run, tmp_path, arguments, message):
    bert = {"model_type": "bert", "hidden_size": 8, "num_attention_heads": 2}
    bert |= {"num_hidden_layers": 1, "max_position_embeddings": 16}
    (tmp_path / "bert.json").write_text(json.dumps(bert))
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert [path.name for path in tmp_path.iterdir()] == ["bert.json"]


@pytest.mark.parametrize("command", ["show", "explain"])
@pytest.mark.parametrize(
    ("what", "end"),
    [
        ("RoPE(64, theta=1)", "did you mean base=?"),
        ("RoPE(64", "'(' was never closed"),
        ("missing/confg.json", "no such file: missing/confg.json"),
        ("rop", "shows every name; to encode a sentence, use --text 'rop'"),
    ],
)
def test_text_is_suggested_only_if_the_argument_may_be_a_sentence(run, command, what, end):
    told = " ".join(run(command, what).stderr.split())
    assert told.endswith(end)


@pytest.mark.parametrize(
    "arguments",
    [("compare",), ("compare", "rop"), ("completion", "tcsh"), ("info", "x"), ("check",), ("x",)],
)
def test_wrong_usage_prints_nothing_to_stdout(run, arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert "Traceback" not in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("library", "arguments"), [("torch", ("bench",)), ("matplotlib", ("show", "a b"))]
)
def test_a_missing_library_is_reported_with_its_install_command(tmp_path, library, arguments):
    code = f"import sys; sys.modules[{library!r}] = None; from posenc.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert f"{library}" in done.stderr
    assert f"pip install '.[{EXTRAS[library]}]' in a clone of posenc" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_other_missing_modules_raise(run, monkeypatch):
    def absent(*args, **kwargs):
        raise ModuleNotFoundError("No module named 'gone'", name="gone")

    monkeypatch.setattr(pe.checks, "check", absent)
    monkeypatch.setattr("posenc.comparison.entry.check", absent)
    assert isinstance(run("compare", "nope").exception, ModuleNotFoundError)


def test_extras_exist_in_pyproject():

    project = tomllib.loads((PAGE.parent.parent / "pyproject.toml").read_text())["project"]
    for library, extra in EXTRAS.items():
        wanted = project["optional-dependencies"][extra]
        assert any(line.startswith(library) for line in wanted), library
