"""Colours of values, lines and tokens, chosen so that colour-blind readers can tell them apart.

A colour map interpolates linearly in OKLab between a few anchors, so that equal steps of value look
about equal, and lightness alone shows the distance from zero. OKLab: Björn Ottosson (2020), "A
perceptual color space for image processing".
"""

from functools import cache

import numpy as np

from posenc.core import rules

MAPS = ("diverging", "cyclic", "sequential")
SIZE = 256

# Evenly spaced anchors (lightness, green-red, blue-yellow). Readers who cannot tell red from green
# can tell blue from orange and red.
LIGHT: dict[str, tuple[tuple[float, float, float], ...]] = {
    "diverging": (
        (0.42, -0.02, -0.165),
        (0.695, -0.045, -0.105),
        (0.97, 0.0, 0.0),
        (0.695, 0.10, 0.10),
        (0.42, 0.14, 0.075),
    ),
    "cyclic": (
        (0.30, 0.02, -0.02),
        (0.62, -0.03, -0.135),
        (0.94, 0.0, 0.0),
        (0.62, 0.10, 0.10),
        (0.30, 0.02, -0.02),
    ),
    "sequential": (
        (0.97, 0.0, 0.0),
        (0.74, -0.055, -0.06),
        (0.51, -0.03, -0.12),
        (0.28, 0.02, -0.12),
    ),
}
DARK: dict[str, tuple[tuple[float, float, float], ...]] = {
    "cyclic": (  # light and dark are swapped, so that an angle of 0 has the colour of the page
        (0.94, 0.0, 0.0),
        (0.62, -0.03, -0.135),
        (0.30, 0.02, -0.02),
        (0.62, 0.10, 0.10),
        (0.94, 0.0, 0.0),
    ),
    "diverging": (
        (0.86, -0.055, -0.068),
        (0.53, -0.03, -0.13),
        (0.20, 0.0, 0.0),
        (0.53, 0.12, 0.09),
        (0.86, 0.035, 0.105),
    ),
    "sequential": (
        (0.20, 0.0, 0.0),
        (0.44, -0.005, -0.13),
        (0.68, -0.09, -0.03),
        (0.92, -0.035, 0.13),
    ),
}

OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#F0E442")
"""Okabe and Ito (2008), "Color Universal Design": eight colours for tokens."""

VIOLETS = {
    "light": ((0.27, 0.045, -0.115), (0.64, 0.10, -0.105)),
    "dark": ((0.9, 0.035, -0.055), (0.57, 0.10, -0.15)),
}
"""The first and the last shade of lines, in OKLab."""
SHADES = 5
"""Shades of lines; more lines than that are told apart by their strokes."""
STROKES = 4
"""Strokes of lines: solid, dashed, dotted, dash-dotted."""

# OKLab to cone responses, and those to linear sRGB.
TO_CONES = np.array(
    [
        [1.0, 0.3963377774, 0.2158037573],
        [1.0, -0.1055613458, -0.0638541728],
        [1.0, -0.0894841775, -1.2914855480],
    ]
)
TO_RGB = np.array(
    [
        [4.0767416621, -3.3077115913, 0.2309699292],
        [-1.2684380046, 2.6097574011, -0.3413193965],
        [-0.0041960863, -0.7034186147, 1.7076147010],
    ]
)


@cache
def table(name: str, *, dark: bool = False) -> tuple[tuple[int, int, int], ...]:
    """Return the 256 colours of a map, as red, green and blue from 0 to 255.

    Diverging: zero is in the middle, in the colour of the page. Cyclic: the last colour leads back
    to the first. Sequential: zero is the first.

    >>> table("diverging")[0], table("diverging")[127]
    ((23, 67, 166), (244, 244, 245))
    """
    rules.one_of("name", name, MAPS)
    anchors = np.array((DARK if dark else LIGHT)[name])
    # the end of a cyclic map is its beginning, so it is left out
    at = np.linspace(0, 1, SIZE, endpoint=name != "cyclic") * (len(anchors) - 1)
    lab = np.stack([np.interp(at, range(len(anchors)), part) for part in anchors.T], axis=-1)
    rgb = np.clip(np.rint(255 * from_oklab(lab)), 0, 255).astype(int)
    return tuple((red, green, blue) for red, green, blue in rgb.tolist())


def from_oklab(lab: np.ndarray) -> np.ndarray:
    """Convert OKLab colours (…, 3) to sRGB; outside 0 .. 1 where no screen can show them."""
    linear = (lab @ TO_CONES.T) ** 3 @ TO_RGB.T
    return np.where(
        linear <= 0.0031308,
        12.92 * linear,
        1.055 * np.clip(linear, 0.0031308, None) ** (1 / 2.4) - 0.055,
    )


def lines(*, dark: bool = False) -> tuple[str, ...]:
    """Return shades of violet for lines, those that stand out most first.

    They differ from the colours of tokens, which keep theirs in all views. Each shade has a
    contrast of at least 3:1 with the page (WCAG 2.2, 1.4.11).

    >>> lines()
    ('#2A115C', '#472976', '#664092', '#8857AD', '#AB6FC9')
    """
    first, last = VIOLETS["dark" if dark else "light"]
    at = np.linspace(0, 1, SHADES)[:, None]
    lab = (1 - at) * np.array(first) + at * np.array(last)
    rgb = np.clip(np.rint(255 * from_oklab(lab)), 0, 255).astype(int)
    return tuple(f"#{red:02X}{green:02X}{blue:02X}" for red, green, blue in rgb.tolist())


def style_line(number: int) -> tuple[int, int]:
    """Return the shade and the stroke of line `number`; consecutive lines differ in both.

    >>> [style_line(number) for number in range(7)]
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 0), (0, 1), (1, 2)]
    """
    turn, shade = divmod(number, SHADES)
    return shade, (shade + turn) % STROKES


def tokens(*, dark: bool = False) -> tuple[str, ...]:
    """Return the colours of tokens on a light or a dark page, those that stand out most first."""
    if not dark:
        return OKABE_ITO
    blue, orange, green, pink, sky, red, _, yellow = OKABE_ITO
    return (sky, orange, green, pink, yellow, red, "#FFFFFF", blue)
