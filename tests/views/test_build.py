"""`view`: what is chosen, shown and refused, of every kind."""

import itertools
import json
import re
from dataclasses import dataclass

import numpy as np
import pytest

import posenc as pe
from posenc.views import KINDS, default_kind, kinds_for, view
from tests.test_project import ROOT


def colours_of(made):
    """The colours that each name has, over all panels."""
    found = {}
    for line in (line for panel in made.panels for line in panel.lines):
        found.setdefault(line.name, set()).add(line.colour)
    return found


@pytest.mark.parametrize(
    ("what", "kind", "numbers"),
    [
        (["sinusoidal", "rope"], "heatmap", [0, 1]),
        (["sinusoidal", "rope"], "waves", [0, 1]),
        (["sinusoidal", "rope"], "wavelengths", [None, None]),
        (["sinusoidal", "rope"], "similarity", [0, 1, None]),
        (["AxialSinusoidal(16)", "AxialRoPE.split(16)"], "similarity", [0, 1]),
        (["sinusoidal", "rope"], "products", [0, 1, 0, 1]),
        (["rope", "RoPE(64, base=2.0)"], "rotation", [0, 1]),
        (["rope", "RoPE(64, base=2.0)"], "decay", [None, None, None]),
        (["rope", "RoPE(64, base=2.0)"], "scalings", [None, None]),
        (["TwoSidedALiBi(8)", "T5Bias(8)"], "bias", [0, 1, 0, 1]),
        (["SwinBias(2, (8, 8))", "SwinBias(1, (8, 8))"], "bias", [0, 0, 1]),
        (["AxialSinusoidal(16)", "AxialRoPE.split(16)"], "maps", [0] * 8 + [1] * 4),
        (["Learned(64, 64)", "Learned(64, 64, std=3.0)"], "learned", [0, 0, 1, 1, None, None]),
        (["sinusoidal", "Learned(64, 64)"], "sum", [0, 1, 0, 1, 0, 1]),
        (["sinusoidal", "rope"], "attention", [None, None, 0, 0, 1, 1]),
    ],
)
def test_a_panel_says_which_encoding_it_is_of(what, kind, numbers):
    made = view(what, kind, length=8)
    assert [panel.of for panel in made.panels] == numbers
    assert [panel["of"] for panel in made.to_json()["panels"]] == numbers


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("heatmap", "RoPE(64): angles by position and pair"), ("waves", "RoPE(64): waves")],
)
def test_the_title_says_what_is_drawn_of_one_encoding(kind, expected):
    assert view("rope", kind).title == expected
    assert view(["rope", "rope"], kind).title == expected.removeprefix("RoPE(64): ")


def test_the_title_in_the_readers_language():
    assert view("sinusoidal", lang="ja").title == "Sinusoidal(64)：位置と次元ごとの値"


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("rope", "scalings"),
        (["rope", "yarn"], "scalings"),
        (["rope", "yarn", "xpos"], "decay"),
        (["sinusoidal", "rope"], "wavelengths"),
        (["sinusoidal", "rope"], "waves"),
    ],
)
def test_a_colour_means_the_same_in_every_panel(what, kind):
    made = view(what, kind, length=20)
    assert all(len(colours) == 1 for colours in colours_of(made).values())
    for panel in made.panels:
        colours = [line.colour for line in panel.lines]
        assert len(set(colours)) == len(colours)
    if kind != "decay":
        assert len({min(c) for c in colours_of(made).values()}) == len(colours_of(made))


@dataclass(frozen=True)
class Mine(pe.Rotary):
    """Six lines of a reader's own."""

    dim: int = 4

    def cos_sin(self, positions, *, dtype=None):
        angle = np.asarray(positions)[..., None] * np.array([1.0, 0.25])
        return np.cos(angle).astype(dtype), np.sin(angle).astype(dtype)


