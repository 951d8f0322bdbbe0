"""A cell is the number under the cursor, also below a temperature; explanations are bounded."""

from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.explorer import limits
from posenc.explorer.answers import key_of
from posenc.explorer.widget import answer
from posenc.messages import LANGUAGES

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
    assert client.get("/api/v1/spell", **asked).json["acts"] == "bias"
    cell = client.get("/api/v1/cell", **asked, p=5, d=2, h=1).json
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


# The whole calculation


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
    small = expression.replace("64", "8")
    assert client.get("/api/v1/explain", e=small, n=512).status == 200


def test_a_wide_rotation_is_explained(client):
    assert client.get("/api/v1/explain", e="RoPE(4096)", n=512).status == 200


def test_an_explanation_says_that_it_is_of_the_first_positions(client):
    for lang in LANGUAGES:
        steps = client.get("/api/v1/explain", e="Sinusoidal(8)", n=2_000, lang=lang).json["steps"]
        assert "2,000" in steps[0]["words"]
        assert "512" in steps[0]["words"]
    steps = client.get("/api/v1/explain", e="Sinusoidal(8)", n=512).json["steps"]
    assert "first" not in [step["name"] for step in steps]


# Encodings that cannot be hashed


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
    assert key_of(one) == key_of(one)
    assert hash(key_of(one)) == hash(key_of(one))
    assert key_of(one) != key_of(Constant(1.0))
    assert key_of(one) != one


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
