"""Results as a view: the score of each encoding against the length, with 95% bands over seeds."""

from collections.abc import Iterator, Sequence

import numpy as np

from posenc.i18n import Translate, translator
from posenc.lab.results import Cell, Estimate, Results, Row, Table
from posenc.lab.terminal import describe_table, explain_marks, name_metric
from posenc.views.panels import Axis, Line, Lines, Mark, View, assign_colours


def build_view(results: Results, *, lang: str = "en") -> View:
    """A panel for each table in which something was trained, and the names of what was not."""
    t = translator(lang)
    panels = [build_panel(table, t) for table in results.tables]
    drawn = assign_colours([panel for panel in panels if panel.lines])
    if not drawn:
        raise ValueError("there is no run to draw that is finished and has learned its task")
    notes = (*explain_marks(t), *_list_untrained(results, t))
    return View("lab", t("train short, test long"), drawn, notes)


def _list_untrained(results: Results, t: Translate) -> Iterator[str]:
    for table in results.tables:
        if names := ", ".join(row.label for row in table.rows if not row.trained):
            yield f"{table.task} ({table.protocol}), {t('not trained')}: {names}"


def build_panel(table: Table, t: Translate) -> Lines:
    """A line for each encoding that was trained, over the middle of each range of lengths."""
    ranges = (table.train_lengths, *table.lengths)
    x = np.array([(low + high) / 2 for low, high in ranges])
    order = np.argsort(x, kind="stable")
    lines = tuple(_draw_row(row, order, falls=table.falls) for row in table.rows if row.trained)
    return Lines(
        describe_table(table, t),
        x[order],
        lines,
        Axis(t("length"), log=bool(x.max() > 8 * x.min())),
        Axis(name_metric(table, t)),
        marks=(Mark(t("trained length"), x=float(table.train_lengths[1])),),
    )


def _draw_row(row: Row, order: Sequence[int] | np.ndarray, *, falls: bool) -> Line:
    cells = (row.in_length, *row.cells)
    bands = np.array([find_band(cells[i], falls=falls) for i in order])
    middle, low, high = bands.T
    return Line(row.label, middle, low=low, high=high)


def find_band(cell: Cell, *, falls: bool) -> tuple[float, float, float]:
    """The mean and the ends of its interval; parts of the whole stay within 0 and 1.

    >>> find_band(Cell((5, 8), (0.5, 0.7)), falls=False)
    (0.6, 0.0, 1.0)
    """
    estimate: Estimate | None = cell.estimate
    if estimate is None:
        return np.nan, np.nan, np.nan
    half = estimate.half or 0.0
    low, high = estimate.mean - half, estimate.mean + half
    return estimate.mean, max(0.0, low), high if falls else min(1.0, high)
