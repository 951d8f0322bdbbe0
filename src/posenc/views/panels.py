"""The panels of a view: images, lines and dials, as frozen data without any drawing.

`posenc.plot` and the explorer draw the same panels; the explorer's page receives `to_json`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, cast

import numpy as np

from posenc.core import rules
from posenc.views.averaging import box_extremes, box_means, box_shape, direction_means

Colours = Literal["diverging", "cyclic", "sequential"]


class Plain:
    """Data that can be written as JSON."""

    def to_json(self) -> dict[str, object]:
        """Return every field as plain data; null where a number is not finite.

        >>> Dials("turns", np.array([[[np.inf, 1.0]]]), ("pair 0",), ("0",)).to_json()
        {'panel': 'dials', 'title': 'turns', 'hands': [[[None, 1.0]]], 'names': ['pair 0'],
         'labels': ['0'], 'of': None}
        """
        kind = {"panel": type(self).__name__.lower()} if isinstance(self, Panel) else {}
        return kind | {name: _to_plain(value) for name, value in vars(self).items()}


def _to_plain(value: object) -> object:
    if isinstance(value, Plain):
        return value.to_json()
    if isinstance(value, tuple):
        return [_to_plain(item) for item in cast("tuple[object, ...]", value)]
    return _to_lists(value) if isinstance(value, np.ndarray) else value


def _to_lists(values: np.ndarray) -> list[object]:
    """Convert to nested lists of floats, with None where a value is not finite."""
    values = values.astype(np.float64)
    if np.isfinite(values).all():
        return values.tolist()
    numbers = values.astype(object)
    numbers[~np.isfinite(values)] = None
    return numbers.tolist()


@dataclass(frozen=True)
class Axis(Plain):
    """An axis: its name, a label for each step (None: 0, 1, …), and whether its scale is log."""

    name: str
    labels: tuple[str, ...] | None = None
    log: bool = False


@dataclass(frozen=True)
class Image(Plain):
    """A matrix of values drawn as colours.

    values   (rows, columns); NaN is not drawn
    limit    end of the colour scale, which runs from -limit to limit, or from 0 if sequential;
             pi for cyclic values, which are angles
    unit     what the values are, beside the colour scale
    square   whether cells are squares
    ratio    rows and columns of the axes that one cell is the mean of
    channel  the dimension, pair or head that is shown, from 0; None if not a single one
    of       index of the encoding that is shown, from 0; None if not a single one
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

    def average(self, rows: int, columns: int) -> "Image":
        """Downsample to at most `rows` x `columns` cells, each the mean of a box of cells.

        Angles are averaged as directions; NaN where they have none in common. The axes stay as they
        are: cell (r, c) begins at their row r * ratio[0] and column c * ratio[1].

        >>> axis = Axis("position")
        >>> image = Image("", np.array([[0.0, 1.0, 2.0, 3.0, 8.0]]), axis, axis, 8.0)
        >>> small = image.average(1, 3)
        >>> small.values.tolist(), small.ratio
        ([[0.5, 2.5, 8.0]], (1, 2))
        """
        box = self.box(rows, columns)
        if box == (1, 1):
            return self
        mean = direction_means if self.colours == "cyclic" else box_means
        together = self.ratio[0] * box[0], self.ratio[1] * box[1]
        return replace(self, values=mean(self.values, box), ratio=together)

    def box(self, rows: int, columns: int) -> tuple[int, int]:
        """Return the rows and columns of cells that `average` would merge into one.

        Square cells stay square.

        >>> Image("", np.zeros((64, 64)), Axis(""), Axis(""), 1.0, square=True).box(64, 16)
        (4, 4)
        """
        most = rules.whole("rows", rows, least=1), rules.whole("columns", columns, least=1)
        down, across = box_shape(self.values.shape, most)
        side = max(down, across)
        return (side, side) if self.square else (down, across)


@dataclass(frozen=True)
class Line(Plain):
    """A line of a panel.

    y       (x,), a value for each x of the panel
    colour  a number from 0 that stands for a colour in all panels of a view; None: assigned in turn
    low     (x,), the minimum of the values that each y is the mean of; None if y is not a mean
    high    (x,), the maximum of them
    """

    name: str
    y: np.ndarray
    colour: int | None = None
    low: np.ndarray | None = None
    high: np.ndarray | None = None


@dataclass(frozen=True)
class Mark(Plain):
    """A named rule: vertical at x, or horizontal at y."""

    name: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True)
