"""Results as text: a table for each task, with a small curve of the score against the length."""

from collections.abc import Iterator

from posenc.i18n import Translate, translator
from posenc.i18n.terminal import pad, width, wrap
from posenc.lab.results import Cell, Results, Row, Table
from posenc.lab.settings import format_lengths

BARS = "▁▂▃▄▅▆▇█"
WIDE = 100
"""Columns of the terminal that notes keep to."""


def format_results(results: Results, *, lang: str = "en") -> str:
    """Every table, then failures and runs that differ between machines."""
    t = translator(lang)
    parts = [format_table(table, t) for table in results.tables]
    if results.tables:
        parts.append("\n".join(line for note in explain_marks(t) for line in wrap(note, WIDE)))
    parts += list_notes(results, t)
    return "\n\n".join(parts) if parts else t("No run is finished yet.")


def list_notes(results: Results, t: Translate) -> list[str]:
    """What went wrong: runs that failed, and runs that differ between machines."""
    notes = [
        t("{run} failed: {error}", run=failure.settings.label, error=failure.error)
        for failure in results.failures
    ]
    if results.differing:
        keys = ", ".join(results.differing)
        notes.append(t("These runs differ between the directories: {runs}", runs=keys))
    return notes


def format_table(table: Table, t: Translate) -> str:
    """The title, a line of headings and a line for each encoding."""
    rows = list_cells(table, t, curves=True)
    widths = [max(width(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(map(pad, row, widths)).rstrip() for row in rows]
    return "\n".join([describe_table(table, t), "", *lines])


def list_cells(table: Table, t: Translate, *, curves: bool = False) -> list[list[str]]:
    """The cells of a table, its headings first; `curves` drawn as bars where that is wanted."""
    lengths = map(format_lengths, (table.train_lengths, *table.lengths))
    paper = any(row.paper for row in table.rows)
    head = [t("encoding"), t("trained"), *lengths, *([t("curve")] if curves else []), t("place")]
    rows = [[*head, *([t("the paper")] if paper else [])]]
    for row in table.rows:
        cells = [format_cell(cell, t) if row.trained else "" for cell in row.cells]
        place = t("not trained") if not row.trained else "" if row.place is None else str(row.place)
        line = [row.label, f"{row.trained}/{row.seeds}", format_cell(row.in_length, t), *cells]
        line += [*([draw_curve(row, table)] if curves else []), place]
        rows.append(line + ([" ".join(f"{x:.3f}" for x in row.paper)] if paper else []))
    return rows


def describe_table(table: Table, t: Translate) -> str:
    """What a table is about: unique-copy (quick), trained at 1-16: right answers."""
    return t(
        "{task} ({protocol}), trained at {lengths}: {metric}",
        task=table.task,
        protocol=table.protocol,
        lengths=format_lengths(table.train_lengths),
        metric=name_metric(table, t),
    )


def name_metric(table: Table, t: Translate) -> str:
    """What the numbers of a table are."""
    return {
        "exact": t("answers that are right as a whole"),
        "symbols": t("symbols that are right"),
        "loss": t("loss in nats; less is better"),
    }[table.metric]


def explain_marks(t: Translate) -> Iterator[str]:
    """What columns mean."""
    yield t(
        "± is half of a 95% interval over seeds. Scores beyond the trained lengths are of trained "
        "seeds alone. Place: 1 + how many encodings are better at the longest lengths by intervals "
        "that do not overlap."
    )


def format_cell(cell: Cell, t: Translate) -> str:
    """0.81 ±0.05, or that it was refused."""
    estimate = cell.estimate
    if estimate is None:
        return t("refused") if cell.refused else "–"
    half = "" if estimate.half is None else f" ±{estimate.half:.2f}"
    return f"{estimate.mean:.2f}{half}"


def draw_curve(row: Row, table: Table) -> str:
    """A bar for each length, the trained ones first; of losses, relative to the largest shown."""
    estimates = [cell.estimate for cell in (row.in_length, *(row.cells if row.trained else ()))]
    top = 1.0
    if table.falls:
        cells = (cell for each in table.rows for cell in (each.in_length, *each.cells))
        top = max((cell.estimate.mean for cell in cells if cell.estimate), default=1.0)
    return "".join(
        " " if each is None else BARS[min(7, round(7 * max(0.0, each.mean) / top))]
        for each in estimates
    )
