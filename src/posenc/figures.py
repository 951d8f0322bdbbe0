"""Views drawn with matplotlib. Needs the extra `plot`."""

import re
from pathlib import Path

import numpy as np
from matplotlib import font_manager, rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from posenc.messages import translator
from posenc.text import HAN, JOINER
from posenc.views import Heatmap

HAN_FONTS = re.compile(
    r"(Noto|Source Han) (Sans|Serif)( Mono)? (CJK|JP|SC|TC|HK|KR)|IPA|WenQuanYi|Droid Sans Fallback"
    r"|Hiragino|PingFang|Heiti|STHeiti|Yu Gothic|Meiryo|MS Gothic|Microsoft (YaHei|JhengHei)|SimHei"
)


def draw(view: Heatmap, path: Path) -> list[str]:
    """Write the view to `path` (PNG, SVG or PDF by its ending); return what a reader should know.

    A token that no font on this machine can show is not drawn as boxes: its row is named by its
    position, and the returned notes say what is missing.
    """
    fonts = ["DejaVu Sans", *han_fonts()]
    labels = [_shortened(token) for token in view.tokens]
    missing = sorted({c for label in labels for c in label if not _shown(c, fonts)})
    labels = [label if not set(label) & set(missing) else "" for label in labels]
    with rc_context({"font.family": fonts, "text.parse_math": False}):
        _heatmap(view, labels).savefig(path, dpi=150)
    return [_note(missing)] if missing else []


def _shortened(token: str, most: int = 20) -> str:
    token = "".join(c for c in token if c.isprintable() or c == JOINER)
    return token if len(token) <= most else token[: most - 1] + "…"


def _shown(character: str, fonts: list[str]) -> bool:
    """Whether one of the fonts has a glyph for the character."""
    files = (font_manager.findfont(font, fallback_to_default=False) for font in fonts)
    return any(font_manager.get_font(file).get_char_index(ord(character)) for file in files)


def _note(missing: list[str]) -> str:
    few = "".join(missing[:10]) + ("…" if len(missing) > 10 else "")
    hint = "; for Han characters install Noto Sans CJK" if HAN.search(few) else ""
    return f"No font here has {few}, so rows with them are named by position{hint}."


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


def _heatmap(view: Heatmap, labels: list[str]) -> Figure:
    rows, dim = view.values.shape
    figure = Figure(figsize=(8.0, min(0.32 * rows, 9.0) + 1.3), layout="constrained")
    FigureCanvasAgg(figure)
    axis = figure.add_subplot()
    limit = float(np.abs(view.values).max()) or 1.0
    image = axis.imshow(view.values, aspect="auto", cmap="RdBu_r", vmin=-limit, vmax=limit)
    axis.set_title(view.title, fontsize=10)
    t = translator("en")
    axis.set_xlabel(t("dimension"))
    axis.set_ylabel(t("position"))
    named = range(0, rows, -(-rows // 40))  # forty names fit; the picture itself has every row
    axis.set_yticks(list(named), [f"{labels[row]}  {row}".strip() for row in named])
    axis.set_xticks(sorted({*range(0, dim, max(1, dim // 8)), dim - 1}))
    figure.colorbar(image, label=t("value"))
    return figure
