import json
import re
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.names.resolve import SCALED, spelled
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
    (panel,) = json.loads(result.stdout)["panels"]
    assert panel["rows"]["labels"] == list("犬が人を噛む")
    assert np.allclose(panel["values"], pe.Sinusoidal(8).encode(range(6)))


def test_show_csv_is_one_long_table(run):
    result = run("show", "ALiBi(1)", "--length", "2", "--csv")
    lines = result.stdout.splitlines()
    assert lines[0] == "panel,title,row,row_label,column,column_label,value,length"
    assert lines[1] == "0,query at 1,0,head 1,-1.0,,-0.00390625,"


def test_show_several_side_by_side_in_a_language_of_the_readers(run):
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
def test_show_of_a_kind_alone_takes_an_encoding_that_suits(run, kind, name):
    alone = run("show", "--kind", kind, "--length", "4", "--json").stdout
    assert alone == run("show", name, "--kind", kind, "--length", "4", "--json").stdout
    assert json.loads(alone)["kind"] == kind


@pytest.mark.parametrize("sentence", ["hello", "rope is", "我 爱 学习 AI", "wait (a moment)"])
def test_a_lone_argument_that_is_nothing_else_is_a_sentence(run, sentence):
    result = run("show", sentence, "--json")
    assert result.stderr == f"taken as a sentence, as by --text: {sentence}\n"
    assert result.stdout == run("show", "--text", sentence, "--json").stdout
    assert json.loads(result.stdout)["panels"][0]["rows"]["labels"] == tokens(sentence)


@pytest.mark.parametrize("name", ["RoPE", "RoPE(64)", "pe.rope(64)", "旋转位置编码", "rope"])
def test_an_encoding_is_shown_however_it_is_written(run, name):
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
    (tmp_path / "mine.py").write_text(MINE.replace("{claims}", ""))
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


def test_choices_of_the_command_are_those_of_the_library():
    """The command writes them down itself, so that --help need not import anything."""
    from posenc.cli import show
    from posenc.i18n import LANGUAGES
    from posenc.views import KINDS

    options = {option.name: option for option in show.params}
    assert tuple(options["kind"].type.choices) == tuple(KINDS)
    assert tuple(options["lang"].type.choices) == LANGUAGES


