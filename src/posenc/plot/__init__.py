"""Views drawn with matplotlib. Needs the extra `plot`."""

from posenc.plot.drawing import draw
from posenc.plot.page import Page
from posenc.plot.showing import show

__all__ = ["Page", "draw", "show"]
