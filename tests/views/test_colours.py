"""The colours: symmetric, monotone, on any screen, and readable without red or green."""

from itertools import pairwise

import numpy as np
import pytest

from posenc.views import colours

# Viénot, Brettel and Mollon (1999), as given for linear sRGB; Machado et al. (2009), severity 1.
WITHOUT = {
    "protanopia, Machado": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia, Machado": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia, Viénot": [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
    "deuteranopia, Viénot": [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
}
MODES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


def linear(rgb):
    rgb = np.asarray(rgb) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(light):
    """Ottosson's own matrices from linear sRGB, not the inverses of ours."""
    to_cones = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    to_lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return np.cbrt(light @ to_cones.T) @ to_lab.T


def table(name, dark):
    return np.array(colours.table(name, dark=dark))


@MODES
def test_diverging_is_the_page_in_the_middle_and_as_light_on_either_side(dark):
    lightness = oklab(linear(table("diverging", dark)))[:, 0]
    assert np.allclose(lightness, lightness[::-1], atol=0.01)
    middle = oklab(linear(table("diverging", dark)[127:129]))
    assert np.allclose(middle[:, 1:], 0, atol=0.01)
    assert np.all(middle[:, 0] < 0.25 if dark else middle[:, 0] > 0.95)


@MODES
@pytest.mark.parametrize("name", ["diverging", "sequential"])
def test_lightness_runs_one_way_on_each_side(dark, name):
    lightness = oklab(linear(table(name, dark)))[:, 0]
    sides = [lightness[127::-1], lightness[128:]] if name == "diverging" else [lightness]
    for side in sides:
        steps = np.diff(side) if dark else -np.diff(side)
        assert steps.min() > -0.002  # rounding to 256 levels
        assert abs(side[-1] - side[0]) > 0.5


@MODES
def test_cyclic_closes_and_opposite_phases_differ(dark):
    lab = oklab(linear(table("cyclic", dark)))
    steps = np.linalg.norm(lab - np.roll(lab, 1, axis=0), axis=1)
    assert steps.max() < 4 * np.median(steps)
    for matrix in WITHOUT.values():
        seen = oklab(np.clip(linear(table("cyclic", dark)) @ np.array(matrix).T, 0, 1))
        assert np.linalg.norm(seen - np.roll(seen, 128, axis=0), axis=1).min() > 0.15


@MODES
@pytest.mark.parametrize("matrix", WITHOUT.values(), ids=WITHOUT)
def test_the_ends_differ_without_red_or_green(dark, matrix):
    seen = oklab(np.clip(linear(table("diverging", dark)) @ np.array(matrix).T, 0, 1))
    for reach in (0, 32, 64):
        assert np.linalg.norm(seen[reach, 1:] - seen[255 - reach, 1:]) > 0.12


@MODES
@pytest.mark.parametrize("name", colours.MAPS)
def test_every_colour_exists_on_a_screen(dark, name):
    anchors = np.array((colours.DARK if dark else colours.LIGHT)[name])
    at = np.linspace(0, len(anchors) - 1, 999)
    lab = np.stack([np.interp(at, range(len(anchors)), part) for part in anchors.T], axis=-1)
    rgb = colours.from_oklab(lab)
    assert rgb.min() > -0.02
    assert rgb.max() < 1.02


def test_tokens_are_okabe_and_itos_and_none_has_the_colour_of_the_page():
    assert len(set(colours.tokens())) == 8
    assert "#FFFFFF" not in colours.tokens()
    assert len(set(colours.tokens(dark=True))) == 8
    assert "#000000" not in colours.tokens(dark=True)


def of_hex(code):
    return [int(code[at : at + 2], 16) for at in (1, 3, 5)]


def luminance(code):
    return linear(of_hex(code)) @ [0.2126, 0.7152, 0.0722]


@MODES
def test_lines_are_seen_on_the_page_and_are_no_tokens_colours(dark):
    """A contrast of 3:1 with the paper of figures and of the explorer, by WCAG's formula."""
    shades = colours.lines(dark=dark)
    for paper in ("#15181C", "#171716") if dark else ("#FFFFFF", "#FCFCFA"):
        for shade in shades:
            light, dim = sorted((luminance(shade), luminance(paper)), reverse=True)
            assert (light + 0.05) / (dim + 0.05) >= 3, (shade, paper)
    lab, tokens = (
        oklab(linear([of_hex(code) for code in codes]))
        for codes in (shades, colours.tokens(dark=dark))
    )
    assert np.linalg.norm(lab[:, None] - tokens[None], axis=-1).min() > 0.08
    steps = np.diff(lab[:, 0])
    assert (steps < -0.05).all() if dark else (steps > 0.05).all()  # a ramp, the first stands out


def test_no_two_lines_look_alike():
    looks = [colours.style_line(number) for number in range(colours.SHADES * colours.STROKES)]
    assert len(set(looks)) == len(looks)
    for one, other in pairwise(looks):
        assert one[0] != other[0]
        assert one[1] != other[1] or one[0] == colours.SHADES - 1


def test_an_unknown_map_is_a_sentence():
    with pytest.raises(ValueError, match="name must be 'diverging' or 'cyclic' or 'sequential'"):
        colours.table("rainbow")
