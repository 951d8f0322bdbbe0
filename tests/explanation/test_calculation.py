"""`explain`: every encoding, in every language; what cannot be explained is a sentence."""

import json
import re

import pytest
from click.testing import CliRunner

import posenc as pe
from posenc.cli import main
from posenc.explanation.forms import FORMS
from posenc.i18n import LANGUAGES
from posenc.names.resolve import resolve
from tests.explanation.reading import leaves
from tests.explanation.sizes import EVERY, of_size


@pytest.mark.parametrize("name", EVERY)
def test_every_encoding_in_every_language_and_form(name):
    english = of_size(name)
    for lang in LANGUAGES:
        same_steps(of_size(name, lang=lang), english, lang)


def same_steps(explained, english, lang):
    assert [s.name for s in explained.steps] == [s.name for s in english.steps]
    for mine, theirs in zip(explained.steps, english.steps, strict=True):
        assert mine.formulas == theirs.formulas
        assert (mine.words == theirs.words) == (lang == "en")
    for form in FORMS:
        assert "{" not in explained.render(form) or form in ("json", "latex", "html", "markdown")
    data = json.loads(explained.render("json"))
    for told, step in zip(data["steps"], explained.steps, strict=True):
        rows = [list(row) for row in step.table.rows] if step.table else None
        assert (told["table"] or {}).get("rows") == rows


@pytest.mark.parametrize("name", EVERY)
def test_every_encoding_begins_with_its_formula_in_letters(name):
    explained = of_size(name)
    first = explained.steps[0]
    assert first.name == "formula"
    letters = [leaf for f in first.formulas for leaf in leaves(f) if isinstance(leaf, str)]
    assert any(re.fullmatch(r"[a-zA-Zθ]|PE", letter) for letter in letters)
    names = [step.name for step in explained.steps]
    assert len(set(names)) == len(names)  # a page links to each of them


@pytest.mark.parametrize("name", EVERY)
def test_what_is_written_reads_well(name):
    text = str(of_size(name, position=1))
    for odd in (r"[+−·] -", r"\b1 rows", r"\b1 columns", r"-\d+ positions", r"\bnan\b", r"\binf\b"):
        assert not re.search(odd, text), odd


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"encoding": 7},
            "encoding must be an Encoding .*, a name, .*; got 7",
        ),
        ({"encoding": "rope", "position": -1}, "position must be a whole number of at least 0"),
        ({"encoding": "rope", "length": 0}, "length must be a whole number of at least 1"),
        ({"encoding": "rope", "length": 513}, "length must be .*513"),
        ({"encoding": "rope", "tokens": " "}, "tokens must be 1 .. 512; got 0"),
        (
            {"encoding": "rope", "tokens": "a b", "length": 2},
            "length must be left out where tokens",
        ),
        ({"encoding": "rope", "lang": "fr"}, "lang must be 'en' or"),
        ({"encoding": "rope", "digits": 0}, "digits must be a whole number of at least 1"),
        ({"encoding": pe.RoPE(8), "dim": 8}, "dim and heads are for names of encodings"),
        (
            {"encoding": "alibi", "dim": 8},
            "dim must be left out: not a size of ALiBi; got dim=8",
        ),
        (
            {"encoding": "rope", "heads": 8},
            "heads must be left out: not a size of RoPE; got heads=8",
        ),
        ({"encoding": "rope", "seed": -1}, "seed must be a whole number of at least 0"),
    ],
)
def test_what_cannot_be_explained_is_a_sentence(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pe.explain(**options)


def test_a_config_with_several_encodings_is_not_one(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(
        json.dumps(
            {
                "model_type": "smollm3",
                "hidden_size": 64,
                "num_attention_heads": 4,
                "num_hidden_layers": 4,
                "max_position_embeddings": 64,
                "rope_theta": 1e4,
                "no_rope_layers": [1, 1, 1, 0],
            }
        )
    )
    assert len(resolve(str(path))) == 2
    with pytest.raises(
        ValueError, match=r"encoding must be a single one; got .* which has RoPE\(16.* and NoPE\(\)"
    ):
        pe.explain(str(path))


@pytest.mark.parametrize("form", FORMS)
def test_the_command_prints_every_form(form):
    run = CliRunner().invoke(main, ["explain", "rope", "--position", "5", "--format", form])
    assert run.exit_code == 0
    assert run.stdout == pe.explain("rope", position=5).render(form)


@pytest.mark.parametrize(
    "arguments", [("rpoe",), ("rope", "--dim", "7"), ("RoPE(8)", "--dim", "8")]
)
def test_wrong_usage_of_the_command(arguments):
    run = CliRunner().invoke(main, ["explain", *arguments])
    assert run.exit_code == 2
    assert "Error: " in run.stderr
    assert run.stdout == ""
