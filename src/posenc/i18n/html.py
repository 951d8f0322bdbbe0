"""Tables in HTML, for notebooks and saved pages."""

from collections.abc import Iterable
from html import escape


def html_table(rows: Iterable[Iterable[str]], *, head: Iterable[str] = ()) -> str:
    """A table of plain text, escaped.

    >>> html_table([["a < b", "1"]], head=["rule", "value"])
    '<table><tr><th>rule</th><th>value</th></tr><tr><td>a &lt; b</td><td>1</td></tr></table>'
    """
    top = [_row("th", head)] if head else []
    return f"<table>{''.join([*top, *(_row('td', row) for row in rows)])}</table>"


def _row(tag: str, cells: Iterable[str]) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
