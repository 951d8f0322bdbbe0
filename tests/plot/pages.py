"""Figures that the tests of plot look at."""

import io
from functools import cache

import numpy as np
from matplotlib.image import imread

import posenc as pe
from posenc.plot import fonts
from posenc.views import KINDS, kinds_for
from tests.slow import seldom
from tests.views.examples import example_for

CHINESE, JAPANESE, TRADITIONAL = "我 爱 学习 AI", "犬が人を噛む", "我 喜歡 學習 位置 編碼"
SORTS = "heatmap", "waves", "rotation"
"""An image, lines and dials."""
MOSTLY_SORTS = seldom(KINDS, but=SORTS)


def shown(kind, **options):
    what = example_for(kind, maps="axial-rope")
    sentence = {"tokens": CHINESE} if "attention" in kinds_for(pe.lookup(what).example()) else {}
    return pe.show(what, kind, **(sentence | {"dpi": 60} | options))


@cache
def kept(kind):
    """A figure that several tests look at: it stays as it is."""
    return shown(kind)


def png(figure):
    return imread(io.BytesIO(figure._repr_png_()))


def check_pixels(figure, *, dark):
    pixels = png(figure)
    corner = pixels[0, 0, :3]
    assert (corner < 0.2).all() if dark else (corner == 1).all()
    assert np.ptp(pixels[..., :3], axis=(0, 1)).min() > 0.5  # there is something on it
    assert (figure.notes == ()) == bool(fonts.han_fonts("ja"))


def labels(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def drawn_colours(axes):
    return {line.get_label(): line.get_color() for line in axes.get_lines()}
