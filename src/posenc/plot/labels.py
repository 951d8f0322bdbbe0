"""Labels and titles fitted to the room that they have: rotated, thinned out or wrapped."""

import math
from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.font_manager import FontProperties

from posenc.i18n.terminal import wrap
from posenc.plot.fonts import Lettering
from posenc.plot.page import Page
from posenc.views import Axis

LEADING = 1.3
"""Line height, relative to the font size."""


class Ruler:
    """Measures text on a page, in pixels."""

    def __init__(self, page: Page):
        canvas: Any = page.canvas
        self._renderer = canvas.get_renderer()
        size, titles = (page.settings[key] for key in ("xtick.labelsize", "axes.titlesize"))
        self._fonts = {
            name: FontProperties(family=page.letters.fonts, size=points)
            for name, points in (("label", size), ("title", titles))
        }
        self._known: dict[tuple[str, str], float] = {}
        self.line = LEADING * size * page.dpi / 72

    def width(self, text: str, what: str = "label") -> float:
        """Return the width of a label or a title."""
        if (text, what) not in self._known:
            found = self._renderer.get_text_width_height_descent(text, self._fonts[what], False)
            self._known[text, what] = float(found[0])
        return self._known[text, what]


def arrange(
    widths: Sequence[float], line: float, pitch: float, *, may_turn: bool = True
) -> tuple[int, bool]:
    """Return the step between labels that are shown, and whether they are rotated.

    widths    of all labels
    line      height of a line of text
    pitch     distance from one label to the next
    may_turn  whether labels can be rotated, if more of them fit that way

    >>> arrange([20, 30, 20], 12, 40), arrange([20, 60, 20], 12, 40)
    ((1, False), (1, True))
    >>> arrange([60, 60, 60], 12, 40, may_turn=False), arrange([60] * 50, 12, 5)
    ((2, False), (3, True))
    """
    gap = line / 3
    level = next(
        (
            step
            for step in range(1, len(widths))
            if all(
                (a + b) / 2 + gap <= step * pitch
                for a, b in zip(widths[::step], widths[step::step], strict=False)
            )
        ),
        max(1, len(widths)),
    )
    on_end = max(1, math.ceil(line / pitch))
    return (on_end, True) if may_turn and on_end < level else (level, False)


def name_averaged(axis: Axis, ratio: int, note: str) -> str:
    """Return the name of an axis, with a note if `ratio` of its steps are drawn as one."""
    return axis.name if ratio == 1 else f"{axis.name} ({note})"


class Labels:
    """The labels of the steps of an axis; beside an image, tokens have their positions too."""

    def __init__(self, axes: Axes, labels: tuple[str, ...], letters: Lettering, *, beside: bool):
        self._axes, self._beside = axes, beside
        self._axis: Any = axes.yaxis if beside else axes.xaxis
        self._numbers = all(label.lstrip("-").isdigit() for label in labels)
        shown = map(letters.label, labels)
        if not beside:
            self._texts = [text or str(i) for i, text in enumerate(shown)]
        elif self._numbers:
            self._texts = list(shown)
        else:
            self._texts = [f"{text}  {i}".strip() for i, text in enumerate(shown)]
        self._step, self._turned = 0, False
        self._axis.set_tick_params(length=0)

    def arrange(self, ruler: Ruler, room: float | None = None, *, final: bool = False) -> bool:
        """Show the labels that fit into `room` pixels; return whether any of them changed.

        room   None: the size of the axes
        final  whether labels may only be left out, not take more room
        """
        pitch = self._pitch() if room is None else room / len(self._texts)
        if self._beside:
            step, turned = max(1, math.ceil(ruler.line / pitch)), False
        else:
            widths = [ruler.width(text) for text in self._texts]
            step, turned = arrange(widths, ruler.line, pitch, may_turn=not self._numbers)
        if final and (turned != self._turned or step < self._step):
            return False
        changed = (step, turned) != (self._step, self._turned)
        if changed:
            self._step, self._turned = step, turned
            named = range(0, len(self._texts), step)
            self._axis.set_ticks(list(named), [self._texts[i] for i in named])
            self._axis.set_tick_params(rotation=90 if turned else 0)
        return changed

    def _pitch(self) -> float:
        (x0, y0), (x1, y1) = self._axes.transData.transform([(0, 0), (1, 1)])
        return max(abs(y1 - y0) if self._beside else abs(x1 - x0), 1e-3)


class Title:
    """The title of a panel, wrapped to its width."""

    def __init__(self, axes: Axes, text: str, letters: Lettering, *, pad: float | None = None):
        self._axes, self._text, self._pad = axes, letters.text(text), pad

    def arrange(self, ruler: Ruler, room: float | None = None, *, final: bool = False) -> bool:
        """Wrap the title to `room` pixels, None: the axes; return whether it changed."""
        if final:
            return False
        room = self._axes.get_window_extent().width if room is None else room
        lines = wrap(self._text, max(room, 6 * ruler.line), lambda s: ruler.width(s, "title"))
        text = "\n".join(lines)
        changed = text != self._axes.get_title(loc="left")
        if changed:
            self._axes.set_title(text, loc="left", pad=self._pad)
        return changed
