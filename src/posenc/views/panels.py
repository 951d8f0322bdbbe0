"""What a view is made of: images, lines and dials, as frozen data that is drawn elsewhere.

Figures and the explorer draw the same panels: `to_json` is what the page gets.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from posenc.core import rules
from posenc.views.averaging import boxes, direction_means, ends, means

Colours = Literal["diverging", "cyclic", "sequential"]


@dataclass(frozen=True)
class Axis:
    """What runs along a side: its name, a label for each step (else 0, 1, …), or a log scale."""

    name: str
    labels: tuple[str, ...] | None = None
    log: bool = False

    def to_json(self) -> dict[str, Any]:
        """The axis as plain data."""
        labels = None if self.labels is None else list(self.labels)
        return {"name": self.name, "labels": labels, "log": self.log}


@dataclass(frozen=True)
class Image:
    """Values (rows, columns) as colours, from -limit to limit; sequential ones from 0.

    Cyclic values are angles, and limit is half a turn. NaN is drawn as nothing. `ratio` says how
    many rows and columns of the axes one cell is the mean of; `square` that cells are squares;
    `channel` which dimension, pair or head it is of, from 0, where it is of one. `of` is the number
    of the encoding that it is of, from 0, where it is of one.
    """

    title: str
    values: np.ndarray
    rows: Axis
    columns: Axis
    limit: float
    colours: Colours = "diverging"
    unit: str = ""
    square: bool = False
    ratio: tuple[int, int] = (1, 1)
    channel: int | None = None
    of: int | None = None

    def averaged(self, rows: int, columns: int) -> "Image":
        """This image with at most so many cells, each the mean of a box of them: never every n-th.

        Angles are averaged as directions, NaN where they have none in common. Axes stay as they
        are: cell (r, c) begins at row r * ratio[0] and column c * ratio[1] of them.

        >>> axis = Axis("position")
        >>> image = Image("", np.array([[0.0, 1.0, 2.0, 3.0, 8.0]]), axis, axis, 8.0)
        >>> small = image.averaged(1, 3)
        >>> small.values.tolist(), small.ratio
        ([[0.5, 2.5, 8.0]], (1, 2))
        """
        box = self.box(rows, columns)
        if box == (1, 1):
            return self
        mean = direction_means if self.colours == "cyclic" else means
        together = self.ratio[0] * box[0], self.ratio[1] * box[1]
        return replace(self, values=mean(self.values, box), ratio=together)

    def box(self, rows: int, columns: int) -> tuple[int, int]:
        """How many rows and columns of this image go into a cell of one with at most so many.

        Squares stay squares.

        >>> Image("", np.zeros((64, 64)), Axis(""), Axis(""), 1.0, square=True).box(64, 16)
        (4, 4)
        """
        most = rules.whole("rows", rows, least=1), rules.whole("columns", columns, least=1)
        down, across = boxes(self.values.shape, most)
        side = max(down, across)
        return (side, side) if self.square else (down, across)

    def to_json(self) -> dict[str, Any]:
        """The image as plain data; what is not finite is null."""
        return {
            "panel": "image",
            "title": self.title,
            "values": finite(self.values),
            "rows": self.rows.to_json(),
            "columns": self.columns.to_json(),
            "limit": self.limit,
            "colours": self.colours,
            "unit": self.unit,
            "square": self.square,
            "ratio": list(self.ratio),
            "channel": self.channel,
            "of": self.of,
        }


@dataclass(frozen=True)
class Line:
    """A line: its name and a y for each x of its panel.

    `colour` is a number, the same for what is the same in all panels of a view, from 0; where there
    is none, lines have colours in turn. `low` and `high` are the least and the largest of what each
    y is the mean of; None where y is every value itself.
    """

    name: str
    y: np.ndarray
    colour: int | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    def to_json(self) -> dict[str, Any]:
        """The line as plain data; what is not finite is null."""
        low, high = (None if end is None else finite(end) for end in (self.low, self.high))
        told = {"name": self.name, "y": finite(self.y), "colour": self.colour}
        return told | {"low": low, "high": high}


@dataclass(frozen=True)
class Mark:
    """A place that has a name: a vertical rule at x, or a horizontal one at y."""

    name: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Lines:
    """Lines over one x; where y is not finite a line has a gap.

    `steps` says that there is nothing between one x and the next: y is drawn level around each.
    `ratio` says how many whole steps of x, such as positions, one y is the mean of; `of` of which
    encoding they are, from 0, where all are of one.
    """

    title: str
    x: np.ndarray
    lines: tuple[Line, ...]
    x_axis: Axis
    y_axis: Axis
    marks: tuple[Mark, ...] = ()
    steps: bool = False
    ratio: int = 1
    of: int | None = None

    def averaged(self, columns: int) -> "Lines":
        """These lines with at most so many steps of x, each y a mean over a box: never every n-th.

        A line of more points than there are pixels would be a solid block. What the means leave out
        is between `low` and `high` of each line. Points between the steps of a smooth line do not
        count, and are left alone where the steps fit.

        >>> axis = Axis("")
        >>> x = np.arange(5.0)
        >>> small = Lines("", x, (Line("", np.array([0.0, 1, 2, 4, 8])),), axis, axis).averaged(3)
        >>> small.x.tolist(), small.lines[0].y.tolist(), small.lines[0].high.tolist(), small.ratio
        ([0.5, 2.5, 4.0], [0.5, 3.0, 8.0], [1.0, 4.0, 8.0], 2)
        """
        rules.whole("columns", columns, least=1)
        span = float(self.x[-1] - self.x[0]) if len(self.x) else 0.0
        between = max(1, round((len(self.x) - 1) / span)) if span > 0 else 1
        steps = -(-len(self.x) // between)
        ratio = -(-steps // columns)
        if ratio <= 1:
            return self
        box = ratio * between

        def mean(values: np.ndarray) -> np.ndarray:
            return means(values[None], (1, box))[0]

        lines = tuple(
            replace(line, y=mean(line.y), low=low, high=high)
            for line in self.lines
            for low, high in [ends(line.y, box)]
        )
        x = mean(self.x.astype(np.float64))
        return replace(self, x=x, lines=lines, ratio=self.ratio * ratio)

    def to_json(self) -> dict[str, Any]:
        """The lines as plain data; what is not finite is null."""
        return {
            "panel": "lines",
            "title": self.title,
            "x": finite(self.x),
            "lines": [line.to_json() for line in self.lines],
            "x_axis": self.x_axis.to_json(),
            "y_axis": self.y_axis.to_json(),
            "marks": [{"name": mark.name, "x": mark.x, "y": mark.y} for mark in self.marks],
            "steps": self.steps,
            "ratio": self.ratio,
            "of": self.of,
        }


@dataclass(frozen=True)
class Dials:
    """Hands on circles: hands (dial, hand, 2) are an angle, counted to the left, and a length.

    `names` are those of the dials, a pair of channels each, `labels` those of the hands; `of` is
    the number of the encoding, from 0.
    """

    title: str
    hands: np.ndarray
    names: tuple[str, ...]
    labels: tuple[str, ...]
    of: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The dials as plain data."""
        return {
            "panel": "dials",
            "title": self.title,
            "hands": finite(self.hands),
            "names": list(self.names),
            "labels": list(self.labels),
            "of": self.of,
        }


