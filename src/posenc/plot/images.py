"""Draws images: cells as colours, never more of them than pixels, with labels beside them."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, Normalize
from matplotlib.ticker import MaxNLocator

from posenc.plot.labels import Labels, name_averaged
from posenc.plot.page import Page
from posenc.views import Axis, Image, colours

LINE = 0.17
"""Height of a label in inches."""


def place_image(page: Page, axes: Axes, image: Image, room: tuple[float, float]) -> list[Labels]:
    """Set up the axes of an image without its cells, and return the labels of rows and columns.

    How many cells and labels fit is known only after the page has been laid out.
    """
    _set_limits(axes, image)
    axes.set_aspect("equal" if image.square else "auto")
    for spine in axes.spines.values():
        spine.set_visible(False)
    beside = _place_ticks(page, axes, image.rows, room[1], beside=True)
    below = _place_ticks(page, axes, image.columns, room[0], beside=False)
    return beside + below


def draw_cells(page: Page, axes: Axes, image: Image) -> None:
    """Draw the cells, averaged if they are more than pixels, which the axis labels then say."""
    box = axes.get_window_extent()
    shown = image.average(max(1, int(box.height)), max(1, int(box.width)))
    norm, cmap = colour_scale(image, dark=page.dark)
    high, wide = (n * r for n, r in zip(shown.values.shape, shown.ratio, strict=True))
    axes.imshow(
        shown.values,
        cmap=cmap,
        norm=norm,
        aspect=axes.get_aspect(),
        extent=(-0.5, wide - 0.5, high - 0.5, -0.5),
        # angles must not be interpolated as numbers
        interpolation="nearest" if image.colours == "cyclic" else "auto",
    )
    _set_limits(axes, image)
    named = zip((image.rows, image.columns), shown.ratio, strict=True)
    notes = (name_averaged(axis, r, page.t("1:{ratio}, averaged", ratio=r)) for axis, r in named)
    y, x = map(page.letters.text, notes)
    axes.set_ylabel(y)
    axes.set_xlabel(x)


def colour_scale(image: Image, *, dark: bool) -> tuple[Normalize, Colormap]:
    """Return the norm and the colour map: zero in the middle, or at the start if sequential."""
    table = np.array(colours.table(image.colours, dark=dark)) / 255
    # NaN is transparent; an angle without direction is grey, a colour that no direction has
    bad = (0.5, 0.5, 0.5, 1.0) if image.colours == "cyclic" else (0.0, 0.0, 0.0, 0.0)
    cmap = ListedColormap(table).with_extremes(bad=bad)
    least = 0.0 if image.colours == "sequential" else -image.limit
    return Normalize(least, image.limit), cmap


def draw_colour_bar(page: Page, image: Image, axes: list[Axes], shrink: float) -> None:
    """Draw the colour bar of one image, or of all that share its scale."""
    scale = ScalarMappable(*colour_scale(image, dark=page.dark))
    bar: Any = page.colorbar(scale, ax=axes, pad=0.02, fraction=0.06, aspect=22, shrink=shrink)
    bar.set_label(page.letters.text(image.unit))
    bar.outline.set_visible(False)
    if image.colours == "cyclic" and image.limit == math.pi:
        quarters = [-math.pi, -math.pi / 2, 0, math.pi / 2, math.pi]
        bar.set_ticks(quarters, labels=["−π", "−π/2", "0", "π/2", "π"])


def _place_ticks(page: Page, axes: Axes, what: Axis, room: float, *, beside: bool) -> list[Labels]:
    axis: Any = axes.yaxis if beside else axes.xaxis
    axis.set_label_text(page.letters.text(what.name))
    if what.labels is not None:
        return [Labels(axes, what.labels, page.letters, beside=beside)]
    most = min(9, max(2, int(room / LINE)))
    axis.set_major_locator(MaxNLocator(nbins=most, integer=True, min_n_ticks=1))
    return []


def _set_limits(axes: Axes, image: Image) -> None:
    """Show all rows and columns: more than those of an averaged image, which may cover more."""
    sides = zip((image.rows, image.columns), image.values.shape, image.ratio, strict=True)
    high, wide = (n * r if axis.labels is None else len(axis.labels) for axis, n, r in sides)
    axes.set_xlim(-0.5, wide - 0.5)
    axes.set_ylim(high - 0.5, -0.5)
