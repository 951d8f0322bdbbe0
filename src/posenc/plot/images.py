"""Draws images: cells as colours, never more of them than pixels, with labels beside them."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Colormap, ListedColormap, Normalize
from matplotlib.ticker import MaxNLocator

from posenc.i18n import Translate
from posenc.plot.fonts import Lettering
from posenc.plot.labels import Labels
from posenc.views import Axis, Image, colours

LINE = 0.17
"""Height of a label in inches."""


def place_image(
    axes: Axes, image: Image, letters: Lettering, room: tuple[float, float]
) -> list[Labels]:
    """Set up the axes of an image without its cells, and return the labels of rows and columns.

    How many cells and labels fit is known only after the page has been laid out.
    """
    rows, columns = _axes_shape(image)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_aspect("equal" if image.square else "auto")
    for spine in axes.spines.values():
        spine.set_visible(False)
    beside = _place_ticks(axes, image.rows, letters, int(room[1] / LINE), beside=True)
    below = _place_ticks(axes, image.columns, letters, int(room[0] / LINE), beside=False)
    return beside + below


def draw_cells(axes: Axes, image: Image, letters: Lettering, t: Translate, *, dark: bool) -> None:
    """Draw the cells, averaged if they are more than pixels, which the axis labels then say."""
    box = axes.get_window_extent()
    shown = image.average(max(1, int(box.height)), max(1, int(box.width)))
    norm, cmap = colour_scale(image, dark=dark)
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
    rows, columns = _axes_shape(image)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_ylabel(letters.text(_axis_label(image.rows, shown.ratio[0], t)))
    axes.set_xlabel(letters.text(_axis_label(image.columns, shown.ratio[1], t)))


def colour_scale(image: Image, *, dark: bool) -> tuple[Normalize, Colormap]:
    """Return the norm and the colour map: zero in the middle, or at the start if sequential."""
    table = np.array(colours.table(image.colours, dark=dark)) / 255
    # NaN is transparent; an angle without direction is grey, a colour that no direction has
    bad = (0.5, 0.5, 0.5, 1.0) if image.colours == "cyclic" else (0.0, 0.0, 0.0, 0.0)
    cmap = ListedColormap(table).with_extremes(bad=bad)
    least = 0.0 if image.colours == "sequential" else -image.limit
    return Normalize(least, image.limit), cmap


def draw_colour_bar(
    figure: Any, image: Image, axes: Any, letters: Lettering, shrink: float, *, dark: bool
) -> None:
    """Draw the colour bar of one image, or of all that share its scale."""
    scale = ScalarMappable(*colour_scale(image, dark=dark))
    bar = figure.colorbar(scale, ax=axes, pad=0.02, fraction=0.06, aspect=22, shrink=shrink)
    bar.set_label(letters.text(image.unit))
    bar.outline.set_visible(False)
    if image.colours == "cyclic" and image.limit == math.pi:
        quarters = [-math.pi, -math.pi / 2, 0, math.pi / 2, math.pi]
        bar.set_ticks(quarters, labels=["−π", "−π/2", "0", "π/2", "π"])


def _place_ticks(
    axes: Axes, what: Axis, letters: Lettering, most: int, *, beside: bool
) -> list[Labels]:
    axis: Any = axes.yaxis if beside else axes.xaxis
    axis.set_label_text(letters.text(what.name))
    if what.labels is not None:
        return [Labels(axes, what.labels, letters, beside=beside)]
    axis.set_major_locator(MaxNLocator(nbins=min(9, max(2, most)), integer=True, min_n_ticks=1))
    return []


def _axes_shape(image: Image) -> tuple[int, int]:
    """Return the rows and columns of the axes: more than those of an averaged image."""
    rows, columns = image.values.shape
    labels = (image.rows.labels, image.columns.labels)
    counts = (rows * image.ratio[0], columns * image.ratio[1])
    high, wide = (
        n if names is None else len(names) for n, names in zip(counts, labels, strict=True)
    )
    return high, wide


def _axis_label(axis: Axis, ratio: int, t: Translate) -> str:
    if ratio == 1:
        return axis.name
    return f"{axis.name} ({t('1:{ratio}, averaged', ratio=ratio)})"
