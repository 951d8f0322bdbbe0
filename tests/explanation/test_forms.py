"""Explanations as text, Markdown, LaTeX, HTML and JSON."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import posenc as pe
from posenc.explanation import maths
from posenc.i18n.terminal import width
from tests.explanation.sizes import EVERY, of_size


@pytest.mark.parametrize("name", EVERY)
def test_pages_are_well_formed(name):
    explained = of_size(name)
    page = ET.fromstring(
        explained.render("html")
        .replace("<!doctype html>\n", "")
        .replace('<meta charset="utf-8">', "")
    )
    assert len(page.findall(".//math")) == sum(len(s.formulas) for s in explained.steps)
    assert len(page.findall(".//li")) == len(explained.steps)
    document = explained.render("latex")
    assert document.isascii() or "�" not in document
    assert document.count(r"\begin{") == document.count(r"\end{")
    for formula in (f for s in explained.steps for f in s.formulas):
        shown = maths.latex(formula)
        assert shown.isascii(), shown
        assert shown.count("{") == shown.count("}")
    for block in explained.render("markdown").split("\n\n"):
        if block.startswith("|"):
            assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_tokens_are_not_read_as_markup():
    explained = pe.explain("alibi", heads=1, tokens=["a", "[SEP]", "*b*", "\\", "x_1", "<i>", "~"])
    latex = explained.render("latex")
    rows = [line.split(" & ")[0] for line in latex.splitlines() if line.endswith(r" \\")]
    for name in (
        "{[}SEP] 1",
        "{*}b{*} 2",
        r"\textbackslash{} 3",
        r"x\_1 4",
        r"\textasciitilde{} 6",
    ):
        assert name in rows
    markdown = explained.render("markdown")
    for name in (r"\[SEP\] 1", r"\*b\* 2", r"\\ 3", r"x\_1 4", r"\<i\> 5", r"\~ 6"):
        assert f"| {name} |" in markdown
    assert "<td>&lt;i&gt; 5</td>" in explained.render("html")


def test_columns_stand_under_each_other_whatever_the_script():
    text = str(pe.explain("sinusoidal", tokens="我 爱 learning ＡＩ"))
    start = next(n for n, line in enumerate(text.splitlines()) if "我 0" in line)
    lines = text.splitlines()[start - 1 : start + 4]
    assert len({width(line) for line in lines}) == 1
    assert width("我a\u0301") == 3


def test_a_large_table_is_shortened_and_says_so_but_not_in_json():
    explained = pe.explain("sinusoidal", dim=64, length=100)
    text = str(explained)
    assert "48 columns are not shown; JSON has all of them" in text
    assert "61 rows are not shown; JSON has all of them" in text
    step = json.loads(explained.render("json"))["steps"][3]
    assert np.array(step["table"]["rows"])[:, 1:].shape == (100, 64)


def test_digits():
    assert "0.295520207" in str(pe.explain("sinusoidal", digits=9))
    assert maths.number(1e-12) == "1e-12"
    assert maths.latex(1e-12) == r"1 \cdot 10^{-12}"
