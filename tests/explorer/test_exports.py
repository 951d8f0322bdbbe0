"""Exports are what the library makes: arrays, tables, pictures, code."""

import csv
import io

import numpy as np
import pytest

import posenc as pe
from posenc.names.resolve import evaluate_encoding
from posenc.views import Dials, Image, view


def test_exports_are_what_the_library_makes(client):
    asked = {"e": "Sinusoidal(8)", "text": "我 爱 AI", "by": "spaces", "view": "heatmap"}
    made = view(pe.Sinusoidal(8), "heatmap", tokens=["我", "爱", "AI"])
    table = client.get("/api/v1/export/csv", **asked)
    assert table.body.startswith(b"\xef\xbb\xbf")  # by which a spreadsheet knows UTF-8
    text = table.body.decode("utf-8-sig")
    assert text == made.to_csv()
    assert len(list(csv.reader(io.StringIO(text)))) == 1 + 3 * 8
    array = client.get("/api/v1/export/npy", **asked).npy
    assert array.dtype == np.float64
    assert (array == made.panels[0].values).all()
    assert client.get("/api/v1/export/png", **asked).body.startswith(b"\x89PNG")
    assert b"<svg" in client.get("/api/v1/export/svg", **asked, theme="dark").body
    for form in ("csv", "npy", "py"):
        header = client.get(f"/api/v1/export/{form}", **asked).headers["content-disposition"]
        assert header.startswith('attachment; filename="posenc')


@pytest.mark.parametrize(
    ("kind", "expressions"),
    [
        ("heatmap", ["Sinusoidal(8)", "RoPE(8)"]),
        ("similarity", ["Sinusoidal(8)"]),
        ("bias", ["ALiBi(2)", "T5Bias(2)"]),
        ("rotation", ["RoPE(8)", "RoPE(8, base=100.0)"]),
        ("attention", ["Shaw(8, 2)"]),
    ],
)
def test_arrays_of_several_panels_come_together(client, kind, expressions):
    asked = {"e": expressions, "text": "我 爱 AI", "by": "spaces", "view": kind, "lang": "ja"}
    made = view(
        [evaluate_encoding(e) for e in expressions], kind, tokens=["我", "爱", "AI"], lang="ja"
    )
    answer = client.get("/api/v1/export/npy", **asked)
    assert answer.headers["content-disposition"] == f'attachment; filename="posenc-{kind}.npz"'
    arrays = answer.npy
    assert list(arrays["titles"]) == [panel.title for panel in made.panels]
    assert set(arrays) == {"titles"} | {f"panel_{i}" for i in range(len(made.panels))}
    for place, panel in enumerate(made.panels):
        if isinstance(panel, Image):
            expected = panel.values
        elif isinstance(panel, Dials):
            expected = panel.hands
        else:
            expected = np.stack([panel.x, *(line.y for line in panel.lines)])
        assert arrays[f"panel_{place}"].dtype == np.float64
        np.testing.assert_array_equal(arrays[f"panel_{place}"], expected)
        alone = client.get("/api/v1/export/npy", panel=place, **asked)
        assert alone.headers["content-disposition"].endswith('.npy"')
        np.testing.assert_array_equal(alone.npy, expected)
    beyond = client.get("/api/v1/export/npy", panel=len(made.panels), **asked)
    assert (beyond.status, beyond.argument) == (400, "panel")


@pytest.mark.parametrize(
    "expressions",
    [
        ["RoPE(8, scaling=YaRN(4.0, 4096))"],
        ["Sinusoidal(8) # ]", "Learned(64, 8)"],
        ["AxialSinusoidal.mae(16)"],
        ["Tempered(RoPE(8), LogN(512))"],
    ],
)
def test_the_exported_code_runs_and_makes_the_same(client, expressions, monkeypatch):
    code = client.get("/api/v1/export/py", e=expressions, text="a b", seed=3).body.decode()
    shown = {}
    monkeypatch.setattr(pe, "show", lambda what, kind, **more: shown.update(what=what) or Nothing())
    exec(compile(code, "posenc.py", "exec"), {})
    assert shown["what"] == [evaluate_encoding(expression) for expression in expressions]


class Nothing:
    def savefig(self, name):
        assert name.startswith("posenc-")


def test_the_exported_code_has_the_waves_that_are_shown(client):
    asked = {"e": "Sinusoidal(8)", "n": 8, "channels": "0,1,7,9"}
    code = client.get("/api/v1/export/py", **asked, view="waves").body.decode()
    assert "length=length, channels=[0, 1, 7], seed=0" in code
    code = client.get("/api/v1/export/py", **asked, view="heatmap").body.decode()
    assert "channels" not in code


def test_a_token_is_no_formula_of_a_spreadsheet(client):
    tokens = ["=1+1", "+x", "-x", "@SUM(A1)", "-1", "a=b"]
    asked = {"e": "Sinusoidal(4)", "text": " ".join(tokens), "view": "heatmap"}
    text = client.get("/api/v1/export/csv", **asked).body.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text)))[1:]
    labels = list(dict.fromkeys(cell for row in rows for cell in row if cell.strip("'") in tokens))
    assert labels == ["'=1+1", "'+x", "'-x", "'@SUM(A1)", "-1", "a=b"]
    values = np.array([float(row[-2]) for row in rows]).reshape(6, 4)
    assert values == pytest.approx(pe.Sinusoidal(4).encode(range(6)))
