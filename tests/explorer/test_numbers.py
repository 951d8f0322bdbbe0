"""What the explorer answers is what the library computes: numbers, tokens, words, files."""

import csv
import io
import json
import math

import numpy as np
import pytest

import posenc as pe
from posenc.explorer.answers import INLINE
from posenc.i18n import LANGUAGES, catalogue
from posenc.names.expressions import to_source
from posenc.names.resolve import VARIANTS, evaluate_encoding
from posenc.text import MODES, tokenise
from posenc.views import Dials, Image, colours, kinds_for, view
from tests.oracles import additive, rotary
from tests.patient import check
from tests.slow import slow

SENTENCES = ["我 爱 学习 AI", "犬が人を噛む。", "the dog bit the man", "👩‍👩‍👧 é\u0301 \n x"]
EVERY = [
    *(kind.example() for kind in pe.catalogue().values()),
    *(make(64) for make in VARIANTS.values()),
]


# Views


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


# Cells


CELLS = [
    ("Sinusoidal(8)", 3, 2, lambda: math.sin(3 / 10_000 ** (2 / 8))),
    ("Sinusoidal(8)", 70_000, 5, lambda: math.cos(70_000 / 10_000 ** (4 / 8))),
    ("Sinusoidal(8, layout='concat')", 3, 2, lambda: math.sin(3 / 10_000 ** (4 / 8))),
    ("Sinusoidal(8, spacing='t2t')", 3, 2, lambda: math.sin(3 / 10_000 ** (1 / 3))),
    ("RoPE(8)", 5, 4, lambda: math.cos(5 / 10_000 ** (4 / 8))),
    ("RoPE(8)", 5, 5, lambda: math.sin(5 / 10_000 ** (4 / 8))),
    ("RoPE(8, base=500.0, rotary_dim=4)", 5, 3, lambda: math.sin(5 / 500 ** (2 / 4))),
    ("RoPE(8, scaling=Interpolation(4.0))", 5, 2, lambda: math.cos(5 / 4 / 10_000 ** (2 / 8))),
    ("ALiBi(8)", 9, 2, lambda: -7 / 2),
    ("TwoSidedALiBi(8)", 9, 2, None),
    ("KERPLE(8)", 9, 2, None),
    ("NoPE()", 9, 2, None),
]


@pytest.mark.parametrize(("expression", "p", "d", "truth"), CELLS)
def test_a_cell_is_worked_to_the_number_of_the_formula(client, expression, p, d, truth):
    answer = client.get("/api/v1/cell", e=expression, p=p, d=d)
    assert answer.status == 200
    told = answer.json
    assert set(told) == {"steps", "value", "truth", "ulps", "convention"}
    assert told["steps"]
    assert told["value"] == pytest.approx(told["truth"], rel=1e-5, abs=1e-6)
    if truth is not None:
        assert told["truth"] == pytest.approx(truth(), abs=1e-11)
        assert told["ulps"] <= 1


def test_a_cell_is_the_cell_of_the_view(client):
    for expression in ("Learned(64, 8)", "T5Bias(4)", "ClippedBias(4, 8)", "Sinusoidal(8)"):
        kind = "bias" if "Bias" in expression else "heatmap"
        panels = view(expression, kind, length=16, seed=2).panels
        image = next(panel for panel in panels if isinstance(panel, Image))
        told = client.get("/api/v1/cell", e=expression, n=16, seed=2, p=7, d=3).json
        assert told["value"] == pytest.approx(image.values[7, 3], abs=1e-6), expression


def test_a_cell_of_what_depends_on_the_length_is_that_of_the_length(client):
    expression = "RoPE(8, scaling=DynamicNTK(2.0, 64))"
    values = view(expression, "heatmap", length=256).panels[0].values
    for pair in range(4):
        told = client.get("/api/v1/cell", e=expression, n=256, p=200, d=2 * pair).json
        assert told["truth"] == pytest.approx(math.cos(values[200, pair]), abs=1e-9)


@pytest.mark.parametrize("encoding", EVERY, ids=repr)
def test_every_encoding_has_cells_and_says_where_they_end(client, encoding):
    asked = {"e": to_source(encoding)}
    assert client.get("/api/v1/cell", p=3, d=1, **asked).status == 200
    end = client.get("/api/v1/cell", p=2**24 - 64, d=4095, **asked)
    assert end.status in (200, 400)
    assert end.status == 200 or "must" in end.message or "position" in end.message


