"""Explanations as text, Markdown, LaTeX, HTML and JSON."""

import json
import re
from collections.abc import Callable
from html import escape

from posenc.explanation import maths
from posenc.explanation.explanation import Entry, Explanation, Step
from posenc.i18n import translator
from posenc.i18n.html import html_table
from posenc.i18n.terminal import width

COLUMNS, ROWS = 18, 40
"""The largest table that is written out; JSON has all of it."""


def text(explained: Explanation) -> str:
    """Plain text, its columns aligned by the display width of their characters."""
    lines = [explained.title, "=" * width(explained.title)]
    for count, step in enumerate(explained.steps, start=1):
        formulas, columns, rows, note = _format_step(step, explained, maths.text)
        lines += ["", f"{count}. {step.words}", *(f"   {formula}" for formula in formulas)]
        widths = [max(map(width, column)) for column in zip(columns, *rows, strict=True)]
        for line in (columns, *rows) if columns else ():
            sized = zip(line, widths, strict=True)
            lines.append("   " + "  ".join(" " * (size - width(x)) + x for x, size in sized))
        lines += [f"   {note}"] if note else []
    return "\n".join(lines) + "\n"


def markdown(explained: Explanation) -> str:
    """Markdown with $$ formulas $$, as Jupyter and GitHub display them."""
    blocks = [f"## {explained.title}"]
    for count, step in enumerate(explained.steps, start=1):
        formulas, columns, rows, note = _format_step(step, explained, maths.latex)
        blocks += [f"{count}. {step.words}", *(f"$$ {formula} $$" for formula in formulas)]
        if columns:
            head, *below = ([_escape_markdown(cell) for cell in line] for line in (columns, *rows))
            lines = [head, ["---:"] * len(columns), *below]
            blocks.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
        blocks += [note] if note else []
    return "\n\n".join(blocks) + "\n"


FONTS = {"ja": "Noto Sans CJK JP", "zh-Hans": "Noto Sans CJK SC", "zh-Hant": "Noto Sans CJK TC"}


def latex(explained: Explanation) -> str:
    """A document for XeLaTeX or LuaLaTeX."""
    font = FONTS.get(explained.lang, "Noto Sans CJK SC")
    lines = [
        r"\documentclass{article}",
        r"\usepackage{amsmath}",
        r"\usepackage{xeCJK}",
        rf"\setCJKmainfont{{{font}}}",
        r"\begin{document}",
        rf"\section*{{{_escape_latex(explained.title)}}}",
        r"\begin{enumerate}",
    ]
    for step in explained.steps:
        formulas, columns, rows, note = _format_step(step, explained, maths.latex)
        lines.append(rf"\item {_escape_latex(step.words)}")
        lines += [rf"\[ {formula} \]" for formula in formulas]
        if columns:
            lines += ["", rf"\begin{{tabular}}{{{'r' * len(columns)}}}"]
            lines += [" & ".join(map(_escape_latex, line)) + r" \\" for line in (columns, *rows)]
            lines.insert(len(lines) - len(rows), r"\hline")
            lines.append(r"\end{tabular}")
        lines += ["", _escape_latex(note)] if note else []
    return "\n".join([*lines, r"\end{enumerate}", r"\end{document}"]) + "\n"


STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;font-variant-numeric:tabular-nums;display:block;overflow-x:auto}"
    "td,th{padding:.1rem .6rem;text-align:right;white-space:nowrap;border-bottom:1px solid #8884}"
    "math{font-size:1.1em;margin:.8rem 0;justify-content:start;text-align:left}"
    "mtable{border-inline:1.5px solid;border-radius:.4em;padding:0 .2em;margin:0 .2em}"
    ":root{color-scheme:light dark}"
)


def html(explained: Explanation) -> str:
    """A self-contained page with formulas in MathML."""
    lang, title = explained.lang, escape(explained.title)
    head = f'<meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    body = [f"<h1>{title}</h1>", "<ol>"]
    for step in explained.steps:
        formulas, columns, rows, note = _format_step(step, explained, maths.mathml)
        body.append(f'<li id="{step.name}"><p>{escape(step.words)}</p>')
        body += [f'<math display="block">{formula}</math>' for formula in formulas]
        if columns:
            body.append(html_table(rows, head=columns))
        body.append(f"<p>{escape(note)}</p></li>" if note else "</li>")
    inside = "\n".join([*body, "</ol>"])
    return (
        f'<!doctype html>\n<html lang="{lang}"><head>{head}</head>\n<body>{inside}</body></html>\n'
    )


FORMS: dict[str, Callable[[Explanation], str]] = {
    "text": text,
    "markdown": markdown,
    "latex": latex,
    "html": html,
    "json": lambda explained: (
        json.dumps(explained.to_json(), ensure_ascii=False, allow_nan=False) + "\n"
    ),
}


def _format_step(
    step: Step, explained: Explanation, render: Callable[[maths.Maths, int], str]
) -> tuple[list[str], list[str], list[list[str]], str]:
    """The formulas of a step; the columns and rows of its table; a note on what was left out."""
    t, digits = translator(explained.lang), step.digits or explained.digits
    formulas = [render(formula, digits) for formula in step.formulas]
    if step.table is None:
        return formulas, [], [], ""
    columns = (_format_column(column, digits) for column in zip(*step.table.rows, strict=True))
    lines = [list(step.table.columns), *map(list, zip(*columns, strict=True))]
    notes: list[str] = []
    if (cut := len(lines[0]) - COLUMNS) > 0:
        lines = [[*line[: COLUMNS - 1], "…"] for line in lines]
        notes.append(t("{count} columns are not shown; JSON has all of them", count=cut + 1))
    if (cut := len(lines) - 1 - ROWS) > 0:
        lines = [*lines[:ROWS], ["…"] * len(lines[0])]
        notes.append(t("{count} rows are not shown; JSON has all of them", count=cut + 1))
    return formulas, lines[0], lines[1:], " · ".join(notes)


def _format_column(entries: tuple[Entry, ...], digits: int) -> list[str]:
    """Entries as text; all numbers of a column have as many decimals as the longest needs."""
    texts = [entry if isinstance(entry, str) else maths.number(entry, digits) for entry in entries]
    decimals = {
        i: size
        for i, (entry, s) in enumerate(zip(entries, texts, strict=True))
        if isinstance(entry, float) and "e" not in s
        if (size := len(s.partition(".")[2])) <= digits
    }
    needed = max(decimals.values(), default=0)
    # from the rounded text: no -0.00
    return [f"{float(s):.{needed}f}" if i in decimals else s for i, s in enumerate(texts)]


def _escape_markdown(words: str) -> str:
    return re.sub(r"([\\`*_$<>\[\]|~])", r"\\\1", " ".join(words.split()))


LATEX = {
    **{character: rf"\{character}" for character in "#$%&_{}"},
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "[": "{[}", "*": "{*}",  # at the start of a row, LaTeX would take these as part of \\\\
}  # fmt: skip


def _escape_latex(words: str) -> str:
    return "".join(LATEX.get(character, character) for character in words)
