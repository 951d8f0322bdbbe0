"""What a check found: rows, a table for the terminal, HTML for notebooks, plain data."""

import html
import math
from dataclasses import asdict, dataclass
from typing import Any, Literal

Verdict = Literal[
    "holds",
    "fails",
    "not claimed: holds",
    "not claimed: does not hold",
    "not applicable",
    "not measured",
]


@dataclass(frozen=True)
class Row:
    """One property: what was measured against which bound, and the verdict."""

    name: str
    what: str
    why: str
    verdict: Verdict
    measured: float | None
    bound: str | None
    detail: str
    seconds: float


@dataclass(frozen=True)
class Report:
    """All that was checked of one encoding."""

    subject: str
    rows: tuple[Row, ...]

    @property
    def ok(self) -> bool:
        """Whether every check has an answer and every claim holds."""
        return not self.failed and not self.unmeasured

    @property
    def failed(self) -> tuple[str, ...]:
        """The names of the claims that fail."""
        return tuple(row.name for row in self.rows if row.verdict == "fails")

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """The names of the checks that ran out of time: nothing is known of them."""
        return tuple(row.name for row in self.rows if row.verdict == "not measured")

    def __getitem__(self, name: str) -> Row:
        for row in self.rows:
            if row.name == name:
                return row
        names = ", ".join(row.name for row in self.rows)
        raise ValueError(f"name must be that of a check, one of {names}; got {name!r}")

    def to_json(self) -> dict[str, Any]:
        """The report as plain data."""
        rows = [asdict(row) for row in self.rows]
        for row in rows:  # JSON has no NaN and no infinity
            if row["measured"] is not None and not math.isfinite(row["measured"]):
                row["measured"] = None
        return {"subject": self.subject, "ok": self.ok, "rows": rows}

    @property
    def summary(self) -> str:
        """The verdict on the whole: which claims fail and which checks gave no answer."""
        parts = [("fail", self.failed), ("not measured", self.unmeasured)]
        found = [f"{len(names)} {what}: {', '.join(names)}" for what, names in parts if names]
        return "; ".join(found) or "all claims hold"

    def __str__(self) -> str:
        lines = [f"{self.subject}: {self.summary}"]
        for row in self.rows:
            numbers = _format_numbers(row)
            line = f"  {row.name:<17} {row.verdict:<27} {numbers:<24} {row.detail}"
            lines.append(line.rstrip())
            if row.verdict == "fails":
                lines.append(f"  {'':<17} {row.what} {row.why}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """The verdict, then a row for each check that applies; what it measures is a tooltip."""
        head = "".join(f"<th>{name}</th>" for name in ("verdict", "property", "measured"))
        body = "".join(
            f"<tr><td>{html.escape(row.verdict)}</td>"
            f'<td title="{html.escape(f"{row.what} {row.why}")}">{html.escape(row.name)}</td>'
            f"<td>{html.escape(f'{_format_numbers(row)} {row.detail}'.strip())}</td></tr>"
            for row in self.rows
            if row.verdict != "not applicable"
        )
        verdict, subject = html.escape(self.summary), html.escape(self.subject)
        return f"<p><b>{verdict}</b>: {subject}</p><table><tr>{head}</tr>{body}</table>"


def _format_numbers(row: Row) -> str:
    if row.measured is None:
        return ""
    return f"{row.measured:.2g}" + (f" ({row.bound})" if row.bound else "")
