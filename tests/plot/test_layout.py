"""Pages of any size that can be read."""

import re
from itertools import product

import pytest

import posenc as pe
from posenc.views import KINDS
from tests.plot.pages import check_pixels, png, shown
from tests.slow import seldom


def test_size_and_dpi():
    pixels = png(shown("heatmap", size="7x3", dpi=50))
    assert pixels.shape[:2] == (150, 350)
    assert png(shown("rotation", size=(4, 4), dpi=100)).shape[:2] == (400, 400)


@pytest.mark.parametrize(
    ("tokens", "dim"),
    seldom(
        product([1, 41, 500], [1, 2, 600]), but=[(1, 1), (1, 600), (41, 2), (500, 1), (500, 600)]
    ),
)
def test_any_size_can_be_drawn(tokens, dim):
    assert png(pe.show("sinusoidal", tokens=["x"] * tokens, dim=dim, dpi=60)).size > 1000


def test_a_page_that_is_too_small_is_a_sentence():
    with pytest.raises(ValueError, match=r"size must be at least 6.8x2.\d for .*; got 2x1$"):
        pe.show("rope", "decay", size="2x1")


@pytest.mark.parametrize("kind", KINDS)
def test_the_least_size_is_said_and_taken(kind):
    with pytest.raises(ValueError, match="size must be at least") as caught:
        shown(kind, size="1x1", lang="zh-Hans")
    least = re.search(r"at least (\S+) for", str(caught.value))[1]
    figure = shown(kind, size=least, lang="zh-Hans")
    assert "x".join(f"{side:g}" for side in figure.get_size_inches()) == least
    check_pixels(figure, dark=False)
