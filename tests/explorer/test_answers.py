"""Views, tokens, messages and colours are what the library computes."""

import io
import json
import math

import numpy as np
import pytest

import posenc as pe
from posenc.explorer.answers import INLINE
from posenc.i18n import LANGUAGES, catalogue
from posenc.names.expressions import to_source
from posenc.names.resolve import VARIANTS
from posenc.text import MODES, tokenise
from posenc.views import Image, colours, kinds_for, view
from tests.oracles import additive

SENTENCES = ["我 爱 学习 AI", "犬が人を噛む。", "the dog bit the man", "👩‍👩‍👧 é\u0301 \n x"]


EVERY = [
    *(kind.example() for kind in pe.catalogue().values()),
    *(make(64) for make in VARIANTS.values()),
]


@pytest.mark.parametrize(
    ("encoding", "kind"),
    [(encoding, kind) for encoding in EVERY for kind in kinds_for(encoding)],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_a_view_has_the_numbers_of_the_library(client, encoding, kind):
    grid = encoding.axes not in (None, 1)
    given = {} if grid else {"tokens": tokenise("我 爱 AI", by="characters")}
    given = {name: [token.label for token in tokens] for name, tokens in given.items()}
    made = view(encoding, kind, seed=3, lang="ja", **given)
    answer = client.get(
        f"/api/v1/view/{kind}",
        e=to_source(encoding),
        text="我 爱 AI",
        by="characters",
        seed=3,
        lang="ja",
    )
    assert answer.status == 200
    told, mine = answer.json, json.loads(json.dumps(made.to_json()))
    for panel, expected in zip(told["panels"], mine["panels"], strict=True):
        if panel["panel"] == "image":
            assert panel.pop("whole") == panel.pop("shape") == list(np.shape(expected["values"]))
            if panel["values"] is None:
                expected["values"] = None
    assert told == mine


def test_a_large_image_comes_without_values_and_with_its_shape(client):
    answer = client.get("/api/v1/view/heatmap", e="Sinusoidal(512)", n=4096, rows=500, columns=600)
    (panel,) = answer.json["panels"]
    assert panel["values"] is None
    assert panel["shape"] == [math.ceil(4096 / 9), 512]
    assert panel["whole"] == [4096, 512]
    assert panel["ratio"] == [9, 1]


@pytest.mark.parametrize(("n", "inline"), [(64, True), (65, False)])
def test_an_image_is_inline_up_to_its_limit(client, n, inline):
    assert INLINE == 64 * 64
    (panel,) = client.get("/api/v1/view/heatmap", e="Sinusoidal(64)", n=n).json["panels"]
    assert (panel["values"] is not None) is inline
    assert panel["shape"] == [n, 64]


@pytest.mark.parametrize(("columns", "ratio"), [(600, 7), (128, 14), (0, 1)])
def test_lines_are_averaged_and_their_export_is_not(client, columns, ratio):
    asked = {"e": "Sinusoidal(8)", "n": 4096, "channels": "0,2"}
    told = client.get("/api/v1/view/waves", **asked, columns=columns).json
    (panel,) = told["panels"]
    first = panel["lines"][0]
    wave = np.sin(np.arange(4096.0))
    assert panel["ratio"] == ratio
    assert (first["low"] is None) == (ratio == 1)
    boxes = [wave[at : at + ratio] for at in range(0, 4096, ratio)]
    assert np.allclose(first["y"], [box.mean() for box in boxes], atol=1e-12)
    if ratio > 1:
        assert np.allclose(first["high"], [box.max() for box in boxes], atol=1e-12)
    whole = client.get("/api/v1/export/npy", **asked, view="waves")
    x, y, _ = np.load(io.BytesIO(whole.body))
    assert np.array_equal(x, np.arange(4096))
    assert np.allclose(y, wave, atol=1e-12)


def saved(array):
    buffer = io.BytesIO()
    np.save(buffer, np.ascontiguousarray(array, dtype=np.float32))
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("Sinusoidal(64)", "heatmap"),
        ("RoPE(64, scaling=YaRN(4.0, 4096))", "heatmap"),
        ("RoPE(16, scaling=DynamicNTK(2.0, 64))", "heatmap"),
        ("Learned(512, 16)", "similarity"),
    ],
)
def test_an_array_has_the_bytes_that_numpy_saves(client, expression, kind):
    ask = {"e": expression, "n": 300, "seed": 5}
    path = f"/api/v1/view/{kind}.npy"
    image = view(expression, kind, length=300, seed=5).panels[0]
    assert isinstance(image, Image)
    whole = client.get(path, **ask, rows=0, columns=0)
    assert whole.body == saved(image.values)
    assert whole.headers["content-type"] == "application/octet-stream"
    assert client.get(path, **ask, rows=70, columns=9).body == saved(image.average(70, 9).values)
    window = client.get(path, **ask, top=290, left=3, height=50, width=4)
    assert window.body == saved(image.values[290:340, 3:7])


