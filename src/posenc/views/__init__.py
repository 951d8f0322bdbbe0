"""What is drawn, as frozen data: views of encodings, each a function of the mechanism."""

from posenc.views.build import view
from posenc.views.kind import Kind
from posenc.views.kinds import KINDS, default_kind, kinds_for
from posenc.views.panels import Axis, Dials, Image, Line, Lines, Mark, Panel, View

__all__ = [
    "KINDS",
    "Axis",
    "Dials",
    "Image",
    "Kind",
    "Line",
    "Lines",
    "Mark",
    "Panel",
    "View",
    "default_kind",
    "kinds_for",
    "view",
]
