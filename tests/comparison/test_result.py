"""A comparison as text, Markdown, HTML and plain data."""

import json
from dataclasses import replace

import pytest

import posenc as pe
from posenc.comparison.cells import headings
from posenc.comparison.opinions import strengths
from posenc.encodings.registry import load_builtins
from posenc.i18n import LANGUAGES, translator
from posenc.i18n.terminal import width
from tests.comparison.conftest import SEEDS


def test_an_entry_is_found_by_its_name(table):
    with pytest.raises(ValueError, match=r"one of sinusoidal, learned, .*; got 'rop'"):
        table["rop"]


def test_json_is_the_data(table):
    told = json.loads(json.dumps(table.to_json()))
    assert told["ok"] is True
    assert [row["name"] for row in told["encodings"]] == list(SEEDS)
    rope = told["encodings"][-1]
    assert rope["parameters"] == {"count": 0, "trained": 0, "bytes": 0}
    assert rope["properties"]["relative"]["verdict"] == "holds"
    assert rope["properties"]["relative"]["measured"] == table["rope"].report["relative"].measured
    assert rope["cost"]["ratio"] == table["rope"].cost.ratio
    assert rope["axial"] == "axial-rope"
    assert rope["year"] == 2021
    assert rope["strengths"] == strengths(table["rope"], translator("en"))


def test_markdown_has_a_row_for_each_and_every_column(table):
    lines = table.to_markdown().splitlines()
    columns = len(headings("en")) + 1
    assert all(line.count(" | ") == columns - 1 for line in (lines[0], *lines[2:8]))
    assert lines[1] == "|---" * columns + "|"
    assert [line.split(" | ")[0].strip("| ") for line in lines[2:8]] == list(SEEDS)


def test_html_is_escaped():
    made = pe.compare({"<b>": pe.NoPE()}, bench=False)._repr_html_()
    assert "&lt;b&gt;" in made
    assert "<b>" not in made


@pytest.mark.parametrize("lang", LANGUAGES)
def test_text_fits_the_terminal_in_every_language(table, lang):
    text = str(replace(table, lang=lang))
    assert max(width(line) for line in text.splitlines()) <= 100
    for name in SEEDS:
        assert f"\n{name}: " in text


def test_more_encodings_than_fit_go_below():
    names = [*load_builtins()][:8]
    text = str(pe.compare(*names, bench=False))
    assert text.count("\nwhere it acts") == 2
    assert max(width(line) for line in text.splitlines()) <= 100
    assert "memory" not in text.split("\n\n", maxsplit=1)[0]  # nothing was timed
