"""The page that panels are drawn on: a figure that keeps its style wherever it is drawn."""

import io
from typing import Any

from matplotlib import rc_context
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from posenc.i18n import Translate
from posenc.plot.fonts import Lettering
from posenc.views import View

PAPER = {"light": ("#FFFFFF", "#1F2328", "#D5D9DE"), "dark": ("#15181C", "#E6E8EB", "#3A4048")}
"""Colours of the page, of text, and of guides such as grid lines."""


class Page(Figure):
    """A matplotlib figure that notebooks display.

    view     its data
    letters  the fonts of its texts
    t        translates what is said about averages
    dark     whether the page is dark
    scale    size of its letters
    options  those of a matplotlib figure

    `notes` say which characters are missing.
    """

    notes: tuple[str, ...] = ()

    def __init__(
        self,
        view: View,
        letters: Lettering,
        t: Translate,
        *,
        dark: bool,
        scale: float,
        **options: Any,
    ):
        self.view, self.letters, self.t, self.dark = view, letters, t, dark
        self.paper, self.ink, self.guide = PAPER["dark" if dark else "light"]
        self.settings = self._style(scale)
        with rc_context(self.settings):
            super().__init__(**options)
        FigureCanvasAgg(self)

    def draw(self, renderer: RendererBase) -> None:
        """Draw in the style of the page, as matplotlib creates ticks while it draws."""
        with rc_context(self.settings):
            super().draw(renderer)

    def lay_out(self) -> None:
        """Lay the page out without drawing it."""
        engine = self.get_layout_engine()
        assert engine is not None
        with rc_context(self.settings):
            engine.execute(self)
            for axes in self.axes:
                axes.apply_aspect()

    def _repr_png_(self) -> bytes:
        png = io.BytesIO()
        self.savefig(png, format="png")
        return png.getvalue()

    def _style(self, scale: float) -> Any:
        """Return matplotlib's settings for a light or dark page; `scale` is that of its letters."""
        return {
            "font.family": self.letters.fonts,
            "font.size": 9 * scale,
            "axes.titlesize": 9.5 * scale,
            "axes.labelsize": 9 * scale,
            "xtick.labelsize": 9 * scale,
            "ytick.labelsize": 9 * scale,
            "figure.titlesize": 11 * scale,
            "legend.fontsize": 8 * scale,
            "legend.frameon": False,
            "figure.constrained_layout.h_pad": 0.1,  # inches: rows of panels touch otherwise
            "text.parse_math": False,
            "axes.unicode_minus": True,
            "figure.facecolor": self.paper,
            "savefig.facecolor": "auto",
            "axes.facecolor": self.paper,
            "axes.edgecolor": self.guide,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "text.color": self.ink,
            "axes.labelcolor": self.ink,
            "axes.titlecolor": self.ink,
            "xtick.color": self.ink,
            "ytick.color": self.ink,
            "grid.color": self.guide,
            "grid.linewidth": 0.6,
            "svg.hashsalt": "posenc",
        }
