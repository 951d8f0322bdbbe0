"""A view as one long table, a line for each number.

panel         number of the panel, from 0
title         its title
row           number of the image's row, of the line or of the dial, from 0
row_label     the row's label, the line's name, the dial's name
column        number of the image's column or of the hand, from 0; x of a line
column_label  the column's label, the hand's label
value         the value, y, or the hand's angle in radians; nothing where there is none
length        the hand's length; nothing for images and lines
"""

import csv
import io
import math
from collections.abc import Iterator
from typing import Any

from posenc.views.panels import Axis, Dials, Image, Lines, Panel, View

HEADER = ("panel", "title", "row", "row_label", "column", "column_label", "value", "length")


def csv_of(view: View) -> str:
    """The table of a view.

    >>> from posenc.views import view
    >>> print(csv_of(view("sinusoidal", "heatmap", dim=2, length=1)))
    panel,title,row,row_label,column,column_label,value,length
    0,Sinusoidal(2),0,,0,,0.0,
    0,Sinusoidal(2),0,,1,,1.0,
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(HEADER)
    for number, panel in enumerate(view.panels):
        for row in _rows(panel):
            writer.writerow((number, panel.title, *row))
    return text.getvalue()


def _rows(panel: Panel) -> Iterator[tuple[Any, ...]]:
    match panel:
        case Image():
            for r, c in _cells(panel.values.shape):
                value = _number(panel.values[r, c])
                row = _label(panel.rows, r * panel.ratio[0])
                yield r, row, c, _label(panel.columns, c * panel.ratio[1]), value, ""
        case Lines():
            for number, line in enumerate(panel.lines):
                for x, y in zip(panel.x, line.y, strict=True):
                    at = int(x) if float(x).is_integer() else -1
                    yield number, line.name, _number(x), _label(panel.x_axis, at), _number(y), ""
        case Dials():
            for r, c in _cells(panel.hands.shape):
                angle, length = (_number(number) for number in panel.hands[r, c])
                yield r, panel.names[r], c, panel.labels[c], angle, length


def _cells(shape: tuple[int, ...]) -> Iterator[tuple[int, int]]:
    return ((row, column) for row in range(shape[0]) for column in range(shape[1]))


def _label(axis: Axis, at: int) -> str:
    known = axis.labels is not None and 0 <= at < len(axis.labels)
    return axis.labels[at] if axis.labels is not None and known else ""


def _number(value: Any) -> float | str:
    return float(value) if math.isfinite(value) else ""
