"""Sizes of pages and panels, in inches."""

import math
from typing import Any, TypeGuard

from posenc.core import rules
from posenc.i18n.terminal import width
from posenc.plot.lines import DIALS_IN_A_ROW, legend_rows
from posenc.views import Dials, Image, Lines, Panel, View

WIDTHS = {1: 8.0, 2: 11.0, 3: 13.5, 4: 14.0}
"""Width of a page by its number of columns, unless the panels need less."""


def count_columns(view: View) -> int:
    """Return the columns of panels on the page."""
    return max(1, min(view.columns, len(view.panels), max(WIDTHS)))


def page_width(view: View) -> float:
    """Return the width of the page: what its columns need, within bounds."""
    columns = count_columns(view)
    wanted = [_square(panel) + 1.2 if is_square(panel) else 99.0 for panel in view.panels]
    return max(5.5, min(WIDTHS[columns], columns * max(wanted) + 0.8))


def row_heights(view: View) -> list[float]:
    """Return the height of each row of panels: that of the tallest panel in it."""
    columns = count_columns(view)
    wide = page_width(view) / columns
    wanted = [_height(panel, wide, alone=len(view.panels) == 1) for panel in view.panels]
    return [max(wanted[i : i + columns]) for i in range(0, len(wanted), columns)]


def _height(panel: Panel, wide: float, *, alone: bool) -> float:
    if isinstance(panel, Dials):
        return 0.4 + 1.75 * -(-len(panel.names) // DIALS_IN_A_ROW)
    if not isinstance(panel, Image):
        return 3.3 + 0.18 * _legend_rows(panel, wide)
    if panel.square:
        return min(_square(panel), wide - 1.2) + 0.8
    return min(0.32 * panel.values.shape[0], 6.5 if alone else 4.0) + 0.8


def _legend_rows(panel: Lines, wide: float) -> int:
    """Count the rows of a legend below a panel."""
    names = [item.name for item in (*panel.lines, *panel.marks)]
    return legend_rows(names, wide - 1) if len(names) > 1 else 0


def is_square(panel: Panel) -> TypeGuard[Image]:
    """Return whether it is an image of square cells."""
    return isinstance(panel, Image) and panel.square


def _square(panel: Image) -> float:
    """Return the side of a square image: cells as wide as their labels, within bounds."""
    longest = max(map(width, panel.columns.labels or ("",)))
    cell = min(max(0.36, 0.12 + 0.07 * longest), 0.6)
    return min(max(2.2, cell * max(panel.values.shape)), 5.0)


def smallest_size(view: View, own: tuple[float, float]) -> tuple[float, float]:
    """Return the smallest legible size of a page whose natural size is `own`.

    Square images shrink with the shorter side, and with them the room for their labels.
    """
    part = 0.7 if any(map(is_square, view.panels)) else 0.5
    wide, high = (math.ceil(10 * part * side) / 10 for side in own)
    return wide, high


def parse_size(size: Any, least: tuple[float, float] = (1.0, 1.0)) -> tuple[float, float] | None:
    """Parse a size in inches, given as a pair or as text such as 8x4.5.

    >>> parse_size("8x4.5")
    (8.0, 4.5)
    """
    if size is None:
        return None
    try:
        wide, high = size.lower().split("x") if isinstance(size, str) else size
        wide, high = float(wide), float(high)
    except (TypeError, ValueError):
        raise ValueError(
            f"size must be inches as WIDTHxHEIGHT, such as 8x4.5; got {size!r}"
        ) from None
    for side in (wide, high):
        rules.real("each side of size", side, least=1, most=100)
    if wide < least[0] or high < least[1]:
        raise ValueError(
            f"size must be at least {least[0]:g}x{least[1]:g} for what is shown; "
            f"got {wide:g}x{high:g}"
        )
    return wide, high