@pytest.mark.parametrize(
    ("tag", "lang"),
    [
        *(("zh", "zh-Hans"), ("zh-CN", "zh-Hans"), ("zh_TW", "zh-Hant"), ("jp", "ja")),
        *(("zh-HK", "zh-Hant"), ("ja-JP", "ja"), ("en_US.UTF-8", "en"), ("ZH-HANT-TW", "zh-Hant")),
        *(("zh-Hans-HK", "zh-Hans"), ("zh-Hant", "zh-Hant")),
    ],
)
def test_a_language_is_understood_by_its_usual_tags(run, tag, lang):
    told = json.loads(run("explain", "nope", "--lang", tag, "--json").stdout)
    assert told == pe.explain("nope", lang=tag).to_json() == pe.explain("nope", lang=lang).to_json()
    assert pe.compare("nope", bench=False, lang=tag).lang == lang
    assert pe.views.view("nope", lang=tag).title == pe.views.view("nope", lang=lang).title
    assert pe.demonstrate("addition", lang=tag) == pe.demonstrate("addition", lang=lang)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("show", " "), "the sentence has no tokens"),
        (("show", "a", "--dim", "0"), "dim must be a whole number of at least 1"),
        (("show", "a", "--dim", "x"), "'x' is not a valid integer"),
        (("show", "a", "--seed", "-1"), "seed must be a whole number of at least 0; got seed=-1"),
        (("show", "rpoe"), "no encoding is called 'rpoe'; did you mean rope?"),
        (("show", "rop"), "did you mean rope? `posenc list` shows every name; a sentence is given"),
        (("show", "RoPE(64"), "'(' was never closed"),
        (("show", "confg.json"), "no such file: confg.json"),
        (("show", "missing/config.json"), "no such file: missing/config.json"),
        (("show", "rope", "the dog"), "no encoding is called 'the dog'"),
        (("show", "rope", "the dog"), "a sentence is given by --text 'the dog'"),
        (("show", "fourier-features", "--text", "a"), "does not encode the tokens"),
        (("show", "a", "--out", "a.bmp"), "must end in .png, .svg or .pdf; got a.bmp"),
        (("show", "a", "--out", "no/such/a.png"), "cannot write no/such/a.png"),
        (("bench", "--rounds", "0"), "rounds must be a whole number of at least 1; got rounds=0"),
        (
            ("show", "a", "--json", "--out", "a.png"),
            "--out must be left out: --json and --csv print",
        ),
        (("show", "a", "--csv", "--dark"), "--dark must be left out: --json and --csv"),
        (("show", "a", "--csv", "--dpi", "150"), "--dpi must be left out"),
        (("show", "rope", "--heads", "4"), "heads must be left out: there is none in RoPE; got"),
        (("show", "alibi", "--dim", "4"), "dim must be left out: there is none in ALiBi"),
        (("show", "RoPE(8)", "--dim", "4"), "dim must be left out for what has its own size"),
        (("show", "rope", "--kind", "wavelengths", "--channels", "1"), "channels must be left out"),
        (("show", "rope", "--head", "1"), "head must be left out"),
        (("show", "rope", "--causal"), "causal must be left out"),
        (("show", "rope", "--seed", "3"), "--seed must be left out: it changes nothing here"),
        (("show", "rope", "--trained", "3"), "--trained must be left out: it changes nothing"),
        (("show", "--text", " "), "the sentence has no tokens"),
        (
            ("explain", "alibi", "--position", "4"),
            "--position must be left out: it changes nothing",
        ),
        (
            ("explain", "alibi", "--position", "3"),
            "--position must be left out: it changes nothing",
        ),
        (("explain", "rope", "--seed", "1"), "--seed must be left out: it changes nothing here"),
        (("explain", "rope", "--heads", "1"), "heads must be left out: there is none in RoPE"),
        (("explain", "rope", "--json", "--digits", "3"), "--digits must be left out: JSON has all"),
        (("explain", "rope", "--json", "--format", "html"), "--json and --format html cannot both"),
        (("explain", "swin", "--text", "a b"), "--text must be left out: it changes nothing here"),
        (
            ("explain", "rope", "--text", "a", "--length", "3"),
            "length must be left out where tokens",
        ),
        (("explain", "rope", "-o", "no/x.html"), "cannot write no/x.html"),
        (("show", "rope", "-o", ""), "'-o' / '--out': must be the name of a file; got ''"),
        (("explain", "rope", "-o", ""), "must be the name of a file; got ''"),
        (("demo", "addition", "-o", ""), "must be the name of a file; got ''"),
        (("explain", "rope", "-o", "x.pdf"), "must end in .txt, .md, .tex, .html or .json; got x"),
        (("demo", "addition", "-o", "x.PNG"), "must end in .txt, .md, .tex, .html or .json; got x"),
        (("compare", "nope", "--json", "--format", "text"), "--json and --format text cannot both"),
        (("compare", "rope", "--heads", "3"), "heads must be left out: there is none in RoPE"),
        (("compare", "RoPE(8)", "--dim", "3"), "sizes must be left out: they are for names"),
        (
            ("config", "bert.json", "--pairing", "halves"),
            "--pairing must be left out: bert",
        ),
        (("compare", "--all", "rope"), "ENCODING must be left out beside --all; got rope"),
        (("check", "--all", "rope", "yarn"), "must be left out beside --all; got rope yarn"),
        (("list", "rop"), "did you mean rope?"),
        (("bench", "rop"), "did you mean rope?"),
        (("rope",), "no such command: rope; for the encoding: posenc show rope"),
        (("help", "shwo"), "no such command: shwo; did you mean show?"),
        (("show", "a", "--json", "--csv"), "--json and --csv cannot both be; leave one out"),
        (("show", "a", "--kind", "pie"), "'pie' is not one of 'heatmap', 'waves'"),
        (("show", "alibi", "--kind", "rotation"), "suits ALiBi (bias, attention)"),
        (("show", "a", "--channels", "x"), "must be whole numbers, such as 0,1,8; got x"),
        (("show", "a", "--size", "big"), "size must be inches as WIDTHxHEIGHT, such as 8x4.5"),
        (("show", "a", "--dpi", "1"), "dpi must be a finite number of at least 10"),
        (("show", "a b", "--length", "3"), "length must be left out where there are tokens"),
        (("show", "--load", "none.py"), "file must be a Python file that exists; got none.py"),
        (("shwo",), "no such command: shwo; did you mean show?"),
    ],
)
def test_wrong_usage_is_a_sentence_and_exit_code_2(run, tmp_path, arguments, message):
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
        ("rop", "shows every name; a sentence is given by --text 'rop'"),
    ],
)
def test_a_sentence_is_offered_where_there_can_be_one(run, command, what, end):
    told = " ".join(run(command, what).stderr.split())
    assert told.endswith(end)