def test_a_cell_of_a_head_is_the_cell_of_its_matrix(client):
    for image in view("T5Bias(8)", "bias", length=16, seed=2).panels:
        if isinstance(image, Image):
            asked = {"e": "T5Bias(8)", "n": 16, "seed": 2, "p": 7, "d": 3, "h": image.channel + 1}
            told = client.get("/api/v1/cell", **asked).json
            assert told["truth"] == pytest.approx(image.values[7, 3], abs=1e-7)
    beyond = client.get("/api/v1/cell", e="T5Bias(8)", h=9)
    assert (beyond.status, beyond.argument) == (400, "h")
    assert beyond.message == "h must be 1 .. 8, the heads of T5Bias; got 9"


PICTURES = [
    "AxialSinusoidal(16)",
    "FourierFeatures(16)",
    "LearnedFourier(16)",
    "SwinBias(4, (7, 7))",
]


@pytest.mark.parametrize("expression", [*PICTURES, "SwinV2Bias(4, (5, 5))"])
def test_a_cell_of_a_picture_is_the_cell_of_its_map(client, expression):
    kind = "bias" if "Bias" in expression else "maps"
    for image in view(expression, kind, seed=2).panels[: 1 if kind == "bias" else 8]:
        dimension = image.channel if kind == "maps" else 0
        for row, column in ((0, 0), (3, 1), (6, 8)):
            asked = {"e": expression, "seed": 2, "p": row, "k": column, "d": dimension}
            told = client.get("/api/v1/cell", **asked).json
            near = pytest.approx(image.values[row, column], abs=1e-7, rel=1e-6)
            assert told["truth"] == near, image.title


def test_a_cell_of_a_rotated_picture_is_the_cosine_of_its_map(client):
    expression = "AxialRoPE.mrope(16, sections=(2, 3, 3), pairing='halves')"
    for image in view(expression, "maps").panels:
        told = client.get("/api/v1/cell", e=expression, p=3, k=5, d=image.channel).json
        assert told["truth"] == pytest.approx(math.cos(image.values[3, 5]), abs=1e-9)


def test_a_cell_names_the_convention(client):
    told = client.get("/api/v1/cell", e="RoPE(8, pairing='halves', base=5e5)").json["convention"]
    named = {row["name"]: row["value"] for row in told}
    assert named["pairing"] == "halves"
    assert named["base"] == 5e5
    assert named["first position"] == 0
    assert named["dtype"] == "float32"


# Explanations and checks


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("expression", ["Sinusoidal(8)", "RoPE(8)", "ALiBi(8)", "T5Bias(8)"])
def test_an_explanation_is_that_of_the_library(client, expression, lang):
    tokens = ["我", "爱", "学习", "AI"]
    mine = pe.explain(evaluate_encoding(expression), position=2, tokens=tokens, lang=lang).to_json()
    answer = client.get("/api/v1/explain", e=expression, text=" ".join(tokens), p=2, lang=lang)
    assert answer.json == json.loads(json.dumps(mine))


@pytest.mark.parametrize(
    "expression",  # each starts a process that imports PyTorch
    ["ALiBi(2)", *slow("Sinusoidal(8)", "NoPE()")],
)
def test_verdicts_are_those_of_the_library(client, expression):
    told = client.get("/api/v1/check", e=expression, seed=4).json
    mine = json.loads(json.dumps(check(evaluate_encoding(expression), seed=4).to_json()))
    for report in (told, mine):
        for row in report["rows"]:
            row.pop("seconds")
            title = row.pop("title", row["name"].replace("_", " "))
            assert title == row["name"].replace("_", " ")
    assert told == mine


# Tokens, words, colours


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


def test_every_encoding_is_listed_with_what_makes_it(client):
    told = client.get("/api/v1/encodings").json
    rows = [row for group in told["groups"] for row in group["encodings"]]
    assert {row["name"] for row in rows} == {*pe.catalogue(), *VARIANTS}
    for row in rows:
        assert to_source(evaluate_encoding(row["expression"])) == row["expression"]
        assert row["views"]
        assert client.get(f"/api/v1/view/{row['views'][0]}", e=row["expression"]).status == 200
        for field in row["fields"]:
            for choice in field.get("choices", []) if field["type"] == "part" else []:
                assert evaluate_encoding(f"RoPE(64, scaling={choice['expression']})")


# Respelling


