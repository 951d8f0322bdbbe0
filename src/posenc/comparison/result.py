"""What `compare` gives: the entries, and the table as text, Markdown, HTML or plain data."""

from dataclasses import dataclass
from html import escape

from posenc.comparison.cells import KNOWN, MEASURED, cells, headings, notes
from posenc.comparison.entry import Entry
from posenc.comparison.opinions import strengths, weaknesses
from posenc.i18n import Language, translator
from posenc.i18n.html import html_table
from posenc.i18n.terminal import table, width, wrap

WIDE = 100
"""Columns of the terminal that the text keeps to."""
ABREAST = 6
"""Encodings beside each other; more go below."""


@dataclass(frozen=True)
class Comparison:
    """Encodings side by side; `str` is a table for the terminal."""

    entries: tuple[Entry, ...]
    lang: Language = "en"

    @property
    def ok(self) -> bool:
        """Whether every claim of every encoding holds."""
        return all(entry.report.ok for entry in self.entries)

    def __getitem__(self, name: str) -> Entry:
        for entry in self.entries:
            if entry.name == name:
                return entry
        names = ", ".join(entry.name for entry in self.entries)
        raise ValueError(f"name must be that of an encoding here, one of {names}; got {name!r}")

    def to_json(self) -> dict[str, object]:
        """The comparison as plain data; strengths and weaknesses in its language."""
        t = translator(self.lang)
        told = [
            entry.to_json() | {"strengths": strengths(entry, t), "weaknesses": weaknesses(entry, t)}
            for entry in self.entries
        ]
        return {"ok": self.ok, "lang": self.lang, "encodings": told}

    def to_markdown(self) -> str:
        """A row for each encoding, and below the table what its marks mean."""
        head, *rows = self._rows()
        lines = [_markdown_row(head), "|---" * len(head) + "|"]
        lines += [_markdown_row(row) for row in rows]
        return "\n".join([*lines, "", *(f"- {note}" for note in notes(self.entries, self.lang))])

    def __str__(self) -> str:
        lines: list[str] = []
        for start in range(0, len(self.entries), ABREAST):
            lines += [*self._side_by_side(self.entries[start : start + ABREAST]), ""]
        for entry in self.entries:
            lines += [*self._block(entry), ""]
        for note in notes(self.entries, self.lang):
            lines += wrap(note, WIDE)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        head, *rows = self._rows()
        below = "<br>".join(escape(note) for note in notes(self.entries, self.lang))
        return f"{html_table(rows, head=head)}<p>{below}</p>"

    def _rows(self) -> list[list[str]]:
        """The headings, then a row for each encoding."""
        rows = [["", *headings(self.lang).values()]]
        return rows + [[entry.name, *cells(entry, self.lang).values()] for entry in self.entries]

    def _side_by_side(self, entries: tuple[Entry, ...]) -> list[str]:
        """What was measured, a column for each of these encodings."""
        named, told = headings(self.lang), [cells(entry, self.lang) for entry in entries]
        rows = [["", *(entry.name for entry in entries)]]
        shown = [key for key in MEASURED if any(cell[key] for cell in told)]
        rows += [[named[key], *(cell[key] for cell in told)] for key in shown]
        first = max(width(named[key]) for key in shown)
        # as wide as fits: few columns take all that they may
        tries = (table(rows, (first, *[most] * len(entries))) for most in range(32, 10, -1))
        fits = (lines for lines in tries if max(width(line) for line in lines) <= WIDE)
        return next(fits, table(rows, (first, *[10] * len(entries))))

    def _block(self, entry: Entry) -> list[str]:
        """What is known of one encoding, below its name."""
        named, told = headings(self.lang), cells(entry, self.lang)
        lines = wrap(f"{entry.name}: {told['encoding']}", WIDE)
        rows = [[named[key], told[key]] for key in KNOWN if told[key]]
        first = max((width(heading) for heading, _ in rows), default=0)
        return lines + [f"  {line}" for line in table(rows, (first, WIDE - first - 4))]


def _markdown_row(row: list[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