@pytest.mark.parametrize(
    "kind",
    ["heatmap", "waves", "wavelengths", "similarity", "products", "rotation", "decay", "attention"],
)
def test_a_class_of_ones_own_gets_every_view_of_its_mechanism(kind):
    assert kind in kinds_for(Mine())
    made = view(Mine(), kind, tokens="我 爱")
    assert json.dumps(made.to_json(), allow_nan=False)
    if kind == "wavelengths":
        assert np.allclose(made.panels[0].lines[0].y, [2 * np.pi, 8 * np.pi])


@pytest.mark.parametrize(
    ("encoding", "kind"),
    [
        (pe.Sinusoidal(8), "heatmap"),
        (pe.RoPE(8), "rotation"),
        (pe.ALiBi(4), "bias"),
        (pe.Shaw(8, 4), "attention"),
        (pe.AxialSinusoidal(8), "maps"),
        (pe.AxialRoPE.split(8), "maps"),
        (pe.SwinBias(2, (3, 3)), "bias"),
        (pe.Tempered(pe.RoPE(8), pe.LogN(128)), "attention"),
    ],
)
def test_each_mechanism_has_a_kind_of_its_own(encoding, kind):
    assert default_kind(encoding) == kind == view(encoding).kind


@pytest.mark.parametrize("kind", ["heatmap", "waves", "similarity", "products", "learned"])
def test_a_short_table_is_shown_as_far_as_it_goes(kind):
    panel = view(pe.Learned(5, 4), kind).panels[0]
    assert len(panel.x if kind == "waves" else panel.values) == 5
    both = view([pe.Sinusoidal(4), pe.Learned(5, 4)], "heatmap")
    assert [len(panel.values) for panel in both.panels] == [5, 5]


def test_what_has_no_kind_in_common_is_shown_as_attention():
    assert view([pe.Sinusoidal(8), pe.RoPE(8), pe.ALiBi(4)]).kind == "attention"