def test_the_command_alone_says_what_to_try(run):
    result = run()
    assert result.exit_code == 0
    tried = re.findall(r"^  posenc (\w+)", result.stdout, re.MULTILINE)
    assert tried == ["explore", "show", "explain", "compare", "list", "help"]


def test_help_is_that_of_the_command(run):
    assert run("help").stdout == run("--help").stdout.replace("Usage: main", "Usage: posenc")
    told = json.loads(run("help", "show", "--json").stdout)
    assert told["help"] + "\n" == run("help", "show").stdout
    assert "Usage: posenc show" in told["help"]


def test_show_takes_heads_and_a_short_o(run, tmp_path):
    result = run("show", "alibi", "--heads", "3", "--json")
    assert json.loads(result.stdout)["title"].startswith("ALiBi(3)")
    assert run("show", "alibi", "-o", "a.svg").stdout == "a.svg\n"
    assert (tmp_path / "a.svg").exists()


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("x.html", "html"),
        ("x.md", "markdown"),
        ("x.json", "json"),
        ("x.tex", "latex"),
        ("x.TXT", "text"),
        ("x", "text"),
    ],
)
def test_explain_writes_a_file_in_the_format_of_its_ending(run, tmp_path, name, form):
    assert run("explain", "rope", "-o", name).stdout == f"{name}\n"
    assert (tmp_path / name).read_text() == pe.explain("rope").shown(form)


def test_explain_takes_a_sentence(run):
    told = run("explain", "the dog").stdout
    assert told == run("explain", "sinusoidal", "--text", "the dog").stdout
    assert told == str(pe.explain("sinusoidal", tokens="the dog"))


def test_list_tells_all_about_one(run):
    told = run("list", "RoPE").stdout
    for part in ("rotary position embedding", "base=10000.0", "arXiv:2104.09864 (2021)", "Llama"):
        assert part in told
    row = json.loads(run("list", "t5", "--json").stdout)["encodings"]["t5"]
    assert row["parameters"]["heads"]["default"] is None
    assert row["parameters"]["buckets"]["default"] == "32"
    assert row["parameters"]["heads"]["help"] in run("list", "t5").stdout
    assert row["traits"] == list(pe.T5Bias(8).traits.claims())
    assert row["models"] == list(pe.T5Bias.about.models)


def test_bench_times_one_encoding(run):
    told = json.loads(run("bench", "RoPE(8)", "--rounds", "1", "--json").stdout)
    assert told["encodings"]["RoPE(8)"]["dim"] == 8
    assert run("bench", "nope", "--rounds", "1").stdout.splitlines()[1].startswith("nope ")


def test_compare_takes_all(run, monkeypatch):
    taken = []
    monkeypatch.setattr("posenc.comparison.measured", lambda name, *_, **__: taken.append(name))
    run("compare", "--all")
    assert taken == [*pe.catalogue()]


