"""--load: encodings of the reader's own are named in every command as ours are."""

import json

import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.cli.loading import find_loaded

MINE = """
from dataclasses import dataclass
import posenc as pe

@dataclass(frozen=True)
class MyRot(pe.Rotary):
    dim: int = 4
    scaling: object = None
    def cos_sin(self, positions, *, dtype=None):
        return pe.RoPE(self.dim).cos_sin(positions, dtype=dtype)

slopes = pe.ALiBi(2)
alibi = pe.ALiBi(3)
"""


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return lambda *arguments: CliRunner().invoke(main, [*arguments, "--load", "mine.py"])


@pytest.mark.parametrize(
    ("typed", "named"),
    [
        (("MyRot",), ["MyRot"]),
        (("myrot", "SLOPES"), ["MyRot", "slopes"]),
        (("myrot(16)", "nope"), ["myrot(16)", "nope"]),
        (("nope",), ["nope", "MyRot", "slopes", "alibi"]),
        ((), ["MyRot", "slopes", "alibi"]),
    ],
)
def test_names_in_a_file_choose_among_its_encodings(run, typed, named):
    """A file of which nothing is named is taken as a whole."""
    checked = run("check", *typed, "--json")
    assert [*json.loads(checked.stdout)["reports"]] == named
    compared = run("compare", *typed, "--no-bench", "--json")
    assert [each["name"] for each in json.loads(compared.stdout)["encodings"]] == named


def test_bench_times_what_a_file_names(run):
    result = run("bench", "myrot(8)", "slopes", "--rounds", "1", "--json")
    assert [*json.loads(result.stdout)["encodings"]] == ["myrot(8)", "slopes"]


@pytest.mark.parametrize("name", ["MyRot", "myrot", "my_rot", "MyRot(4)", "myrot(dim=4)"])
def test_a_name_in_a_file_is_no_sentence(run, name):
    result = run("show", name, "--length", "3", "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["title"].startswith("MyRot()")


def test_a_call_takes_what_expressions_may_have(run):
    call = "MyRot(8, scaling=YaRN(4, 8192))"
    report = json.loads(run("check", call, "--json").stdout)["reports"][call]
    assert report["subject"].startswith("MyRot(dim=8, scaling=YaRN(4, ")
    assert run("explain", call).stdout.startswith("MyRot(dim=8, ")


def test_a_name_in_a_file_goes_before_ours_and_ours_before_another_case():
    class Rope(pe.RoPE):
        """As a reader may call one."""

    held = {"Rope": Rope(8), "alibi": pe.ALiBi(3)}
    assert find_loaded("alibi", held) == ("alibi", pe.ALiBi(3))
    assert find_loaded("Rope(4)", held) == ("Rope(4)", Rope(4))
    assert [find_loaded(name, held) for name in ("ALiBi", "RoPE", "rope(4)")] == [None] * 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", "MyRt"), "no encoding is called 'MyRt'; did you mean MyRot?"),
        (("show", "MyRot("), "expression must be Python; got 'MyRot(': '(' was never closed"),
        (("check", "MyRot(4) + 1"), "expression must be a call of MyRot; got 'MyRot(4) + 1'"),
        (("check", "MyRot(**{})"), "expression must name each argument; got 'MyRot(**{})'"),
        (("check", "MyRot(x=1)"), "unexpected keyword argument 'x'"),
        (("check", "MyRot(print())"), "expression must be made of encodings"),
        (("bench", "slopes(4)"), "expression must be made of encodings"),
        (("explain", "rope"), "ENCODING must be defined in mine.py: MyRot, slopes, alibi; got"),
    ],
)
def test_what_a_file_has_not_is_refused(run, arguments, message):
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_sentence_is_encoded_by_what_is_loaded(run):
    result = run("show", "a dog", "--kind", "attention", "--json")
    assert result.stderr == "not an encoding; using it as --text: a dog\n"
    panels = json.loads(result.stdout)["panels"]
    assert {0, 1, 2} <= {panel["of"] for panel in panels}  # MyRot, slopes, alibi
    assert panels[0]["rows"]["labels"] == ["a", "dog"]
