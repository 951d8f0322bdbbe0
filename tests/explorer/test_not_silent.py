"""Nothing that was asked for is left out, or taken for something else, without a word."""

import csv
import io
import json

import numpy as np
import pytest

import posenc as pe
from posenc.i18n import LANGUAGES
from posenc.i18n import told as told_in

SWIN = {
    "model_type": "swin",
    "num_heads": [2, 4, 8, 16, 32],
    "depths": [1, 1, 1, 1, 1],
    "window_size": 7,
}


@pytest.mark.parametrize("lang", LANGUAGES)
def test_a_config_of_five_encodings_says_that_four_are_shown(client, lang):
    body = json.dumps(SWIN).encode()
    told = client.ask("POST", b"/api/v1/config", f"lang={lang}".encode(), body=body).json
    assert len(told["expressions"]) == 4
    assert "5" in told["notes"][0]
    assert "4" in told["notes"][0]
    four = SWIN | {"num_heads": [2, 4, 8, 16], "depths": [1] * 4}
    body = json.dumps(four).encode()
    again = client.ask("POST", b"/api/v1/config", f"lang={lang}".encode(), body=body).json
    assert again["notes"] == [told_in(note, lang) for note in pe.read_config(four).notes]


@pytest.mark.parametrize(
    ("lang", "parts", "note"),
    [
        ("en", ["encoder", "decoder"], "layers 0-1 are in the encoder, 2-3 in the decoder"),
        ("zh-Hant", ["編碼器", "解碼器"], "第 0-1 層屬於編碼器，第 2-3 層屬於解碼器"),
    ],
)
def test_a_config_keeps_its_notes_and_says_which_part_has_which(client, lang, parts, note):
    body = json.dumps({"model_type": "t5", "num_heads": 8, "num_layers": 2}).encode()
    told = client.ask("POST", b"/api/v1/config", f"lang={lang}".encode(), body=body).json
    assert told["parts"] == parts
    assert note in told["notes"]


@pytest.mark.parametrize("name", ["roberta", "opt"])
def test_a_config_says_that_positions_start_at_2(client, name):
    config = {
        "model_type": name,
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "max_position_embeddings": 514,
    }
    told = client.post("/api/v1/config", config).json
    assert "the first token has position 2: add 2 to positions" in told["notes"]
    assert told["parts"] == [None]


def test_channels_that_are_not_in_every_encoding_are_named(client):
    asked = {"e": ["Sinusoidal(8)", "RoPE(8)"], "n": 8}
    notes = {
        lang: client.get("/api/v1/view/waves", **asked, channels="0,5,9", lang=lang).json["notes"]
        for lang in LANGUAGES
    }
    assert notes["en"][-1] == "not shown, as some encodings lack them: 5, 9"
    assert len({said[-1] for said in notes.values()}) == len(LANGUAGES)
    fewer = client.get("/api/v1/view/waves", **asked, channels="0,3").json["notes"]
    assert fewer == notes["en"][:-1]


def test_the_exported_code_has_the_waves_that_are_shown(client):
    asked = {"e": "Sinusoidal(8)", "n": 8, "channels": "0,1,7,9"}
    code = client.get("/api/v1/export/py", **asked, view="waves").body.decode()
    assert "length=length, channels=[0, 1, 7], seed=0" in code
    code = client.get("/api/v1/export/py", **asked, view="heatmap").body.decode()
    assert "channels" not in code


@pytest.mark.parametrize("value", ["banana", "True", "1", ""])
def test_a_flag_is_true_or_false(client, value):
    answer = client.get("/api/v1/spell", ("set.bidirectional", value), e="T5Bias(8)")
    assert (answer.status, answer.argument) == (400, "bidirectional")
    assert answer.message == f"bidirectional must be one of true, false; got {value!r}"


def test_a_token_is_no_formula_of_a_spreadsheet(client):
    tokens = ["=1+1", "+x", "-x", "@SUM(A1)", "-1", "a=b"]
    asked = {"e": "Sinusoidal(4)", "text": " ".join(tokens), "view": "heatmap"}
    text = client.get("/api/v1/export/csv", **asked).body.decode("utf-8-sig")
    rows = list(csv.reader(io.StringIO(text)))[1:]
    labels = list(dict.fromkeys(cell for row in rows for cell in row if cell.strip("'") in tokens))
    assert labels == ["'=1+1", "'+x", "'-x", "'@SUM(A1)", "-1", "a=b"]
    values = np.array([float(row[-2]) for row in rows]).reshape(6, 4)
    assert values == pytest.approx(pe.Sinusoidal(4).encode(range(6)))