def test_config_takes_the_pairing_that_it_asks_for(run, tmp_path):
    config = {"model_type": "mine", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    assert "pairing given" in run("config", "config.json").stderr
    result = run("config", "config.json", "--pairing", "halves")
    assert result.exit_code == 0
    assert "pairing halves" in result.stdout


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
    listed = [line.split()[0] for line in run("list").stdout.splitlines()]
    assert listed == [*pe.catalogue(), *SCALED]
    data = json.loads(run("list", "--json").stdout)
    row = data["encodings"]["learned"]
    assert row == {"acts": "additive", "parameters": ["length", "dim", "std"]}
    for name, expression in data["variants"].items():
        assert spelled(expression) == SCALED[name](64)


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


MINE = """
from dataclasses import dataclass
import numpy as np
import posenc as pe

@dataclass(frozen=True)
class Stretch(pe.Rotary):
    dim: int = 4
    traits = pe.Traits({claims})
    def cos_sin(self, positions, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.array([1.0, 0.1])
        return 2 * np.cos(angle).astype(dtype), 2 * np.sin(angle).astype(dtype)
"""


def test_check_measures_by_name_and_shows_progress(run):
    result = run("check", "alibi", "posenc:NoPE")
    assert result.exit_code == 0
    assert result.stderr == "[1/2] alibi\n[2/2] posenc:NoPE\n"
    assert "ALiBi(8)" in result.stdout
    assert result.stdout.count("all claims hold") == 2


@pytest.mark.parametrize(("claims", "code"), [("", 0), ("norm_preserving=True", 1)])
def test_check_loads_a_file_and_a_failed_claim_is_exit_code_1(run, tmp_path, claims, code):
    (tmp_path / "mine.py").write_text(MINE.replace("{claims}", claims))
    result = run("check", "--load", "mine.py", "--json")
    assert result.exit_code == code
    told = json.loads(result.stdout)
    assert told["ok"] is (code == 0)
    rows = {row["name"]: row for row in told["reports"]["Stretch"]["rows"]}
    assert rows["norm_preserving"]["measured"] == pytest.approx(1.0)


def test_check_is_not_fooled_by_a_file_that_leaves(run, tmp_path):
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit(0)\n")
    result = run("check", "--load", "leaves.py")
    assert result.exit_code == 2
    assert "file must run; got leaves.py, which ends with SystemExit: 0" in result.stderr


def test_check_keeps_data_and_prints_apart(run, tmp_path):
    mine = MINE.replace("{claims}", "").replace("angle =", "print('turning'); angle =")
    (tmp_path / "mine.py").write_text("from __future__ import annotations\n" + mine)
    result = run("check", "--load", "mine.py", "--json")
    assert json.loads(result.stdout)["ok"] is True


def test_check_reads_a_config(run, tmp_path):
    config = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
    config |= {"num_hidden_layers": 2, "max_position_embeddings": 128, "rope_theta": 10_000.0}
    (tmp_path / "config.json").write_text(json.dumps(config))
    result = run("check", "config.json")
    assert result.exit_code == 0
    assert "RoPE(16, " in result.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name an encoding, or give --load FILE or --all"),
        (("rop",), "no encoding is called 'rop'; did you mean rope?"),
        (("--load", "none.py"), "file must be a Python file that exists; got none.py"),
        (("json:nothing",), "an encoding must be importable; got 'json:nothing'"),
        (("nowhere:x",), "an encoding must be importable; got 'nowhere:x'"),
        (("nope", "--limit", "0"), "limit must be a finite number of at least 0.001"),
        (("json:loads",), "what is named must be an Encoding; got <function loads"),
        (("nope", "--seed", "-1"), "seed must be a whole number of at least 0; got seed=-1"),
    ],
)
def test_check_says_what_is_wrong(run, arguments, message):
    result = run("check", *arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.split())


def test_a_sentence_that_is_the_usual_one_is_a_sentence(run, tmp_path):
    """As in the README: what is typed may equal the default."""
    path = tmp_path / "dog.png"
    args = ("show", "rope", "--text", "the dog bit the man", "--kind", "attention", "-o", str(path))
    assert run(*args).exit_code == 0
    assert path.exists()
