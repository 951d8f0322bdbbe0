"""What `verify` found: rows, a table for the terminal, HTML for notebooks, plain data."""

import html
import math
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """One measurement: where, of what, and how far it is from what it should be.

    where      "layer 3", or "model"
    what       what was compared with what
    encoding   the encoding that is there
    measured   the difference that is nearest to its bound, or beyond it
    bound      its bound; both are 0 for what the model does in its own code
    """

    where: str
    what: str
    encoding: str
    measured: float
    bound: float

    @property
    def holds(self) -> bool:
        """Whether the difference is within its bound; NaN is not."""
        return self.measured <= self.bound


@dataclass(frozen=True)
class SwapReport:
    """What is where in a swapped model, layer by layer, and how well it computes that.

    subject   the model: its type, layers and dtype
    rows      what was measured
    notes     what else there is to know
    """

    subject: str
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every difference is within its bound."""
        return all(row.holds for row in self.rows)

    @property
    def failed(self) -> tuple[Row, ...]:
        """The rows whose difference is beyond its bound."""
        return tuple(row for row in self.rows if not row.holds)

    @property
    def summary(self) -> str:
        """The verdict on the whole."""
        if self.ok:
            return "everything is as it should be"
        return f"{len(self.failed)} of {len(self.rows)} are not as they should be"

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        rows = [asdict(row) | {"holds": row.holds} for row in self.rows]
        for row in rows:  # JSON has no NaN and no infinity
            row["measured"] = row["measured"] if math.isfinite(row["measured"]) else None
        notes = list(self.notes)
        return {"subject": self.subject, "ok": self.ok, "rows": rows, "notes": notes}

    def __str__(self) -> str:
        cells = [_cells(row) for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  " + "  ".join(f"{cell:<{n}}" for cell, n in zip(row, widths, strict=True)).rstrip()
            for row in cells
        ]
        notes = [f"note: {note}" for note in self.notes]
        return "\n".join([f"{self.subject}: {self.summary}", *lines, *notes])

    def _repr_html_(self) -> str:
        """The verdict, then a row for each measurement, then the notes."""
        head = "".join(
            f"<th>{name}</th>" for name in ("where", "encoding", "compared", "difference", "")
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in _cells(row)) + "</tr>"
            for row in self.rows
        )
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        verdict, subject = html.escape(self.summary), html.escape(self.subject)
        table = f"<p><b>{verdict}</b>: {subject}</p><table><tr>{head}</tr>{body}</table>"
        return table + (f"<ul>{notes}</ul>" if notes else "")


def _cells(row: Row) -> tuple[str, ...]:
    numbers = f"{row.measured:.1e} (bound {row.bound:.1e})" if row.bound else ""
    verdict = ("holds" if row.holds else "FAILS") if row.bound else ""
    return row.where, row.encoding, row.what, numbers, verdict
