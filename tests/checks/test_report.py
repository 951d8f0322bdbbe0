"""Reports: text, HTML and plain data."""

import json
from dataclasses import replace

import pytest

import posenc as pe
from posenc.checks import Report, Row
from tests.mutants.encodings import MUTANTS
from tests.patient import check


def test_a_report_is_a_table_html_and_json():
    report = check(pe.ALiBi(2))
    assert report.ok
    assert str(report).splitlines()[0].endswith("all claims hold")
    assert json.loads(json.dumps(report.to_json()))["ok"] is True
    with pytest.raises(ValueError, match="name must be that of a check, one of deterministic, "):
        report["speed"]


def test_html_says_the_verdict_first_and_is_escaped():
    row = Row("fast", "How <fast>.", 'It "matters".', "fails", 2.0, "at most 1", "a < b", 0.1)
    other = replace(row, name="other", verdict="not applicable")
    text = Report("<b>mine</b>", (row, other))._repr_html_()
    assert text.startswith("<p><b>1 fail: fast</b>: &lt;b&gt;mine&lt;/b&gt;</p><table>")
    assert 'title="How &lt;fast&gt;. It &quot;matters&quot;."' in text
    assert "<td>2 (at most 1) a &lt; b</td>" in text
    assert "other" not in text
    assert check(pe.ALiBi(2))._repr_html_().startswith("<p><b>all claims hold</b>: ALiBi(2)</p>")


def test_numbers_that_json_has_not_are_left_out():
    report = check(MUTANTS["HoleInTheTable"][0])
    json.dumps(report.to_json(), allow_nan=False)
