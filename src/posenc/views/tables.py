"""A view as one long table, with a row for each number.

panel         index of the panel, from 0
title         title of the panel
row           index of an image's row, of a line or of a dial, from 0
row_label     label of the row, name of the line or of the dial
column        index of an image's column or of a hand, from 0; x of a line
column_label  label of the column or of the hand
value         value of the cell, y of the line, or angle of the hand in radians; empty if not finite
length        length of the hand; empty for images and lines
"""

import csv
import io
import math
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any

from posenc.views.panels import Axis, Dials, Image, Lines, Panel, View

HEADER = ("panel", "title", "row", "row_label", "column", "column_label", "value", "length")


LINES = 4_096
"""Lines of a piece of a table: a few hundred kilobytes."""


def csv_pieces(view: View, *, text: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the table of a view in pieces: whole, it takes fifty times the memory of its values.

    text  converts titles and labels before they are written
    """
    rows = chain([HEADER], _table(view, text))
    while part := list(islice(rows, LINES)):
        piece = io.StringIO()
        csv.writer(piece, lineterminator="\n").writerows(part)
        yield piece.getvalue()


def _table(view: View, text: Callable[[str], str]) -> Iterator[tuple[object, ...]]:
    for number, panel in enumerate(view.panels):
        title = text(panel.title)
        for row in _rows(panel, text):
            yield (number, title, *row)


def _rows(panel: Panel, text: Callable[[str], str]) -> Iterator[tuple[object, ...]]:
    match panel:
        case Image():
            columns = [
                text(_label(panel.columns, c * panel.ratio[1]))
                for c in range(panel.values.shape[1])
            ]
            for r, values in enumerate(panel.values):
                row = text(_label(panel.rows, r * panel.ratio[0]))
                for c, value in enumerate(values.tolist()):
                    yield r, row, c, columns[c], _number(value), ""
        case Lines():
            for number, line in enumerate(panel.lines):
                name = text(line.name)
                for x, y in zip(panel.x, line.y, strict=True):
                    label = _label(panel.x_axis, int(x) if float(x).is_integer() else -1)
                    yield number, name, _number(x), text(label), _number(y), ""
        case Dials():
            labels = [text(label) for label in panel.labels]
            for r, hands in enumerate(panel.hands):
                name = text(panel.names[r])
                for c, (angle, length) in enumerate(hands.tolist()):
                    yield r, name, c, labels[c], _number(angle), _number(length)


def _label(axis: Axis, at: int) -> str:
    known = axis.labels is not None and 0 <= at < len(axis.labels)
    return axis.labels[at] if axis.labels is not None and known else ""


def _number(value: Any) -> float | str:
    return float(value) if math.isfinite(value) else ""