class Lines(Plain):
    """Lines over a common x; a line has a gap where y is not finite.

    steps  whether y is constant around each x, without a slope between them
    ratio  whole steps of x, such as positions, that one y is the mean of
    of     index of the encoding that is shown, from 0; None if not a single one
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

    def average(self, columns: int) -> "Lines":
        """Downsample to at most `columns` steps of x, each y the mean of a box of values.

        More points than pixels would be drawn as a solid block. `low` and `high` bound what the
        means leave out. Points between the whole steps of a smooth line do not count.

        >>> axis = Axis("")
        >>> x = np.arange(5.0)
        >>> small = Lines("", x, (Line("", np.array([0.0, 1, 2, 4, 8])),), axis, axis).average(3)
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
            return box_means(values[None], (1, box))[0]

        lines = tuple(
            replace(line, y=mean(line.y), low=low, high=high)
            for line in self.lines
            for low, high in [box_extremes(line.y, box)]
        )
        x = mean(self.x.astype(np.float64))
        return replace(self, x=x, lines=lines, ratio=self.ratio * ratio)


@dataclass(frozen=True)
class Dials(Plain):
    """Hands on circles.

    hands   (dial, hand, 2): the angle of a hand, counterclockwise, and its length
    names   of the dials, one for each pair of channels
    labels  of the hands
    of      index of the encoding that is shown, from 0
    """

    title: str
    hands: np.ndarray
    names: tuple[str, ...]
    labels: tuple[str, ...]
    of: int | None = None


Panel = Image | Lines | Dials


@dataclass(frozen=True)
class View(Plain):
    """A picture of encodings as data: panels, laid out in `columns`, with notes below them."""

    kind: str
    title: str
    panels: tuple[Panel, ...]
    notes: tuple[str, ...] = ()
    columns: int = field(default=1, kw_only=True)

    def to_csv(self) -> str:
        """Return the view as one long table; `posenc.views.tables` describes its columns.

        >>> from posenc.views import view
        >>> print(view("sinusoidal", "heatmap", dim=2, length=1).to_csv())
        panel,title,row,row_label,column,column_label,value,length
        0,Sinusoidal(2),0,,0,,0.0,
        0,Sinusoidal(2),0,,1,,1.0,
        """
        from posenc.views.tables import csv_pieces

        return "".join(csv_pieces(self))


def assign_colours(panels: Sequence[Panel]) -> tuple[Panel, ...]:
    """Give lines of the same name the same colour in all panels, unless they have one already.

    >>> x, y = np.zeros(1), Axis("")
    >>> first = Lines("", x, (Line("a", x), Line("b", x)), y, y)
    >>> second = Lines("", x, (Line("b", x), Line("c", x)), y, y)
    >>> [[line.colour for line in panel.lines] for panel in assign_colours([first, second])]
    [[0, 1], [1, 2]]
    """
    colours: dict[tuple[str, int], int] = {}
    return tuple(_colour_lines(p, colours) if isinstance(p, Lines) else p for p in panels)


def _colour_lines(panel: Lines, colours: dict[tuple[str, int], int]) -> Lines:
    names = [line.name for line in panel.lines]
    lines = list(panel.lines)
    for i, line in enumerate(lines):
        if line.colour is None:  # lines of one name in one panel have different colours
            key = line.name, names[:i].count(line.name)
            lines[i] = replace(line, colour=colours.setdefault(key, len(colours)))
    return replace(panel, lines=tuple(lines))


def common_limit(arrays: Sequence[np.ndarray]) -> float:
    """Return the end of a colour scale for all arrays: their largest absolute value, or 1."""
    return max(map(max_abs, arrays), default=0.0) or 1.0


APART = 8.0
"""Images have a colour scale each if the ratio of their largest values is more than this."""


def colour_limits(sizes: Sequence[float]) -> list[float]:
    """Return the ends of the colour scales of images, given the largest value of each.

    A common scale, so that images can be compared; one each where some would look blank on it.

    >>> colour_limits([1.0, 0.5]), colour_limits([1.0, 0.02]), colour_limits([0.0, 0.0])
    ([1.0, 1.0], [1.0, 0.02], [1.0, 1.0])
    """
    seen = [size for size in sizes if size > 0] or [1.0]
    if max(seen) <= APART * min(seen):
        return [max(seen)] * len(sizes)
    return [size or max(seen) for size in sizes]


def max_abs(array: np.ndarray) -> float:
    """Return the largest absolute value of those that are finite, or 0."""
    ends = array.max(initial=0.0), array.min(initial=0.0)
    if not np.isfinite(ends).all():  # the slower way
        finite = array[np.isfinite(array)]
        ends = finite.max(initial=0.0), finite.min(initial=0.0)
    return float(max(ends[0], -ends[1]))