@pytest.mark.parametrize(
    ("expression", "changes", "wanted"),
    [
        ("RoPE(64)", {"set.dim": 128}, "RoPE(128)"),
        ("RoPE(64, rotary_dim=32)", {"set.dim": 128}, "RoPE(128, rotary_dim=32)"),
        ("RoPE(64)", {"set.scaling": "YaRN(4.0, 4096)"}, "RoPE(64, scaling=YaRN(4.0, 4096))"),
        ("RoPE(64, scaling=NTK(2.0))", {"set.scaling": ""}, "RoPE(64)"),
        ("RoPE(4)", {"set.scaling": "PerPair((1.0, 2.0))"}, "RoPE(4, scaling=PerPair((1.0, 2.0)))"),
        ("RoPE(64)", {"set.pairing": "halves", "set.base": "5e5"}, None),
        ("T5Bias(8)", {"set.bidirectional": "true"}, "T5Bias(8, bidirectional=True)"),
        ("ALiBi(8)", {"set.heads": 4}, "ALiBi(4)"),
    ],
)
def test_fields_are_changed(client, expression, changes, wanted):
    told = client.get("/api/v1/spell", e=expression, **changes).json["expression"]
    assert told == (wanted or "RoPE(64, base=500000.0, pairing='halves')")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"set.dmi": 8}, "'dmi' is no field of RoPE"),
        ({"set.dim": 7}, "dim must be a positive even number"),
        ({"set.dim": "x"}, "dim must be a number; got 'x'"),
        ({"set.dim": 10**6}, "dim must be at most 4,096 in the explorer; got 1000000"),
        ({"set.dim": "9" * 5000}, "must have at most 2,000 characters"),
        ({"set.scaling": "RoPE(8)"}, "scaling must be"),
        ({"set.scaling": "YaRN(4.0"}, "expression must be Python"),
        ({"set.pairing": "x"}, "pairing must be 'interleaved' or 'halves'"),
        ({"set.base": "nan"}, "base must be"),
    ],
)
def test_a_field_that_cannot_be_so_is_a_sentence(client, changes, message):
    answer = client.get("/api/v1/spell", e="RoPE(64)", **changes)
    assert answer.status in (400, 413)
    assert message in answer.message


# Configs


ROPE = {"hidden_size": 256, "num_attention_heads": 4, "num_hidden_layers": 2}
ROPE |= {"max_position_embeddings": 2048}
CONFIGS = [
    {"model_type": "llama", **ROPE, "rope_theta": 5e5},
    {"model_type": "gpt2", "n_embd": 64, "n_head": 4, "n_layer": 2, "n_positions": 128},
    {"model_type": "t5", "num_layers": 2, "num_heads": 4, "d_model": 64},
    {"model_type": "bloom", "n_head": 4, "n_layer": 2, "hidden_size": 64},
    {
        "model_type": "qwen2",
        **ROPE,
        "rope_theta": 1e6,
        "rope_scaling": {
            "type": "yarn",
            "factor": 4.0,
            "original_max_position_embeddings": 2048,
        },
    },
    {"model_type": "llava", "text_config": {"model_type": "llama", **ROPE}},
]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config["model_type"])
def test_a_config_is_what_the_library_reads(client, config):
    told = client.post("/api/v1/config", config)
    assert told.status == 200
    layers = list(dict.fromkeys(pe.read_config(config).layers))
    assert told.json["model_type"] == config["model_type"]
    assert [evaluate_encoding(expression) for expression in told.json["expressions"]] == layers


# Exports


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


def test_rotary_oracle_is_not_ours():
    assert not any(name.startswith("posenc") for name in vars(rotary))


@pytest.mark.parametrize("pairing", ["interleaved", "halves"])
@pytest.mark.parametrize("rotated", ["leading", "trailing"])
def test_the_cell_of_a_channel_is_that_of_its_pair(client, pairing, rotated):
    e = f"RoPE(12, rotary_dim=8, pairing={pairing!r}, rotated={rotated!r})"
    first, w = 4 if rotated == "trailing" else 0, 10_000.0 ** (-np.arange(4) / 4)
    for channel in range(8):
        second, pair = divmod(channel, 4) if pairing == "halves" else divmod(channel, 2)[::-1]
        told = client.get("/api/v1/cell", e=e, p=3, d=first + channel).json
        assert told["truth"] == pytest.approx((np.cos, np.sin)[second](3 * w[pair]))
        assert f"i = {pair} at" in told["steps"][0]["words"]
    assert client.get("/api/v1/cell", e=e, p=3, d=first + 8 if first == 0 else 3).status == 400
