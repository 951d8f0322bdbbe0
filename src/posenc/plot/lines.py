"""Draws lines and dials."""

import math

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Circle
from matplotlib.ticker import FuncFormatter, MaxNLocator, NullFormatter
from matplotlib.transforms import ScaledTranslation

from posenc.i18n.terminal import width
from posenc.plot.labels import Labels, name_averaged
from posenc.plot.page import Page
from posenc.views import Dials, Line, Lines, colours

DIALS_IN_A_ROW = 4
STROKES = ("-", "--", ":", "-.")
STEPS = 100
"""Steps of a line per inch, at most: each is as wide as a thin stroke."""


def draw_lines(page: Page, axes: Axes, panel: Lines, room: tuple[float, float]) -> list[Labels]:
    """Draw lines in shades and strokes that everyone can tell apart, marks, and a legend.

    Lines of more steps than fit are averaged, with a band from minimum to maximum. Returns the
    labels of x, if it has any.
    """
    panel = panel.average(max(1, int(STEPS * room[0])))
    for number, line in enumerate(panel.lines):
        _draw_line(page, axes, panel, line, number)
    for number, mark in enumerate(panel.marks):
        rule, at = (axes.axhline, mark.y) if mark.x is None else (axes.axvline, mark.x)
        name, stroke = page.letters.text(mark.name), STROKES[1 + number % 3]
        rule(at or 0.0, color=page.ink, linewidth=1, linestyle=stroke, label=name)
    for name, axis, ticks in (("x", panel.x_axis, axes.xaxis), ("y", panel.y_axis, axes.yaxis)):
        if axis.log:
            axes.set(**{f"{name}scale": "log"})
            ticks.set_major_formatter(FuncFormatter(_format_tick))
            ticks.set_minor_formatter(NullFormatter())
    axes.grid(visible=True)
    axes.set_axisbelow(True)
    axes.margins(x=0.02)
    ratio = panel.ratio
    note = page.t("1:{ratio}, averaged; the band is from least to largest", ratio=ratio)
    axes.set_xlabel(page.letters.text(name_averaged(panel.x_axis, ratio, note)))
    axes.set_ylabel(page.letters.text(panel.y_axis.name))
    _draw_legend(page, axes, room[0])
    if panel.x_axis.labels is not None:
        return [Labels(axes, panel.x_axis.labels, page.letters, beside=False)]
    if not panel.x_axis.log:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=8))
    return []


def _draw_line(page: Page, axes: Axes, panel: Lines, line: Line, number: int) -> None:
    shade, stroke = colours.style_line(number if line.colour is None else line.colour)
    colour = colours.lines(dark=page.dark)[shade]
    # a single point is invisible without a marker
    dot = "o" if np.isfinite(line.y).sum() == 1 else None
    y = np.where(np.isfinite(line.y), line.y, np.nan)
    if line.low is not None and line.high is not None:
        axes.fill_between(panel.x, line.low, line.high, color=colour, alpha=0.25, linewidth=0)
    axes.plot(
        panel.x,
        y,
        STROKES[stroke],
        color=colour,
        linewidth=1.5 if panel.ratio == 1 else 0.8,  # thin, so that the band is visible
        marker=dot,
        drawstyle="steps-mid" if panel.steps else "default",
        label=page.letters.text(line.name),
    )


def token_style(number: int, *, dark: bool) -> tuple[str, str]:
    """Return the colour and the stroke of a token's hand; strokes differ if colours repeat.

    >>> first, ninth = token_style(0, dark=False), token_style(8, dark=False)
    >>> first == ninth, first[0] == ninth[0]
    (False, True)
    """
    palette = colours.tokens(dark=dark)
    return palette[number % len(palette)], STROKES[number // len(palette) % len(STROKES)]


def _format_tick(value: float, _: object) -> str:
    """Format a tick as 10,000 rather than a power, which would need matplotlib's mathtext."""
    return f"{value:,.10g}"


def _draw_legend(page: Page, axes: Axes, wide: float) -> None:
    _, names = axes.get_legend_handles_labels()
    if len(names) < 2:
        return
    if max(map(width, names)) <= 18 and wide > 5:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
        return
    below = ScaledTranslation(0, -0.45, page.dpi_scale_trans)  # inches: under the axis' name
    axes.legend(
        loc="upper left",
        bbox_to_anchor=(0.0, 0.0),
        bbox_transform=axes.transAxes + below,
        borderaxespad=0,
        ncols=-(-len(names) // legend_rows(names, wide)),
    )


def legend_rows(names: list[str], wide: float) -> int:
    """Return the rows of a legend of these names, `wide` inches wide."""
    columns = max(1, min(4, int(wide / (0.6 + 0.075 * max(map(width, names))))))
    return -(-len(names) // columns)


def draw_dials(page: Page, axes: Axes, panel: Dials) -> None:
    """Draw circles in rows, with a hand of its own colour for each position."""
    letters, guide = page.letters, page.guide
    longest = max(1.0, float(panel.hands[..., 1].max()))
    for dial, name in enumerate(panel.names):
        x, y = 2.9 * (dial % DIALS_IN_A_ROW), -2.9 * (dial // DIALS_IN_A_ROW)
        axes.add_patch(Circle((x, y), 1 / longest, fill=False, edgecolor=guide, linewidth=1))
        axes.plot([x, x + 1], [y, y], color=guide, linewidth=0.8)
        for hand, (angle, length) in enumerate(panel.hands[dial]):
            reach = length / longest
            ends = [x + reach * math.cos(angle)], [y + reach * math.sin(angle)]
            colour, stroke = token_style(hand, dark=page.dark)
            axes.plot([x, *ends[0]], [y, *ends[1]], stroke, color=colour, linewidth=1.6)
            label = letters.text(panel.labels[hand]) if dial == 0 else None
            # hands that repeat a colour end in a square
            dot = "o" if stroke == STROKES[0] else "s"
            axes.plot(*ends, dot, color=colour, markersize=4.5, label=label)
        axes.text(x, y - 1.18, letters.text(name), ha="center", va="top", fontsize="small")
    axes.set_aspect("equal")
    axes.margins(0.02)
    axes.axis("off")
    axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
