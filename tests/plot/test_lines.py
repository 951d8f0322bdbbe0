"""Lines and dials: shades, strokes, bands."""

import numpy as np
import pytest

import posenc as pe
from posenc.views import colours
from tests.plot.pages import drawn_colours, shown


@pytest.mark.parametrize("dark", [False, True])
def test_one_colour_for_a_name_in_all_panels(dark):
    left, right = pe.show("rope", "scalings", dark=dark, dpi=60).axes
    both = drawn_colours(left).items() & drawn_colours(right).items()
    assert len(both) == len(drawn_colours(left)) == 4
    (*_, random) = pe.show(["rope", "yarn"], "decay", length=9, dpi=60).axes
    strokes = [line.get_linestyle() for line in random.get_lines()]
    assert strokes == ["-", "--", "--", ":"]
    shades = [line.get_color() for line in random.get_lines()]
    assert shades[0] == shades[1] != shades[2] == shades[3]


def test_more_positions_than_fit_are_a_mean_with_a_band_behind_it():
    figure = pe.show("sinusoidal", "waves", length=4096, channels=[0], dpi=60)
    (axes,) = figure.axes
    (line,) = axes.get_lines()
    (band,) = axes.collections
    box = 4096 // len(line.get_ydata()) + 1
    assert np.allclose(
        line.get_ydata()[:-1], np.sin(np.arange(4096)[: -(4096 % box)]).reshape(-1, box).mean(1)
    )
    edges = band.get_paths()[0].vertices[:, 1]
    assert edges.max() > 0.99
    assert edges.min() < -0.99
    assert axes.get_xlabel() == (f"position (1:{box}, averaged; the band is from least to largest)")
    assert len(figure.view.panels[0].x) == 4096  # the data is whole


def test_lines_have_no_colour_of_a_token():
    drawn = set(drawn_colours(pe.show("alibi", "bias", dpi=60).axes[0]).values())
    assert drawn == set(colours.lines())
    assert not drawn & set(colours.tokens())


def test_wavelengths_of_dimensions_are_steps():
    axes = pe.show(["sinusoidal", "rope"], "wavelengths", dpi=60).axes
    drawn = [panel.get_lines()[0].get_drawstyle() for panel in axes]
    assert drawn == ["steps-mid", "default"]


def test_twelve_hands_all_look_different():
    figure = shown("rotation", tokens="abcdefghijkl".replace("", " "))
    dots = [line for line in figure.axes[0].get_lines() if line.get_marker() != "None"]
    assert len({(dot.get_color(), dot.get_marker()) for dot in dots}) == 12
