"""Fonts: installed ones that can show a text, with the right Han glyphs, never boxes.

Han characters look different in Japan, mainland China and Taiwan but share a code point, so the
reader's language decides the font.
"""

import re
from functools import cache
from pathlib import Path

from matplotlib import font_manager

from posenc.i18n import Translate
from posenc.text import HAN, JOINER

HAN_FONTS = re.compile(
    r"(Noto|Source Han) (Sans|Serif)( Mono)? (CJK|JP|SC|TC|HK|KR)|IPA|WenQuanYi|Droid Sans Fallback"
    r"|Hiragino|PingFang|Heiti|STHeiti|Yu Gothic|Meiryo|MS Gothic|Microsoft (YaHei|JhengHei)|SimHei"
)
REGIONS = {
    "ja": r"\bJP\b|IPA|Hiragino|Yu Gothic|Meiryo|MS Gothic",
    "zh-Hans": r"\bSC\b|WenQuanYi|PingFang|Heiti|YaHei|SimHei",
    "zh-Hant": r"\bTC\b|JhengHei",
}
KANA = re.compile(r"[\u3041-\u30ff]")


def families(lang: str, text: str) -> list[str]:
    """Return the font families to try in turn for a text; no more than needed, as each is slow."""
    chosen = ["DejaVu Sans"]
    lacking = {ord(c) for c in text} - _characters(chosen[0])
    for family in han_fonts(region(lang, text)):
        if lacking & _characters(family):
            chosen.append(family)
            lacking -= _characters(family)
    return chosen


def region(lang: str, text: str) -> str:
    """Return whose Han glyphs to use: the reader's; for English readers Japan's if there is kana.

    >>> region("zh-Hant", "犬が噛む"), region("en", "犬が噛む"), region("en", "我 爱 学习")
    ('zh-Hant', 'ja', 'zh-Hans')
    """
    if lang in REGIONS:
        return lang
    return "ja" if KANA.search(text) else "zh-Hans"


def han_fonts(lang: str) -> list[str]:
    """Return installed fonts with Han characters: those of the region first, Noto Sans first."""
    names = _han_names()
    if not names:  # matplotlib caches the fonts of its first start: look for newer ones
        for path in font_manager.findSystemFonts():
            if re.search(r"cjk|han|ipa|wqy|gothic", Path(path).name, re.IGNORECASE):
                font_manager.fontManager.addfont(path)
        names = _han_names()
    own = re.compile(REGIONS[lang])

    def rank(name: str) -> tuple[bool, bool, bool, bool, str]:
        return not own.search(name), "CJK" not in name, "Sans" not in name, "Mono" in name, name

    return sorted(names, key=rank)


def _han_names() -> set[str]:
    return {font.name for font in font_manager.fontManager.ttflist if HAN_FONTS.match(font.name)}


@cache
def _characters(family: str) -> frozenset[int]:
    file = font_manager.findfont(family, fallback_to_default=False)
    return frozenset(font_manager.get_font(file).get_charmap())


class Lettering:
    """Text in given fonts; collects the characters that none of them has."""

    def __init__(self, fonts: list[str]):
        self.fonts = fonts
        self.missing: set[str] = set()

    def can_show(self, text: str) -> bool:
        """Return whether every character has a glyph, and remember those that have none."""
        lacking = {c for c in text if not any(ord(c) in _characters(f) for f in self.fonts)}
        self.missing |= lacking
        return not lacking

    def label(self, token: str, most: int = 16) -> str:
        """Shorten a token to a label; empty if it cannot be shown."""
        token = "".join(c for c in token if c.isprintable() or c == JOINER)
        token = token if len(token) <= most else token[: most - 1] + "…"
        return token if self.can_show(token) else ""

    def text(self, text: str) -> str:
        """Replace characters without a glyph by their code, as in \\u6211."""
        text = "".join(c for c in text if c.isprintable() or c in (JOINER, "\n"))
        return "".join(
            c if c == "\n" or self.can_show(c) else c.encode("ascii", "backslashreplace").decode()
            for c in text
        )

    def notes(self, t: Translate) -> list[str]:
        """Say which characters could not be shown."""
        if not self.missing:
            return []
        few = "".join(sorted(self.missing)[:10]) + ("…" if len(self.missing) > 10 else "")
        notes = [
            t(
                "No installed font has {characters}; position numbers are shown instead.",
                characters=few,
            )
        ]
        if HAN.search(few):
            notes.append(
                t("For Chinese and Japanese install Noto Sans CJK (package fonts-noto-cjk).")
            )
        return notes
