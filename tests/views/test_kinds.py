"""Kinds of view: each is one file, and what it says of itself is so."""

import pkgutil
import re
from math import prod

import numpy as np
import pytest

import posenc as pe
from posenc.i18n import LANGUAGES, translator
from posenc.views import KINDS, Image, default_kind, kinds, kinds_for, view
from posenc.views.kinds import first_encoding_for
from tests.test_project import ROOT

EVERY = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
GRID = {"similarity": "axial-rope", "bias": "swin", "maps": "axial-rope", "wavelengths": "mrope"}


def test_every_module_of_the_package_is_listed():
    found = {module.name for module in pkgutil.iter_modules(kinds.__path__)}
    assert found == set(kinds.NAMES)
    assert [kind.name for kind in KINDS.values()] == list(kinds.NAMES) == list(KINDS)


@EVERY
def test_words_of_a_kind_are_in_every_language(kind):
    for lang in LANGUAGES[1:]:
        t = translator(lang)
        assert t(kind.title) != kind.title
        assert t(kind.summary) != kind.summary


@EVERY
@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_a_view_has_as_many_columns_as_its_kind_says(kind, count):
    on_grid, in_text = kind.columns(0, count), kind.columns(count, 0)
    if kind.name in GRID:
        assert view([GRID[kind.name]] * count, kind.name).columns == on_grid
    name = first_encoding_for(kind.name)
    if "attention" in kinds_for(pe.lookup(name).example()):  # it is of text
        assert view([name] * count, kind.name, length=4).columns == in_text


def test_columns_of_encodings_of_either_sort_together():
    assert view(["alibi", "swin"], "bias", length=4).columns == KINDS["bias"].columns(1, 1) == 3
    both = view(["sinusoidal", "axial-rope"], "similarity", length=4)
    assert both.columns == KINDS["similarity"].columns(1, 1) == 3
    assert view(["sinusoidal", "rope"], "wavelengths").columns == 2  # dimensions beside pairs


@pytest.mark.parametrize(
    "encoding", [pe.Sinusoidal(8), pe.RoPE(8), pe.Learned(9, 4), pe.RoPE(16, rotary_dim=4)]
)
@pytest.mark.parametrize("kind", ["heatmap", "similarity", "products", "sum"])
def test_cells_of_images_are_known_beforehand(encoding, kind):
    if kind in kinds_for(encoding):
        panels = view(encoding, kind, length=6).panels
        cells = sum(panel.values.size for panel in panels if isinstance(panel, Image))
        assert KINDS[kind].cells(encoding, 6) == cells
        assert prod(KINDS[kind].cost(encoding, 6).values()) >= cells


@pytest.mark.parametrize(
    ("kind", "encoding", "sizes"),
    [
        ("heatmap", pe.RoPE(16), {"positions": 9, "dimensions": 16}),
        ("heatmap", pe.Tempered(pe.RoPE(16), pe.LogN(8)), {"positions": 9, "dimensions": 16}),
        ("similarity", pe.RoPE(16), {"positions": 9, "positions again": 9}),
        ("bias", pe.ALiBi(2), {"heads": 4, "positions": 9, "positions again": 9}),
        ("bias", pe.FIRE(8, hidden=32), {"heads": 32, "positions": 9, "positions again": 9}),
        ("sum", pe.Learned(16, 8), {"images": 3, "positions": 9, "dimensions": 8}),
        ("learned", pe.Learned(16, 8), {"images": 2, "positions": 9, "positions or dimensions": 9}),
        (
            "attention",
            pe.TransformerXL(4, 16),
            {"heads": 4, "positions or dimensions": 16, "the same again": 96},
        ),
        (
            "attention",
            pe.ALiBi(8),
            {"heads": 8, "positions or dimensions": 64, "the same again": 128},
        ),
        ("maps", pe.AxialRoPE.split(16), {}),
        ("similarity", pe.AxialSinusoidal(16), {}),
    ],
)
def test_cost(kind, encoding, sizes):
    assert KINDS[kind].cost(encoding, 9) == sizes


def test_what_a_page_is_told_of_a_kind():
    told = KINDS["attention"].to_json(translator("ja"), most=3)
    assert told["title"] == translator("ja")("attention")
    assert told["columns"] == {"text": [2, 4, 4], "grid": [4, 4, 4]}
    assert (told["head"], told["causal"], told["max_tokens"]) == (True, True, 512)
    assert (told["angles"], told["along"], told["compact"]) == (False, None, False)


@pytest.fixture
def norms(monkeypatch):
    """The kind of CONTRIBUTING.md, added to the list."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("## Add a kind of view") :]
    module = {}
    exec(re.search(r"```python\n(.*?)```", section, flags=re.DOTALL)[1], module)
    monkeypatch.setitem(KINDS, "norms", module["KIND"])


@pytest.mark.usefixtures("norms")
def test_a_kind_is_one_value():
    """Once it is in the list it is offered, chosen, drawn and refused as the others are."""
    assert kinds_for(pe.Sinusoidal(8))[-1] == "norms"
    made = view([pe.Sinusoidal(8), pe.Sinusoidal(32)], "norms", length=3)
    assert np.allclose([line.y for line in made.panels[0].lines], [[2] * 3, [4] * 3])
    assert (made.kind, made.columns) == ("norms", 1)
    assert pe.show(pe.Sinusoidal(8), "norms", dpi=60).view.kind == "norms"
    with pytest.raises(ValueError, match=r"got kind='norms', which suits sinusoidal$"):
        view("rope", "norms")
    with pytest.raises(ValueError, match="head must be left out for kind 'norms'"):
        view("sinusoidal", "norms", head=0)


@pytest.mark.usefixtures("norms")
def test_the_kind_of_an_encoding_is_the_first_that_claims_it():
    assert default_kind(pe.Sinusoidal(8)) == "heatmap"
    assert default_kind(pe.Shaw(8, 4)) == default_kind(pe.RoPE(8), pe.ALiBi(4)) == "attention"
    assert default_kind(pe.AxialRoPE.split(8), pe.RoPE(8)) == "similarity"  # no other in common
    assert default_kind(pe.AxialRoPE.split(8), pe.ALiBi(4)) == "maps"  # not even that
