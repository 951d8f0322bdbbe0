"""A cell is the number under the cursor, also below a temperature; explanations are bounded."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.explorer import limits
from posenc.explorer.answers import cache_key
from posenc.explorer.widget import answer
from posenc.i18n import LANGUAGES
from posenc.names.expressions import to_source
from posenc.names.resolve import VARIANTS, evaluate_encoding
from posenc.views import Image, view
from tests.oracles import rotary
from tests.slow import slow

TEMPERED = [
    "Tempered(RoPE(8), LogN(4))",
    "Tempered(RoPE(12, rotary_dim=8, rotated='trailing'), LogN(4))",
    "Tempered(RoPE(8, scaling=DynamicNTK(4.0, 4)), SSMax())",
]


@pytest.mark.parametrize("expression", TEMPERED)
def test_the_cell_below_a_temperature_is_that_of_the_heatmap(client, expression):
    told = client.get("/api/v1/spell", e=expression).json
    (image,) = client.get("/api/v1/view/heatmap", e=expression, n=8).json["panels"]
    assert (told["acts"], told["columns"]) == ("rotary", 4)
    for column in range(told["columns"]):
        d = told["first"] + told["stride"] * column
        cell = client.get("/api/v1/cell", e=expression, n=8, p=3, d=d).json
        assert cell["truth"] == pytest.approx(np.cos(image["values"][3][column]))


def test_the_cell_of_a_bias_below_a_temperature_is_that_of_its_matrix(client):
    asked = {"e": "Tempered(ALiBi(4), LogN(4))", "n": 8}
    assert client.get("/api/v1/spell", e=asked["e"]).json["acts"] == "bias"
    cell = client.get("/api/v1/cell", **asked, p=5, d=2, h=2).json
    assert cell["truth"] == pytest.approx(
        float(pe.ALiBi(4).bias(np.array([5]), np.array([2]))[1, 0, 0])
    )


def test_the_map_of_a_picture_below_a_temperature(client):
    asked = {"e": "Tempered(AxialRoPE.split(16), LogN(4))"}
    told = client.get("/api/v1/spell", **asked).json
    plain = client.get("/api/v1/spell", e="AxialRoPE.split(16)").json
    assert {name: told[name] for name in ("acts", "columns", "stride", "side", "views")} == {
        name: plain[name] for name in ("acts", "columns", "stride", "side", "views")
    }
    cell = client.get("/api/v1/cell", **asked, p=2, d=2, k=3).json
    assert cell["truth"] == client.get(
        "/api/v1/cell", e="AxialRoPE.split(16)", p=2, d=2, k=3
    ).json["truth"]  # fmt: skip


def test_a_cell_names_the_temperature_that_comes_after_it(client):
    for lang in LANGUAGES:
        asked = {"e": "Tempered(RoPE(8), LogN(4))", "lang": lang}
        last = client.get("/api/v1/cell", **asked).json["steps"][-1]
        assert last["name"] == "temperature"
        assert "LogN(4)" in last["words"]
    names = [step["name"] for step in client.get("/api/v1/cell", e="RoPE(8)").json["steps"]]
    assert "temperature" not in names
    twice = client.get("/api/v1/cell", e="Tempered(Tempered(RoPE(8), LogN(4)), SSMax())").json
    words = [step["words"] for step in twice["steps"] if step["name"] == "temperature"]
    assert ["LogN(4)" in words[0], "SSMax()" in words[1]] == [True, True]


def test_a_cell_below_a_temperature_names_the_convention_of_its_encoding(client):
    convention = client.get("/api/v1/cell", e="Tempered(RoPE(8), LogN(4))").json["convention"]
    assert {"name": "pairing", "value": "interleaved"} in convention


def test_an_explanation_has_the_parameters_of_its_seed(client):
    for seed in (0, 1):
        asked = {"e": "Learned(8, 4)", "n": 4, "seed": seed}
        cell = client.get("/api/v1/cell", **asked, p=2, d=1).json["truth"]
        steps = client.get("/api/v1/explain", **asked, p=2).json["steps"]
        (table,) = [step["table"] for step in steps if step["name"] == "encodings"]
        assert table["rows"][2][2] == pytest.approx(cell)


@pytest.mark.parametrize(
    "expression", ["TransformerXL(64, 32)", "ALiBi(64)", "Tempered(ALiBi(64), LogN(4))"]
)
def test_an_explanation_that_takes_too_much_is_refused(client, expression):
    for lang in LANGUAGES:
        answer = client.get("/api/v1/explain", e=expression, n=512, lang=lang)
        assert (answer.status, answer.argument) == (413, "n")
        assert f"{limits.CELLS:,}" in answer.message


@pytest.mark.parametrize(
    "expression", ["ALiBi(8)", *slow("TransformerXL(8, 32)", "Tempered(ALiBi(8), LogN(4))")]
)
def test_an_explanation_that_takes_much_is_given(client, expression):
    """Megabytes of numbers, as text: two seconds."""
    assert client.get("/api/v1/explain", e=expression, n=512).status == 200


def test_a_wide_rotation_is_explained(client):
    assert client.get("/api/v1/explain", e="RoPE(4096)", n=512).status == 200


def test_an_explanation_says_that_it_is_of_the_first_positions(client):
    for lang in LANGUAGES:
        steps = client.get("/api/v1/explain", e="Sinusoidal(8)", n=2_000, lang=lang).json["steps"]
        assert "2,000" in steps[0]["words"]
        assert "512" in steps[0]["words"]
    steps = client.get("/api/v1/explain", e="Sinusoidal(8)", n=512).json["steps"]
    assert "first" not in [step["name"] for step in steps]


@dataclass
class Constant(pe.Additive):
    value: float
    dim: int = 2

    def encode(self, positions, params=None, *, dtype=None):
        return np.full((*np.shape(positions), self.dim), self.value)


def test_one_that_cannot_be_hashed_is_never_taken_for_another():
    """Not even for one that was where it is now in memory."""
    for value in range(1, 9):
        made = answer("view/heatmap.npy?e=mine&n=1", None, {"mine": Constant(float(value))})[2]
        assert np.frombuffer(made[-4:], dtype=np.float32) == value
    one = Constant(1.0)
    assert cache_key(one) == cache_key(one)
    assert hash(cache_key(one)) == hash(cache_key(one))
    assert cache_key(one) != cache_key(Constant(1.0))
    assert cache_key(one) != one


PAIRS = [
    (kind, expression)
    for kind in ("similarity", "products", "attention", "sum")
    for expression in ("Sinusoidal(8)", "Learned(16, 8)", "RoPE(8, scaling=DynamicNTK(2.0, 4))")
    if kind != "sum" or "RoPE" not in expression
] + [("attention", "T5Bias(4)"), ("attention", "Tempered(RoPE(8), LogN(2))")]


@pytest.mark.parametrize(("kind", "expression"), PAIRS)
def test_the_cell_of_a_view_is_the_number_of_its_picture(client, kind, expression):
    asked = {"e": expression, "text": "the dog bit the man", "seed": 3}
    images = [p for p in client.get(f"/api/v1/view/{kind}", **asked).json["panels"] if "rows" in p]
    image = images[2] if kind in ("attention", "sum") else images[0]
    for row, column in ((0, 0), (4, 1), (2, 3)):
        told = client.get("/api/v1/cell", view=kind, p=row, d=column, **asked).json
        assert told["value"] == pytest.approx(image["values"][row][column], abs=1e-9)
        assert told["truth"] is None
        assert len(told["steps"]) >= 2


def test_the_cell_of_a_view_has_its_limits(client):
    long = {"e": "Sinusoidal(8)", "n": 8192}
    assert client.get("/api/v1/cell", view="similarity", p=1, d=1, **long).status == 413
    assert client.get("/api/v1/cell", view="attention", p=1, d=1, **long).status == 413
    assert client.get("/api/v1/cell", view="sum", p=1, d=1, e="RoPE(8)").status == 404
    beyond = client.get("/api/v1/cell", view="products", p=5, d=0, e="RoPE(8)", n=5)
    assert beyond.status == 400
    assert "place must be" in beyond.message


def test_encodings_that_share_no_view_are_told_so(client):
    both = ["Shaw(64, 16)", "SwinBias(8, (7, 7))"]
    refused = client.get("/api/v1/view/attention", e=both)
    assert refused.status == 404
    assert refused.message == f"these encodings have no view in common: {', '.join(both)}"


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("RoPE(16)", "heatmap"),
        ("RoPE(16, pairing='halves')", "rotation"),
        ("RoPE(16, scaling=YaRN(4.0, 16))", "heatmap"),
        ("RoPE(16, scaling=DynamicNTK(4.0, 16))", "heatmap"),
        ("XPos(16)", "heatmap"),
    ],
)
def test_the_cell_of_an_angle_is_the_number_of_the_picture(client, expression, kind):
    """The last number of the calculation is the one in bold, and that under the pointer."""
    told = client.get("/api/v1/spell", e=expression).json
    image = view(expression, "heatmap", length=40).panels[0]
    for p, pair in ((0, 0), (3, 1), (39, 0), (39, 7)):
        d = told["first"] + told["stride"] * pair
        asked = {"e": expression, "n": 40, "p": p, "d": d, "view": kind}
        cell = client.get("/api/v1/cell", **asked).json
        shown = image.values[p, pair]
        # the library's float32 cosine and sine are each within 2^-24: their angle within 2^-23
        assert cell["value"] == pytest.approx(shown, abs=2**-23)
        assert cell["truth"] == pytest.approx(shown, abs=1e-12)
        last = cell["steps"][-1]["formulas"][-1]
        assert last[-1] == pytest.approx(shown, abs=1e-12)


def test_full_turns_of_an_angle_are_taken_off(client):
    cell = client.get("/api/v1/cell", e="RoPE(4)", n=40, p=39, d=0, view="heatmap").json
    assert cell["truth"] == pytest.approx(39 - 6 * 2 * math.pi)
    assert "2π" in str(cell["steps"][-1]["formulas"][-1])
    cosine = client.get("/api/v1/cell", e="RoPE(4)", n=40, p=39, d=0, view="waves").json
    assert cosine["truth"] == pytest.approx(math.cos(39))


def test_the_angle_of_a_map_is_the_number_of_the_picture(client):
    expression = "AxialRoPE.split(16)"
    told = client.get("/api/v1/spell", e=expression).json
    for image in view(expression, "maps").panels:
        d = told["first"] + told["stride"] * image.channel
        cell = client.get("/api/v1/cell", e=expression, p=3, k=5, d=d, view="maps").json
        assert cell["truth"] == pytest.approx(image.values[3, 5], abs=1e-12)


def test_the_head_of_the_address_is_shown_and_explained(client):
    asked = {"e": "ALiBi(8)", "n": 8}
    titles = [
        panel["title"]
        for panel in client.get("/api/v1/view/bias", **asked, h=7).json["panels"]
        if panel["panel"] == "image"
    ]
    assert titles[0] == "head 7"
    seen = client.get("/api/v1/view/attention", **asked, h=7).json["panels"]
    assert seen[2]["title"] == "ALiBi(8), head 7"
    cell = client.get("/api/v1/cell", **asked, h=7, p=5, d=2, view="attention").json
    assert cell["value"] == pytest.approx(seen[2]["values"][5][2], abs=1e-12)
    for path in ("view/bias", "view/attention", "cell"):
        refused = client.get(f"/api/v1/{path}", **asked, h=9)
        assert (refused.status, refused.argument) == (400, "h")
        assert refused.message == "h must be 1 .. 8, the heads of ALiBi; got 9"
    assert client.get("/api/v1/view/bias", **asked, h=0).status == 400
    code = client.get("/api/v1/export/py", **asked, h=7, causal="yes", view="attention").body
    assert b"head=6, causal=True, " in code


def test_the_mask_of_attention_is_chosen(client):
    asked = {"e": "RoPE(8)", "n": 4}
    for causal, masked in (("yes", True), ("no", False), (None, False)):
        given = {} if causal is None else {"causal": causal}
        panels = client.get("/api/v1/view/attention", **asked, **given).json["panels"]
        assert {panel["values"][0][3] == 0 for panel in panels[::2]} == {masked}
        cell = client.get("/api/v1/cell", **asked, **given, p=0, d=0, view="attention").json
        assert cell["value"] == pytest.approx(panels[2]["values"][0][0], abs=1e-12)
    refused = client.get("/api/v1/view/attention", e="FIRE(8)", n=4, causal="no")
    assert (refused.status, refused.argument) == (400, "causal")
    assert refused.message.startswith("causal must not be False for FIRE(8)")


EVERY = [
    *(kind.example() for kind in pe.catalogue().values()),
    *(make(64) for make in VARIANTS.values()),
]


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


@pytest.mark.parametrize("lang", LANGUAGES)
@pytest.mark.parametrize("expression", ["Sinusoidal(8)", "RoPE(8)", "ALiBi(8)", "T5Bias(8)"])
def test_an_explanation_is_that_of_the_library(client, expression, lang):
    tokens = ["我", "爱", "学习", "AI"]
    mine = pe.explain(evaluate_encoding(expression), position=2, tokens=tokens, lang=lang).to_json()
    answer = client.get("/api/v1/explain", e=expression, text=" ".join(tokens), p=2, lang=lang)
    assert answer.json == json.loads(json.dumps(mine))


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