@pytest.mark.parametrize("name", [*pe.catalogue(), "yarn", "mrope"])
def test_every_encoding_has_every_view_that_is_promised(name):
    """Kinds that suit are made, all others are refused with a sentence; JSON has no NaN."""
    from posenc.names.resolve import resolve

    (encoding,) = resolve(name).values()
    suitable = kinds_for(encoding)
    assert suitable
    for kind in KINDS:
        if kind in suitable:
            made = view(encoding, kind, length=6)
            assert (made.kind, bool(made.panels)) == (kind, True)
            json.dumps(made.to_json(), allow_nan=False)
        else:
            with pytest.raises(ValueError, match="kind must be one that suits"):
                view(encoding, kind, length=6)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (
            ("alibi", "rotation"),
            {},
            r"suits ALiBi \(bias, attention\); got kind='rotation', which suits rope$",
        ),
        (("rope", "pie"), {}, r"kind must be one that suits RoPE \(heatmap, .*\); got kind='pie'$"),
        (("rope", "bias"), {}, "got kind='bias', which suits alibi$"),
        (
            ("rope", "decay"),
            {"channels": [0]},
            "channels must be left out for kind 'decay', which shows all; heatmap, waves, rota",
        ),
        (("sinusoidal", "heatmap"), {"channels": [64]}, r"channels must lie in 0 \.\. 63; got 64"),
        ((["rope", "alibi"], "decay"), {}, r"suits RoPE and ALiBi \(attention\); got kind='decay'"),
        (("rope",), {"tokens": " "}, "tokens must not be empty; got tokens=' '"),
        (("rope",), {"tokens": [1]}, "each of tokens must be a string; got 1"),
        (("axial-rope",), {"tokens": "a b"}, "it does not encode the tokens of a sentence"),
        (("rope",), {"tokens": "a b", "length": 3}, "length must be left out if tokens are"),
        (("rope", "sum"), {"tokens": "a b"}, "kind must be one that suits RoPE"),
        (("learned", "sum"), {"tokens": "a b", "length": 3}, "length must be left out if tokens"),
        (("alibi", "attention"), {"tokens": "a b", "length": 3}, "length must be left out if"),
        (("rope",), {"length": 0}, "length must be a whole number of at least 1"),
        (("rope", "waves"), {"channels": [32]}, r"channels must lie in 0 \.\. 31; got 32"),
        (("rope", "waves"), {"channels": [0.5]}, "each of channels must be a whole number"),
        (("rope", "waves"), {"channels": []}, "channels must not be empty"),
        (("rope", "attention"), {"channels": []}, "channels must not be empty"),
        (("rope", "decay"), {"channels": [0]}, "channels must be left out for kind 'decay', which"),
        (([],), {}, "what must be 1 to 8 encodings; got 0"),
        ((["rope"] * 9,), {}, "what must be 1 to 8 encodings; got 9"),
        ((7,), {}, "what must be an Encoding or name one; got 7"),
        (("rpoe",), {}, "no encoding is called 'rpoe'; did you mean rope"),
        (
            (pe.RoPE(8),),
            {"dim": 4},
            "dim must be left out for an encoding with its own size; got RoPE",
        ),
        (("RoPE(8)",), {"dim": 4}, "dim must be left out for an encoding with its own size"),
        ((["rope", "alibi"],), {"params": {}}, "params must be left out for several encodings"),
        (("rope",), {"seed": -1}, "seed must be a whole number of at least 0; got seed=-1"),
        (("rope",), {"lang": "fr"}, "lang must be 'en' or"),
        (("sinusoidal", "similarity"), {"length": 10_000}, "length must be .* at most 4,096"),
        (("rope", "attention"), {"length": 1000}, "tokens must be at most 512; got 1000"),
        ((pe.Learned(4, 8), "heatmap"), {"length": 5}, "positions must lie in the table"),
    ],
)
def test_what_cannot_be_shown_is_a_sentence(arguments, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        view(*arguments, **options)


def test_the_head_that_is_looked_at_is_shown():
    plain = view("ALiBi(8)", "bias", length=4)
    heads = [panel.channel for panel in plain.panels[1:]]
    assert heads == [0, 2]
    same = view("ALiBi(8)", "bias", length=4, head=2)
    assert [panel.channel for panel in same.panels[1:]] == heads
    other = view("ALiBi(8)", "bias", length=4, head=6)
    assert [panel.title for panel in other.panels[1:]] == ["head 7", "head 3"]
    assert (other.panels[1].values == pe.ALiBi(8).bias(np.arange(4), np.arange(4))[6]).all()
    assert view("ALiBi(8)", "attention", length=4, head=6).panels[2].title == "ALiBi(8), head 7"
    maps = view("SwinBias(8, (3, 3))", "bias", head=6)
    assert 6 in [panel.channel for panel in maps.panels]
    beside = view(["RoPE(8)", "ALiBi(8)"], "attention", length=4, head=6)
    assert beside.panels[-2].title == "ALiBi(8), head 7"


@pytest.mark.parametrize("kind", ["bias", "attention"])
def test_a_head_that_is_not_there_is_refused(kind):
    with pytest.raises(ValueError, match=r"^head must lie in 0 \.\. 7; got 8$"):
        view("ALiBi(8)", kind, length=4, head=8)
    with pytest.raises(
        ValueError, match=r"^head must be left out for kind 'heatmap'; bias, attent"
    ):
        view("RoPE(8)", "heatmap", head=0)


def test_the_last_step_of_the_tour_compares_what_differs():
    """Similarities of Sinusoidal and RoPE were the same within 9e-16."""
    tour = (ROOT / "web" / "src" / "tour.ts").read_text(encoding="utf-8")
    listed, kind = re.findall(r'e: \[(.*?)\], view: "(\w+)"', tour)[-1]
    names = re.findall(r'"(.*?)"', listed)
    seen = view(names, kind, tokens="the dog bit the man")
    first = {panel.of: panel.values for panel in reversed(seen.panels) if panel.of is not None}
    for one, other in itertools.combinations(first.values(), 2):
        assert np.abs(one - other).max() > 0.01
    assert "YaRN" in tour[tour.index('t("Which one to choose")') :]