Panel = Image | Lines | Dials


@dataclass(frozen=True)
class View:
    """What is seen of an encoding: panels, to be laid out in `columns`, and notes to be read."""

    kind: str
    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    columns: int = field(default=1, kw_only=True)

    def to_json(self) -> dict[str, Any]:
        """The view as plain data: every number as it is, null where it is not finite."""
        return {
            "kind": self.kind,
            "title": self.title,
            "panels": [panel.to_json() for panel in self.panels],
            "notes": list(self.notes),
            "columns": self.columns,
        }

    def to_csv(self) -> str:
        """The view as one long table; `posenc.views.tables` says what its columns are."""
        from posenc.views.tables import csv_of

        return csv_of(self)


def coloured(panels: Sequence[Panel]) -> tuple[Panel, ...]:
    """The panels, lines of one name in one colour throughout, unless they have theirs already.

    >>> x, y = np.zeros(1), Axis("")
    >>> first = Lines("", x, (Line("a", x), Line("b", x)), y, y)
    >>> second = Lines("", x, (Line("b", x), Line("c", x)), y, y)
    >>> [[line.colour for line in panel.lines] for panel in coloured([first, second])]
    [[0, 1], [1, 2]]
    """
    colours: dict[tuple[str, int], int] = {}
    return tuple(_coloured(p, colours) if isinstance(p, Lines) else p for p in panels)


def _coloured(panel: Lines, colours: dict[tuple[str, int], int]) -> Lines:
    names = [line.name for line in panel.lines]
    lines = list(panel.lines)
    for i, line in enumerate(lines):
        if line.colour is None:  # the second of a name is another line than the first
            key = line.name, names[:i].count(line.name)
            lines[i] = replace(line, colour=colours.setdefault(key, len(colours)))
    return replace(panel, lines=tuple(lines))


def finite(values: np.ndarray) -> list[Any]:
    """Nested lists of floats, with None where JSON has no number."""
    values = np.asarray(values, dtype=np.float64)
    if np.isfinite(values).all():
        return values.tolist()
    numbers = values.astype(object)
    numbers[~np.isfinite(values)] = None
    return numbers.tolist()


def common_limit(arrays: Sequence[np.ndarray]) -> float:
    """The end of one colour scale for all of these: their largest absolute value, or 1."""
    return max(map(largest, arrays), default=0.0) or 1.0


APART = 8.0
"""Images whose largest values differ by more than so many times have a colour scale each."""


def scale_ends(sizes: Sequence[float]) -> list[float]:
    """The ends of the colour scales of images whose largest values are these.

    One scale for all, so that they can be compared; where one would be blank on it, each its own.

    >>> scale_ends([1.0, 0.5]), scale_ends([1.0, 0.02]), scale_ends([0.0, 0.0])
    ([1.0, 1.0], [1.0, 0.02], [1.0, 1.0])
    """
    seen = [size for size in sizes if size > 0] or [1.0]
    if max(seen) <= APART * min(seen):
        return [max(seen)] * len(sizes)
    return [size or max(seen) for size in sizes]


def largest(array: np.ndarray) -> float:
    """The largest absolute value, of those that are finite."""
    ends = array.max(initial=0.0), array.min(initial=0.0)
    if not np.isfinite(ends).all():  # slower: all must be looked at one by one
        finite = array[np.isfinite(array)]
        ends = finite.max(initial=0.0), finite.min(initial=0.0)
    return float(max(ends[0], -ends[1]))
