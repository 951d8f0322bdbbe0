"""Views drawn with matplotlib. Needs the extra `plot`."""

from posenc.figures.drawing import draw, show
from posenc.figures.page import Page

__all__ = ["Page", "draw", "show"]
