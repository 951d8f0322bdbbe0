"""Strengths and weaknesses follow from what was measured."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from posenc.comparison.cells import cells
from posenc.comparison.opinions import strengths, weaknesses
from posenc.encodings.registry import load_builtins
from posenc.i18n import translator
from posenc.names.resolve import resolve
from tests.comparison.conftest import SEEDS


@pytest.mark.parametrize("name", SEEDS)
def test_opinions_follow_from_what_was_measured(table, name):
    entry, t = table[name], translator("en")
    good, bad = strengths(entry, t), weaknesses(entry, t)
    report = entry.report
    assert ("nothing to learn" in good) == (entry.parameters == 0)
    assert ("learned from data" in good) == (entry.trained > 0)
    assert ("takes any length" in good) == (report["any_length"].verdict == "holds")
    assert ("sees distances only" in good) == (report["relative"].verdict == "holds")
    assert ("keeps the lengths of vectors" in good) == (
        report["norm_preserving"].verdict == "holds"
    )
    assert ("a shift is one matrix" in good) == (report["linear_shift"].verdict == "holds")
    assert ("far keys count less" in good) == (report["decays"].verdict == "holds")
    assert ("ends at position 511" in bad) == (name == "learned")
    assert ("for keys behind their query only" in bad) == resolve(name)[name].causal_only
    assert ("a bias written out takes memory for each pair of tokens" in bad) == (
        entry.cost.power > 1.5
    )
    assert set(entry.about.strengths) <= set(good)
    assert set(entry.about.weaknesses) <= set(bad)


def test_opinions_turn_with_the_verdict(table):
    entry, t = table["rope"], translator("en")
    rows = tuple(
        replace(row, verdict="fails") if row.name in ("relative", "unique", "decodes") else row
        for row in entry.report.rows
    )
    broken = replace(entry, report=replace(entry.report, rows=rows), causal_only=True)
    bad = weaknesses(broken, t)
    assert bad[0] == "claims that fail: decodes, relative, unique"
    assert "depends on places, not on distances alone" in bad
    assert "0 positions repeat others" in bad
    assert "cached keys do not stay right" in bad
    assert "for keys behind their query only" in bad
    assert "sees distances only" not in strengths(broken, t)
    assert cells(broken, "en")["relative"].startswith("✗")


def test_nothing_that_a_check_measures_is_typed_in():
    from posenc.comparison import opinions

    text = Path(opinions.__file__).read_text()
    derived = set(re.findall(r't\(\s*"([^"]*)"', text))
    abouts = [kind.about for kind in load_builtins().values()]
    typed = {m for about in abouts for m in (*about.strengths, *about.weaknesses)}
    assert len(derived) > 15
    assert not derived & typed
