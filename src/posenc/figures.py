"""Views drawn with matplotlib. Needs the extra `plot`."""

import re
from pathlib import Path

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from posenc.views import Heatmap

HAN = re.compile(r"[\u2e80-\u9fff\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
HAN_FONTS = re.compile(
    r"(Noto|Source Han) (Sans|Serif)( Mono)? (CJK|JP|SC|TC|HK|KR)|IPA|WenQuanYi|Droid Sans Fallback"
    r"|Hiragino|PingFang|Heiti|STHeiti|Yu Gothic|Meiryo|MS Gothic|Microsoft (YaHei|JhengHei)|SimHei"
)


def draw(view: Heatmap, path: Path) -> list[str]:
    """Write the view to `path` (PNG, SVG or PDF by its ending); return what a reader should know.

    Han characters that no font on this machine can show are not drawn as boxes: the row is then
    named by its position, and the returned notes say which font to install.
    """
    fonts = han_fonts()
    labels, notes = _labels(view.tokens, shown=bool(fonts))
    with rc_context({"font.family": ["DejaVu Sans", *fonts]}):
        _heatmap(view, labels).savefig(path, dpi=150)
    return notes


def han_fonts() -> list[str]:
    """The fonts of this machine that have Han characters, Noto's Sans first."""
    names = _han_names()
    if not names:  # matplotlib remembers the fonts of its first start; look for newer ones
        for path in font_manager.findSystemFonts():
            if re.search(r"cjk|han|ipa|wqy|gothic", Path(path).name, re.IGNORECASE):
                font_manager.fontManager.addfont(path)
        names = _han_names()
    return sorted(names, key=lambda name: ("CJK" not in name, "Sans" not in name, name))


def _han_names() -> set[str]:
    return {font.name for font in font_manager.fontManager.ttflist if HAN_FONTS.match(font.name)}


def _labels(tokens: tuple[str, ...], *, shown: bool) -> tuple[list[str], list[str]]:
    if shown or not any(HAN.search(token) for token in tokens):
        return list(tokens), []
    note = "No font here has Han characters, so rows are named by position: install fonts-noto-cjk."
    return ["" if HAN.search(token) else token for token in tokens], [note]


def _heatmap(view: Heatmap, labels: list[str]) -> Figure:
    rows, dim = view.values.shape
    figure = Figure(figsize=(8.0, min(0.32 * rows, 9.0) + 1.3), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.add_subplot()
    limit = float(np.abs(view.values).max()) or 1.0
    image = axis.imshow(view.values, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit)
    axis.set_title(view.title, fontsize=10)
    axis.set_xlabel("dimension")
    axis.set_ylabel("position")
    named = range(0, rows, -(-rows // 40))  # forty names fit; the picture itself has every row
    axis.set_yticks(list(named), [f"{labels[row]}  {row}".strip() for row in named])
    axis.set_xticks(sorted({*range(0, dim, max(1, dim // 8)), dim - 1}))
    figure.colorbar(image, label="value")
    return figure
