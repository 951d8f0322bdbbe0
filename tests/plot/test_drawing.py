"""Figures: every kind on light and dark pages, in any language, without a warning."""

import numpy as np
import pytest

import posenc as pe
from posenc import plot as figures
from posenc.views import view
from tests.plot.pages import CHINESE, JAPANESE, MOSTLY_SORTS, TRADITIONAL, check_pixels, kept, shown
from tests.slow import slow


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("kind", MOSTLY_SORTS)
def test_every_kind_is_drawn(kind, dark):
    """Warnings are errors in tests: a missing glyph or a layout that does not fit would warn.

    They do so when a page is laid out, which `show` does; pixels are looked at here, and of every
    kind in test_the_least_size_is_said_and_taken.
    """
    check_pixels(shown(kind, dark=dark), dark=dark)


@pytest.mark.parametrize("lang", ["ja", *slow("zh-Hans", "zh-Hant")])
@pytest.mark.parametrize("kind", MOSTLY_SORTS)
def test_every_kind_in_every_language(kind, lang):
    """Beside test_the_least_size_is_said_and_taken, which lays every kind out in Chinese."""
    sentence = {"ja": JAPANESE, "zh-Hant": TRADITIONAL}.get(lang, CHINESE)
    shown(kind, lang=lang, **({} if kind == "maps" else {"tokens": sentence}))


@pytest.mark.parametrize(
    "kind",
    ["heatmap", "rotation", "decay", *slow("similarity", "products", "attention")],
)
def test_several_side_by_side(kind):
    what = ["sinusoidal", "learned", "rope"] if kind in ("heatmap", "similarity") else None
    figure = pe.show(what or ["rope", "xpos", "yarn"], kind, tokens=JAPANESE, dpi=60)
    assert len(figure.axes) >= 3


@pytest.mark.parametrize("name", ["swin", "fire", "fourier-features", "mrope", *slow("t5", "shaw")])
def test_what_is_shown_unless_a_kind_is_asked_for(name):
    assert pe.show(name, dpi=60).axes


def test_the_figure_has_its_data():
    figure = kept("heatmap")
    assert np.array_equal(
        figure.view.panels[0].values, view("rope", tokens=CHINESE, kind="heatmap").panels[0].values
    )


@pytest.mark.parametrize("kind", MOSTLY_SORTS)
def test_a_lone_token_and_many_can_be_drawn(kind):
    if kind == "maps":
        for side in (1, 40):
            pe.show("axial-rope", "maps", length=side, dpi=60)
        return
    for sentence in ("AI", "word " * 120):
        shown(kind, tokens=sentence)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": "8"}, "size must be inches as WIDTHxHEIGHT, such as 8x4.5; got '8'"),
        ({"size": "axb"}, "size must be inches"),
        ({"size": (0.5, 3)}, "each side of size must be a finite number of at least 1"),
        ({"dpi": 1}, "dpi must be a finite number of at least 10 and at most 2400; got dpi=1"),
        ({"dark": 1}, "dark must be True or False; got dark=1"),
    ],
)
def test_wrong_pages_are_sentences(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        pe.show("rope", **options)


def test_the_title_of_a_lone_panel_is_that_of_the_page():
    figure = kept("heatmap")
    assert figure.get_suptitle() == "RoPE(64): angles by position and pair"
    assert figure.axes[0].get_title(loc="left") == ""


def test_draw_takes_a_view():
    made = view("rope", "decay", length=20)
    assert figures.draw(made, dpi=60).view is made
