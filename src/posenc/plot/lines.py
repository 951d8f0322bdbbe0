"""Lines and dials drawn."""

import math
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from posenc.i18n import Translate
from posenc.plot.fonts import Lettering, breadth
from posenc.plot.labels import Labels
from posenc.plot.page import PAPER
from posenc.views import Dials, Line, Lines, colours

DIALS_IN_A_ROW = 4
STROKES = ("-", "--", ":", "-.")
STEPS = 100
"""Steps of a line that fit into an inch: they are as wide as a thin stroke."""


def draw_lines(
    axes: Axes,
    panel: Lines,
    letters: Lettering,
    room: tuple[float, float],
    t: Translate,
    *,
    dark: bool,
) -> list[Labels]:
    """Lines in shades and strokes that all can tell apart, marks as rules; names beside or below.

    Lines of more steps than fit are averaged, with a band from the least to the largest value.
    """
    panel = panel.average(max(1, int(STEPS * room[0])))
    for number, line in enumerate(panel.lines):
        _draw_line(axes, panel, line, number, letters, dark=dark)
    ink = PAPER["dark" if dark else "light"][1]
    for number, mark in enumerate(panel.marks):
        rule = axes.axhline if mark.x is None else axes.axvline
        at = mark.y if mark.x is None else mark.x
        rule(
            at or 0.0,
            color=ink,
            linewidth=1,
            linestyle=STROKES[1 + number % 3],
            label=letters.text(mark.name),
        )
    if panel.y_axis.log:
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(FuncFormatter(_plain))
        axes.yaxis.set_minor_formatter(NullFormatter())
    if panel.x_axis.log:
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(_plain))
    axes.grid(visible=True)
    axes.set_axisbelow(True)
    axes.margins(x=0.02)
    axes.set_xlabel(letters.text(_named(panel, t)))
    axes.set_ylabel(letters.text(panel.y_axis.name))
    _legend(axes, room)
    if panel.x_axis.labels is not None:
        return [Labels(axes, panel.x_axis.labels, letters, beside=False)]
    if not panel.x_axis.log:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    return []


def _draw_line(
    axes: Axes, panel: Lines, line: Line, number: int, letters: Lettering, *, dark: bool
) -> None:
    shade, stroke = colours.look(number if line.colour is None else line.colour)
    colour = colours.lines(dark=dark)[shade]
    # a lone point needs a dot to be seen
    dot = "o" if np.isfinite(line.y).sum() == 1 else None
    y = np.where(np.isfinite(line.y), line.y, np.nan)
    if line.low is not None and line.high is not None:
        axes.fill_between(panel.x, line.low, line.high, color=colour, alpha=0.25, linewidth=0)
    axes.plot(
        panel.x,
        y,
        STROKES[stroke],
        color=colour,
        linewidth=1.5 if panel.ratio == 1 else 0.8,  # a mean is not to hide the band
        marker=dot,
        drawstyle="steps-mid" if panel.steps else "default",
        label=letters.text(line.name),
    )


def _named(panel: Lines, t: Translate) -> str:
    if panel.ratio == 1:
        return panel.x_axis.name
    said = t("1:{ratio}, averaged; the band is from least to largest", ratio=panel.ratio)
    return f"{panel.x_axis.name} ({said})"


def of_token(number: int, *, dark: bool) -> tuple[str, str]:
    """The colour and the stroke of a token's hand: with more than there are colours, both.

    >>> first, ninth = of_token(0, dark=False), of_token(8, dark=False)
    >>> first == ninth, first[0] == ninth[0]
    (False, True)
    """
    palette = colours.tokens(dark=dark)
    return palette[number % len(palette)], STROKES[number // len(palette) % len(STROKES)]


def _plain(value: float, _: Any) -> str:
    """10,000 and not a power: exponents would need matplotlib's own mathematics."""
    return f"{value:,.10g}"


def _legend(axes: Axes, room: tuple[float, float]) -> None:
    _, names = axes.get_legend_handles_labels()
    if len(names) < 2:
        return
    if max(map(breadth, names)) <= 18 and room[0] > 5:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return
    figure = axes.get_figure(root=True)
    assert figure is not None
    below = ScaledTranslation(0, -0.45, figure.dpi_scale_trans)  # inches: under the axis' name
    rows = legend_rows(names, room[0])
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=axes.transAxes + below,
        borderaxespad=0,
        ncols=-(-len(names) // rows),
    )


def legend_rows(names: list[str], wide: float) -> int:
    """Rows that so many names take within a width in inches."""
    columns = max(1, min(4, int(wide / (0.6 + 0.075 * max(map(breadth, names))))))
    return -(-len(names) // columns)


def draw_dials(axes: Axes, panel: Dials, letters: Lettering, *, dark: bool) -> None:
    """Circles in rows, with a hand of its own colour for each position."""
    _, ink, guide = PAPER["dark" if dark else "light"]
    longest = max(1.0, float(panel.hands[..., 1].max()))
    for dial, name in enumerate(panel.names):
        x, y = 2.9 * (dial % DIALS_IN_A_ROW), -2.9 * (dial // DIALS_IN_A_ROW)
        axes.add_patch(Circle((x, y), 1 / longest, fill=False, edgecolor=guide, linewidth=1))
        axes.plot([x, x + 1], [y, y], color=guide, linewidth=0.8)
        for hand, (angle, length) in enumerate(panel.hands[dial]):
            reach = length / longest
            ends = [x + reach * math.cos(angle)], [y + reach * math.sin(angle)]
            colour, stroke = of_token(hand, dark=dark)
            axes.plot([x, *ends[0]], [y, *ends[1]], stroke, color=colour, linewidth=1.6)
            label = letters.text(panel.labels[hand]) if dial == 0 else None
            # the second of a colour has a square at the end of its hand
            dot = "o" if stroke == STROKES[0] else "s"
            axes.plot(*ends, dot, color=colour, markersize=4.5, label=label)
        axes.text(
            x, y - 1.18, letters.text(name), ha="center", va="top", fontsize="small", color=ink
        )
    axes.set_aspect("equal")
    axes.margins(0.02)
    axes.axis("off")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
