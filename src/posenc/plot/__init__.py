"""Draws views with matplotlib; needs the extra `plot`."""

from posenc.plot.drawing import draw
from posenc.plot.figure import show
from posenc.plot.page import Page

__all__ = ["Page", "draw", "show"]
