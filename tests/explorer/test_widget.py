"""The explorer in a notebook: what the page asks by messages is answered as the server would."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.explorer.widget import answer


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
