"""Results as one HTML file in four languages, which needs nothing else: no server, no script."""

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

import numpy as np

from posenc.i18n import LANGUAGES, Translate, translator
from posenc.i18n.html import html_table
from posenc.lab.picture import build_panel
from posenc.lab.results import Results, Table
from posenc.lab.settings import format_lengths
from posenc.lab.terminal import explain_marks, list_cells, list_notes
from posenc.views import colours
from posenc.views.panels import Line, Lines

Place = Callable[[float, float], tuple[float, float]]
"""From a length and a score to pixels."""
NAMES = {"en": "English", "ja": "日本語", "zh-Hans": "简体中文", "zh-Hant": "繁體中文"}
WIDE, HIGH, LEFT, BELOW, RIGHT = 720, 280, 56, 36, 220
"""Size of a chart in pixels, and the room for its scales and its legend."""
DASHES = ("", "6 3", "2 3", "6 3 2 3")
STYLE = Path(__file__).with_name("page.css")
"""The style of the explorer; LIGHT and DARK are replaced by the shades of lines."""


def write_page(results: Results, *, lang: str = "en") -> str:
    """The whole page, which opens in `lang`; radio buttons choose another, without a script."""
    shades = {
        name: " ".join(
            f".shade-{i} {{ color: {c} }}" for i, c in enumerate(colours.lines(dark=dark))
        )
        for name, dark in (("LIGHT", False), ("DARK", True))
    }
    style = STYLE.read_text(encoding="utf-8")
    for name, shade in shades.items():
        style = style.replace(name, shade)
    style += "\n".join(
        f"body:has(#lang-{each}:checked) section[lang={each}] {{ display: block }}"
        for each in LANGUAGES
    )
    choices = "".join(
        f'<label><input type="radio" name="lang" id="lang-{each}"{" checked" * (each == lang)}> '
        f'<span lang="{each}">{NAMES[each]}</span></label>'
        for each in LANGUAGES
    )
    sections = "\n".join(_write_section(results, each) for each in LANGUAGES)
    return (
        f'<!doctype html>\n<html lang="{lang}">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>posenc lab</title><style>{style}</style></head>\n"
        f"<body><form>{choices}</form>\n{sections}\n</body>\n</html>\n"
    )


def _write_section(results: Results, lang: str) -> str:
    t = translator(lang)
    parts = [f'<section lang="{lang}"><h1>{escape(t("train short, test long"))}</h1>']
    parts += [part for table in results.tables for part in _write_table(table, t)]
    parts += [f'<p class="soft">{escape(note)}</p>' for note in explain_marks(t)]
    parts += [f"<p>{escape(note)}</p>" for note in list_notes(results, t)]
    return "\n".join([*parts, "</section>"])


def _write_table(table: Table, t: Translate) -> Iterator[str]:
    panel = build_panel(table, t)
    head, *rows = list_cells(table, t)
    yield f"<h2>{escape(panel.title)}</h2>"
    if panel.lines:
        ranges = sorted((table.train_lengths, *table.lengths), key=sum)
        yield f"<figure>{draw_chart(panel, [*map(format_lengths, ranges)])}</figure>"
    yield html_table(rows, head=head)


def draw_chart(panel: Lines, ticks: Sequence[str]) -> str:
    """Lines with bands as SVG, and a legend at the right; `ticks` are the names of lengths."""
    values = [y for line in panel.lines for y in (line.y, line.low, line.high) if y is not None]
    finite = np.concatenate(values)[np.isfinite(np.concatenate(values))]
    top = 1.0 if finite.size == 0 or finite.max() <= 1 else float(finite.max()) * 1.05
    scale = np.log2 if panel.x_axis.log else np.asarray
    ends = scale(panel.x[[0, -1]])
    span = float(ends[1] - ends[0]) or 1.0

    def place(x: float, y: float) -> tuple[float, float]:
        across = LEFT + (float(scale(x)) - float(ends[0])) / span * (WIDE - LEFT - RIGHT)
        return round(across, 1), round(10 + (1 - y / top) * (HIGH - BELOW - 10), 1)

    parts = [_draw_scales(panel, ticks, place, top)]
    parts += [_draw_line(panel, line, i, place) for i, line in enumerate(panel.lines)]
    title = escape(f"{panel.title}; {panel.y_axis.name}, {panel.x_axis.name}")
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" role="img" aria-label="{title}">'
        f"{''.join(parts)}{_draw_names(panel)}</svg>"
    )


def _draw_scales(panel: Lines, ticks: Sequence[str], place: Place, top: float) -> str:
    left, right = place(panel.x[0], 0)[0], place(panel.x[-1], 0)[0]
    parts = list[str]()
    for part in range(5):
        value = top * part / 4
        _, y = place(panel.x[0], value)
        parts.append(f'<line class="rule" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y + 4}" text-anchor="end">{value:.2f}</text>')
    for x, tick in zip(panel.x, ticks, strict=True):
        at, _ = place(x, 0)
        parts.append(f'<text x="{at}" y="{HIGH - 20}" text-anchor="middle">{tick}</text>')
    name = f'<text x="{left}" y="{HIGH - 4}">{escape(panel.x_axis.name)}</text>'
    return "".join([*parts, name])


def _draw_line(panel: Lines, line: Line, number: int, place: Place) -> str:
    shade, stroke = colours.style_line(number if line.colour is None else line.colour)
    seen = [i for i in range(len(panel.x)) if math.isfinite(line.y[i])]

    def join(ys: np.ndarray, order: Sequence[int]) -> str:
        return " ".join("{},{}".format(*place(panel.x[i], float(ys[i]))) for i in order)

    band = ""
    if line.low is not None and line.high is not None:
        edge = f"{join(line.high, seen)} {join(line.low, seen[::-1])}"
        band = f'<polygon points="{edge}" class="band shade-{shade}"/>'
    dots = "".join(
        '<circle cx="{}" cy="{}" r="3" class="dot shade-{}"/>'.format(
            *place(panel.x[i], float(line.y[i])), shade
        )
        for i in seen
    )
    return (
        f'{band}<polyline points="{join(line.y, seen)}" class="line shade-{shade}"'
        f' stroke-dasharray="{DASHES[stroke]}"/>{dots}'
    )


def _draw_names(panel: Lines) -> str:
    """The legend at the right: a stroke and a name for each line."""
    parts = list[str]()
    for number, line in enumerate(panel.lines):
        shade, stroke = colours.style_line(number if line.colour is None else line.colour)
        y, x = 20 + 18 * number, WIDE - RIGHT + 16
        parts.append(
            f'<line x1="{x}" x2="{x + 24}" y1="{y - 4}" y2="{y - 4}" class="line shade-{shade}"'
            f' stroke-dasharray="{DASHES[stroke]}"/>'
            f'<text x="{x + 30}" y="{y}">{escape(line.name)}</text>'
        )
    return "".join(parts)
