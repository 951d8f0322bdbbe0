"""Images drawn: cells as colours, tokens beside them, never more cells than pixels."""

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
"""Inches that a label takes."""


def place(axes: Axes, image: Image, letters: Lettering, room: tuple[float, float]) -> list[Labels]:
    """Everything but the cells: how many of those fit is known when all is laid out.

    Labels of rows and columns are returned: what fits of them is known then too.
    """
    rows, columns = _extent(image)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_aspect("equal" if image.square else "auto")
    for spine in axes.spines.values():
        spine.set_visible(False)
    beside = _ticks(axes, image.rows, letters, int(room[1] / LINE), beside=True)
    below = _ticks(axes, image.columns, letters, int(room[0] / LINE), beside=False)
    return beside + below


def fill(axes: Axes, image: Image, letters: Lettering, t: Translate, *, dark: bool) -> None:
    """The cells, averaged where they are more than pixels; then the axes' names say so."""
    box = axes.get_window_extent()
    shown = image.average(max(1, int(box.height)), max(1, int(box.width)))
    norm, cmap = scale_of(image, dark=dark)
    high, wide = (n * r for n, r in zip(shown.values.shape, shown.ratio, strict=True))
    axes.imshow(
        shown.values,
        cmap=cmap,
        norm=norm,
        aspect=axes.get_aspect(),
        extent=(-0.5, wide - 0.5, high - 0.5, -0.5),
        # angles must not be mixed as numbers between cells
        interpolation="nearest" if image.colours == "cyclic" else "auto",
    )
    rows, columns = _extent(image)
    axes.set_xlim(-0.5, columns - 0.5)
    axes.set_ylim(rows - 0.5, -0.5)
    axes.set_ylabel(letters.text(_named(image.rows, shown.ratio[0], t)))
    axes.set_xlabel(letters.text(_named(image.columns, shown.ratio[1], t)))


def scale_of(image: Image, *, dark: bool) -> tuple[Normalize, Colormap]:
    """Colours of values: zero in the middle, or at the beginning of a sequential map."""
    table = np.array(colours.table(image.colours, dark=dark)) / 255
    # no value is no colour; no direction is grey, which no direction has
    bad = (0.5, 0.5, 0.5, 1.0) if image.colours == "cyclic" else (0.0, 0.0, 0.0, 0.0)
    cmap = ListedColormap(table).with_extremes(bad=bad)
    least = 0.0 if image.colours == "sequential" else -image.limit
    return Normalize(least, image.limit), cmap


def colour_bar(
    figure: Any, image: Image, axes: Any, letters: Lettering, shrink: float, *, dark: bool
) -> None:
    """The scale beside one image, or beside all that share it."""
    scale = ScalarMappable(*scale_of(image, dark=dark))
    bar = figure.colorbar(scale, ax=axes, pad=0.02, fraction=0.06, aspect=22, shrink=shrink)
    bar.set_label(letters.text(image.unit))
    bar.outline.set_visible(False)
    if image.colours == "cyclic" and image.limit == math.pi:
        quarters = [-math.pi, -math.pi / 2, 0, math.pi / 2, math.pi]
        bar.set_ticks(quarters, labels=["−π", "−π/2", "0", "π/2", "π"])


def _ticks(axes: Axes, what: Axis, letters: Lettering, most: int, *, beside: bool) -> list[Labels]:
    axis: Any = axes.yaxis if beside else axes.xaxis
    axis.set_label_text(letters.text(what.name))
    if what.labels is not None:
        return [Labels(axes, what.labels, letters, beside=beside)]
    axis.set_major_locator(MaxNLocator(nbins=min(9, max(2, most)), integer=True, min_n_ticks=1))
    return []


def _extent(image: Image) -> tuple[int, int]:
    """Rows and columns of the axes, which have more than the image if that is averaged."""
    rows, columns = image.values.shape
    labels = (image.rows.labels, image.columns.labels)
    counts = (rows * image.ratio[0], columns * image.ratio[1])
    high, wide = (
        n if names is None else len(names) for n, names in zip(counts, labels, strict=True)
    )
    return high, wide


def _named(axis: Axis, ratio: int, t: Translate) -> str:
    if ratio == 1:
        return axis.name
    return f"{axis.name} ({t('1:{ratio}, averaged', ratio=ratio)})"
