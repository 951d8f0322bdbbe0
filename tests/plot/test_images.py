"""Images: the colours of cells, their averages, labels and scales."""

import re

import numpy as np

import posenc as pe
from posenc.plot import fonts
from posenc.views import colours
from tests.plot.pages import (
    kept,
    labels,
)


def test_rows_are_named_by_token_and_position():
    (axes, _) = kept("heatmap").axes
    expected = ["我  0", "爱  1", "学习  2", "AI  3"]
    assert labels(axes.yaxis) == expected or not fonts.han_fonts("ja")


def test_a_decimated_image_is_averaged_and_says_its_ratio():
    figure = pe.show("Sinusoidal(64)", "heatmap", length=4096, dpi=60)
    axes = figure.axes[0]
    found = re.fullmatch(r"position \(1:(\d+), averaged\)", axes.get_ylabel())
    ratio = int(found[1])
    drawn = np.asarray(axes.images[0].get_array())
    values = pe.Sinusoidal(64).encode(range(4096))
    assert drawn.shape == (-(-4096 // ratio), 64)
    assert np.allclose(drawn[1], values[ratio : 2 * ratio].mean(axis=0))
    assert drawn.shape[0] <= axes.get_window_extent().height + 1
    assert axes.get_xlabel() == "dimension"
    assert axes.get_ylim() == (4095.5, -0.5)


def test_colours_of_values_are_those_of_the_map():
    axes = kept("attention").axes[0]
    image = axes.images[0]
    rgb = image.cmap(image.norm(image.norm.vmax))[:3]
    assert np.allclose(np.array(rgb) * 255, colours.table("sequential")[-1])
    assert image.norm.vmin == 0
    axes = pe.show("sinusoidal", length=4, dpi=60).axes[0]
    assert axes.images[0].norm(0.0) == 0.5


def test_every_scale_of_colours_has_a_bar():
    assert len(kept("attention").axes) == 4 + 1
    assert len(pe.show("learned", "learned", dpi=60).axes) == 4 + 3
    assert len(pe.show(["sinusoidal", "Sinusoidal(32)"], "sum", dpi=60).axes) == 6 + 1
    # of sizes that differ fifty times: one for each
    assert len(pe.show(["sinusoidal", "learned"], "sum", dpi=60).axes) == 6 + 2
