"""Views drawn with matplotlib. Needs the extra `plot`."""

from posenc.figures.drawing import draw
from posenc.figures.page import Page
from posenc.figures.showing import show

__all__ = ["Page", "draw", "show"]