def test_the_heatmap_is_the_formula(client):
    """Against an oracle that shares no code with posenc."""
    array = client.get("/api/v1/view/heatmap.npy", e="Sinusoidal(16)", n=50, rows=0, columns=0).npy
    truth = additive.sinusoidal(np.arange(50), 16)
    assert np.abs(array - truth).max() < 1e-6
    angles = client.get("/api/v1/view/heatmap.npy", e="RoPE(16)", n=50, rows=0, columns=0).npy
    theirs = np.outer(np.arange(50), 10_000.0 ** (-np.arange(8) / 8))
    assert np.abs(np.exp(1j * angles) - np.exp(1j * theirs)).max() < 1e-6


def test_several_encodings_stand_side_by_side_on_one_scale(client):
    both = (
        "Sinusoidal(8)",
        "Learned(64, 8, std=3.0)",
        "Sinusoidal(8, base=100.0)",
        "Sinusoidal(2)",
    )
    panels = client.get("/api/v1/view/heatmap", e=both, n=9).json["panels"]
    assert len(panels) == 4
    assert len({panel["limit"] for panel in panels}) == 1
    assert [panel["title"] for panel in panels] == [
        panel.title for panel in view(list(both), "heatmap", length=9).panels
    ]


def test_the_seed_draws_other_parameters(client):
    asked = [
        client.get("/api/v1/view/heatmap.npy", e="Learned(64, 8)", n=4, seed=seed).body
        for seed in (0, 1, 0)
    ]
    assert asked[0] == asked[2] != asked[1]


@pytest.mark.parametrize("by", MODES)
@pytest.mark.parametrize("sentence", SENTENCES)
def test_tokens_are_those_of_the_library(client, by, sentence):
    told = client.get("/api/v1/tokens", text=sentence, by=by).json["tokens"]
    mine = tokenise(sentence, by=by)
    assert len(told) == len(mine)
    for row, token in zip(told, mine, strict=True):
        assert row == {
            "label": token.label,
            "text": token.text,
            "start": token.start,
            "end": token.end,
            "bytes": token.data.hex(" ").upper(),
            "part": None if token.part is None else list(token.part),
        }
        assert sentence[row["start"] : row["end"]] == row["text"]


@pytest.mark.parametrize("lang", LANGUAGES)
def test_words_are_those_of_the_catalogue(client, lang):
    told = client.get("/api/v1/messages", lang=lang).json
    assert told == {"lang": lang, "messages": catalogue(lang)}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_colours_are_those_of_figures(client, theme):
    told = client.get("/api/v1/colours", theme=theme).json
    for name in colours.MAPS:
        table = colours.table(name, dark=theme == "dark")
        assert told[name] == [list(row) for row in table]
        assert len(told[name]) == 256
    assert told["lines"] == list(colours.lines(dark=theme == "dark"))
    assert told["tokens"] == list(colours.tokens(dark=theme == "dark"))


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
