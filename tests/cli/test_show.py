"""The command `posenc show`."""

import json
import re

import numpy as np
import pytest

import posenc as pe
from posenc.i18n import LANGUAGES
from posenc.text import split_at_spaces
from tests.cli.files import STRETCH


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
    (panel,) = json.loads(result.stdout)["panels"]
    assert panel["rows"]["labels"] == list("犬が人を噛む")
    assert np.allclose(panel["values"], pe.Sinusoidal(8).encode(range(6)))


def test_show_csv_is_one_long_table(run):
    result = run("show", "ALiBi(1)", "--length", "2", "--csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "panel,title,row,row_label,column,column_label,value,length"
    assert lines[1] == "0,query at 1,0,head 1,-1.0,,-0.00390625,"


def test_several_encodings_are_drawn_side_by_side_in_any_language(run):
    arguments = ("rope", "RoPE(64, scaling=YaRN(4, 8192))")
    result = run("show", *arguments, "--kind", "decay", "--length", "20", "--lang", "ja", "--json")
    data = json.loads(result.stdout)
    assert [line["name"] for line in data["panels"][0]["lines"]] == [
        "RoPE(64)",
        "RoPE(64, scaling=YaRN(4, 8192))",
    ]


def test_show_draws_what_was_asked_for(run, tmp_path):
    result = run(
        *("show", "rope", "--kind", "waves", "--channels", "0,3", "--length", "9"),
        *("--dark", "--size", "4x3", "--dpi", "50"),
    )
    assert result.stdout == "posenc-rope-waves.png\n"
    header = (tmp_path / "posenc-rope-waves.png").read_bytes()[16:24]
    assert (int.from_bytes(header[:4]), int.from_bytes(header[4:])) == (200, 150)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("rotation", "rope"),
        ("bias", "alibi"),
        ("maps", "axial-sinusoidal"),
        ("scalings", "rope"),
        ("decay", "rope"),
        ("learned", "learned"),
        ("sum", "sinusoidal"),
    ],
)
def test_a_kind_alone_draws_an_encoding_that_suits_it(run, kind, name):
    alone = run("show", "--kind", kind, "--length", "4", "--json").stdout
    assert alone == run("show", name, "--kind", kind, "--length", "4", "--json").stdout
    assert json.loads(alone)["kind"] == kind


@pytest.mark.parametrize("sentence", ["hello", "rope is", "我 爱 学习 AI", "wait (a moment)"])
def test_a_single_argument_that_is_no_encoding_is_the_sentence(run, sentence):
    result = run("show", sentence, "--json")
    assert result.stderr == f"not an encoding; using it as --text: {sentence}\n"
    assert result.stdout == run("show", "--text", sentence, "--json").stdout
    assert json.loads(result.stdout)["panels"][0]["rows"]["labels"] == split_at_spaces(sentence)


@pytest.mark.parametrize("name", ["RoPE", "RoPE(64)", "pe.rope(64)", "旋转位置编码", "rope"])
def test_every_spelling_of_an_encoding_draws_the_same(run, name):
    result = run("show", name, "--json")
    assert result.stderr == ""
    assert json.loads(result.stdout)["title"].startswith("RoPE(64)")
    assert result.stdout == run("show", "rope", "--json").stdout


def test_the_help_of_show_describes_what_it_prints(run):
    """Every key of its JSON and every column of its CSV."""
    told = set(re.findall(r"\w+", run("show", "--help").stdout))

    def keys(data):
        if isinstance(data, dict):
            return set(data).union(*map(keys, data.values()))
        return set().union(*map(keys, data)) if isinstance(data, list) else set()

    for kind in ("heatmap", "decay", "rotation"):
        made = run("show", "rope", "--text", "a b", "--kind", kind, "--json")
        assert keys(json.loads(made.stdout)) <= told
    assert set(run("show", "a", "--csv").stdout.splitlines()[0].split(",")) <= told


def test_show_loads_a_file_and_reads_a_config(run, tmp_path):
    (tmp_path / "mine.py").write_text(STRETCH.replace("{claims}", ""))
    assert run("show", "--load", "mine.py").stdout == "posenc-Stretch.png\n"
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    result = run("show", "config.json", "--kind", "wavelengths", "--json")
    marks = json.loads(result.stdout)["panels"][0]["marks"]
    assert marks == [{"name": "trained length: 128", "x": None, "y": 128.0}]


def test_show_learned_is_seeded(run):
    views = [run("show", "learned", "--text", "a b", "--json", "--seed", s) for s in "001"]
    assert views[0].stdout == views[1].stdout
    values = [json.loads(made.stdout)["panels"][0]["values"] for made in views]
    assert values[0] == values[1] != values[2]


def test_choices_of_the_command_are_those_of_the_library(run):
    from posenc.cli import show
    from posenc.views import KINDS

    options = {option.name: option for option in show.params}
    assert tuple(options["lang"].type.choices) == LANGUAGES
    assert f"--kind [{'|'.join(KINDS)}]" in run("show", "--help").stdout
    refused = run("show", "--kind", "pie")
    assert refused.exit_code == 2
    assert f"'pie' is not one of {', '.join(map(repr, KINDS))}." in refused.stderr


def test_show_takes_heads_and_a_short_o(run, tmp_path):
    result = run("show", "alibi", "--heads", "3", "--json")
    assert json.loads(result.stdout)["title"].startswith("ALiBi(3)")
    assert run("show", "alibi", "-o", "a.svg").stdout == "a.svg\n"
    assert (tmp_path / "a.svg").exists()


@pytest.mark.parametrize(
    "sentence", ["$\\frac{$ bad", "cost $a_$", "\udcff\udcfe", "x" * 2000, "\x07 a"]
)
def test_unusual_sentences_are_drawn(run, sentence):
    result = run("show", sentence)
    assert result.exit_code == 0
    assert result.stdout == "posenc-sinusoidal.png\n"


def test_text_may_equal_the_default_sentence(run, tmp_path):
    """As in the README: what is typed may equal the default."""
    path = tmp_path / "dog.png"
    args = ("show", "rope", "--text", "the dog bit the man", "--kind", "attention", "-o", str(path))
    assert run(*args).exit_code == 0
    assert path.exists()
