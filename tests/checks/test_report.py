"""Reports: text, HTML and plain data."""

import json

import pytest

import posenc as pe
from tests.mutants.encodings import MUTANTS
from tests.patient import check


def test_a_report_is_a_table_html_and_json():
    report = check(pe.ALiBi(2))
    assert report.ok
    assert str(report).splitlines()[0].endswith("all claims hold")
    assert "<table>" in report._repr_html_()
    assert json.loads(json.dumps(report.to_json()))["ok"] is True
    with pytest.raises(ValueError, match="name must be that of a check, one of deterministic, "):
        report["speed"]


def test_numbers_that_json_has_not_are_left_out():
    report = check(MUTANTS["HoleInTheTable"][0])
    json.dumps(report.to_json(), allow_nan=False)
