"""The explorer in a notebook: what the page asks by messages is answered as the server would."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.explorer import limits
from posenc.explorer.replies import FAILED, LONGEST
from posenc.explorer.widget import answer
from posenc.i18n import LANGUAGES, catalogue


def test_a_widget_has_the_page_and_answers_its_messages():
    widget = pe.explore(pe.RoPE(64), "alibi", text="我 爱 学习 AI", lang="ja")
    assert widget.state.startswith("?v=1&e=RoPE%2864%29&e=ALiBi%288%29&text=")
    assert "render" in widget._esm
    sent = []
    widget.send = lambda content, buffers: sent.append((content, buffers))
    question = {"id": 7, "method": "GET", "path": "tokens?text=a+b&by=spaces", "body": None}
    widget._handle_custom_msg(question, [])
    ((told, (body,)),) = sent
    assert told == {"id": 7, "status": 200, "type": "application/json"}
    assert [token["text"] for token in json.loads(body)["tokens"]] == ["a", "b"]


def test_arrays_files_configs_and_refusals_by_messages():
    status, kind, body = answer("view/heatmap.npy?e=Sinusoidal(8)&n=3", None, {})
    assert (status, kind) == (200, "application/octet-stream")
    values = np.frombuffer(body[-3 * 8 * 4 :], dtype=np.float32).reshape(3, 8)
    assert values == pytest.approx(pe.Sinusoidal(8).encode(range(3)))
    assert answer("export/csv?e=Sinusoidal(8)&n=3", None, {})[1].startswith("text/csv")
    assert answer("nothing", None, {})[0] == 404
    status, _, body = answer("cell?e=RoPE(7)", None, {})
    assert status == 400
    assert "dim must be" in json.loads(body)["error"]["message"]
    config = {"model_type": "bloom", "n_head": 8, "n_layer": 2}
    told = json.loads(answer("config", json.dumps(config), {})[2])
    assert told["expressions"] == ["ALiBi(8)"]
    assert answer("config", "{", {})[0] == 400


@dataclass(frozen=True)
class Clock(pe.Additive):
    dim: int = 2

    def encode(self, positions, params=None, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.pi / 6
        return np.concat([np.sin(angle), np.cos(angle)], axis=-1).astype(dtype or float)


def test_an_encoding_of_ones_own_in_a_notebook():
    assert "e=Clock%28%29" in pe.explore(Clock()).state
    told = json.loads(answer("view/heatmap?e=Clock()&n=4", None, {"Clock()": Clock()})[2])
    assert told["panels"][0]["values"][3] == pytest.approx([1, 0])


def test_an_optional_parameter_can_be_cleared():
    scaled = "spell?e=RoPE(64,scaling=NTK(4.0))&set.scaling="
    assert json.loads(answer(scaled, None, {})[2])["expression"] == "RoPE(64)"


class Failing(pe.Additive):
    dim = 2

    def encode(self, positions, params=None, *, dtype=None):
        raise OSError("the disk is full")


def test_what_fails_is_answered_too(monkeypatch, caplog):
    """Else the page would wait for ever."""
    status, _, body = answer("view/heatmap?e=mine", None, {"mine": Failing()})
    assert status == 400
    assert "mine, which you loaded, failed: OSError" in json.loads(body)["error"]["message"]
    monkeypatch.setattr("posenc.explorer.answers.catalogue", lambda _: 1 / 0)
    status, kind, body = answer("messages?lang=ja", None, {})
    assert (status, kind) == (500, "application/json")
    assert json.loads(body)["error"]["message"] == catalogue("ja")[FAILED]
    assert "ZeroDivisionError" in caplog.text


def test_what_json_does_not_have_is_null_and_long_messages_are_cut(monkeypatch):
    monkeypatch.setattr("posenc.explorer.answers.catalogue", lambda _: {"value": float("nan")})
    assert json.loads(answer("messages", None, {})[2])["messages"] == {"value": None}
    _, _, body = answer(f"spell?e={'x' * 1_999}", None, {})
    assert len(json.loads(body)["error"]["message"]) <= LONGEST + 1


def test_a_config_has_the_size_that_the_server_takes(client):
    for body in ("[" + " " * limits.CONFIG, "数" * (limits.CONFIG // 2)):
        mine, theirs = answer("config", body, {}), client.post("/api/v1/config", body)
        assert mine[0] == theirs.status == 413
        assert mine[2] == theirs.body


def test_an_address_that_is_not_there_is_said_as_the_server_says_it(client):
    for lang in LANGUAGES:
        theirs = client.get("/api/v1/nothing", lang=lang)
        assert answer(f"nothing?lang={lang}", None, {}) == (404, "application/json", theirs.body)
