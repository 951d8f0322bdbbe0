"""The page that panels are drawn on: a figure that keeps its style wherever it is drawn."""

import io
from typing import Any

from matplotlib import rc_context
from matplotlib.backend_bases import RendererBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from posenc.views import View

PAPER = {"light": ("#FFFFFF", "#1F2328", "#D5D9DE"), "dark": ("#15181C", "#E6E8EB", "#3A4048")}
"""Colours of the page, of text, and of guides such as grid lines."""


class Page(Figure):
    """A matplotlib figure that notebooks display; `view` is its data, `notes` what is missing."""

    view: View
    notes: tuple[str, ...] = ()

    def __init__(self, style: Any, **options: Any):
        self._style = style
        with rc_context(style):
            super().__init__(**options)
        FigureCanvasAgg(self)

    def draw(self, renderer: RendererBase) -> None:
        """Draw in the style of the page, as matplotlib creates ticks while it draws."""
        with rc_context(self._style):
            super().draw(renderer)

    def lay_out(self) -> None:
        """Lay the page out without drawing it."""
        engine = self.get_layout_engine()
        assert engine is not None
        with rc_context(self._style):
            engine.execute(self)
            for axes in self.axes:
                axes.apply_aspect()

    def _repr_png_(self) -> bytes:
        png = io.BytesIO()
        self.savefig(png, format="png")
        return png.getvalue()


def page_style(fonts: list[str], *, dark: bool, scale: float = 1.0) -> Any:
    """Return matplotlib's settings for a light or dark page; `scale` is that of its letters."""
    paper, ink, guide = PAPER["dark" if dark else "light"]
    return {
        "font.family": fonts,
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
        "figure.facecolor": paper,
        "savefig.facecolor": "auto",
        "axes.facecolor": paper,
        "axes.edgecolor": guide,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "text.color": ink,
        "axes.labelcolor": ink,
        "axes.titlecolor": ink,
        "xtick.color": ink,
        "ytick.color": ink,
        "grid.color": guide,
        "grid.linewidth": 0.6,
        "svg.hashsalt": "posenc",
    }
