"""The report of `verify`."""

import json

from posenc.models.report import Row, SwapReport

GOOD = Row("layer 0", "rotated queries and keys", "RoPE(8)", 1e-7, 1e-6)
BAD = Row("layer 1", "output of attention", "ALiBi(<4>)", float("nan"), 1e-6)
OWN = Row("layer 2", "unchanged, in the model's own code", "NoPE()", 0.0, 0.0)


def test_text():
    report = SwapReport("llama, 2 layers, float32", (GOOD, OWN), ("a note",))
    assert report.ok
    assert str(report).splitlines() == [
        "llama, 2 layers, float32: everything is as it should be",
        "  layer 0  RoPE(8)  rotated queries and keys            1.0e-07 (bound 1.0e-06)  holds",
        "  layer 2  NoPE()   unchanged, in the model's own code",
        "note: a note",
    ]


def test_what_is_beyond_its_bound_or_no_number_fails():
    report = SwapReport("llama", (GOOD, BAD))
    assert not report.ok
    assert report.failed == (BAD,)
    assert "llama: 1 of 2 are not as they should be" in str(report)
    assert "nan (bound 1.0e-06)      FAILS" in str(report)


def test_html_and_json():
    report = SwapReport("llama", (GOOD, BAD), ("a < b",))
    page = report._repr_html_()
    assert "ALiBi(&lt;4&gt;)" in page
    assert "<li>a &lt; b</li>" in page
    assert page.count("<tr>") == 3
    data = report.to_json()
    assert (data["ok"], [row["holds"] for row in data["rows"]]) == (False, [True, False])
    assert json.loads(json.dumps(data, allow_nan=False))["rows"][1]["measured"] is None
