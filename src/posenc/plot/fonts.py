"""Fonts: those of this machine that show a text, the right Han glyphs first; never boxes.

Han characters are written differently in Japan, in mainland China and in Taiwan, under one code, so
the reader's language decides the font.
"""

import re
import unicodedata
from collections.abc import Callable
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
NO_BEGINNING = frozenset(" ：。，、；！？）」』】・ー…")
NO_END = frozenset("（「『【")
"""What may not begin or end a line."""

KANA = re.compile(r"[\u3041-\u30ff]")


def families(lang: str, text: str) -> list[str]:
    """Font families to try in turn for this text: no more than it needs, for each costs time."""
    chosen = ["DejaVu Sans"]
    lacking = {ord(c) for c in text} - _characters(chosen[0])
    for family in han_fonts(region(lang, text)):
        if lacking & _characters(family):
            chosen.append(family)
            lacking -= _characters(family)
    return chosen


def region(lang: str, text: str) -> str:
    """Whose Han glyphs: the reader's; English readers get Japan's where there are kana.

    >>> region("zh-Hant", "犬が噛む"), region("en", "犬が噛む"), region("en", "我 爱 学习")
    ('zh-Hant', 'ja', 'zh-Hans')
    """
    if lang in REGIONS:
        return lang
    return "ja" if KANA.search(text) else "zh-Hans"


def han_fonts(lang: str) -> list[str]:
    """The fonts of this machine that have Han characters: the region's first, Noto's Sans first."""
    names = _han_names()
    if not names:  # matplotlib remembers the fonts of its first start; look for newer ones
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
    """What can be written with these fonts; remembers which characters could not."""

    def __init__(self, fonts: list[str]):
        self.fonts = fonts
        self.missing: set[str] = set()

    def shown(self, text: str) -> bool:
        """Whether every character has a glyph; if not, those that have none are remembered."""
        lacking = {c for c in text if not any(ord(c) in _characters(f) for f in self.fonts)}
        self.missing |= lacking
        return not lacking

    def label(self, token: str, most: int = 16) -> str:
        """A token as a label, shortened; nothing if it cannot be shown."""
        token = "".join(c for c in token if c.isprintable() or c == JOINER)
        token = token if len(token) <= most else token[: most - 1] + "…"
        return token if self.shown(token) else ""

    def text(self, text: str) -> str:
        """Text with the code of a character where there is no glyph, as in \\u6211."""
        text = "".join(c for c in text if c.isprintable() or c in (JOINER, "\n"))
        return "".join(
            c if c == "\n" or self.shown(c) else c.encode("ascii", "backslashreplace").decode()
            for c in text
        )

    def notes(self, t: Translate) -> list[str]:
        """What a reader should know of characters that could not be shown."""
        if not self.missing:
            return []
        few = "".join(sorted(self.missing)[:10]) + ("…" if len(self.missing) > 10 else "")
        said = [
            t(
                "No installed font has {characters}; position numbers are shown instead.",
                characters=few,
            )
        ]
        if HAN.search(few):
            said.append(
                t("For Chinese and Japanese install Noto Sans CJK (package fonts-noto-cjk).")
            )
        return said


def breadth(text: str) -> int:
    """How many letters a text is wide: a Han character counts for two.

    >>> breadth("AI"), breadth("学习")
    (2, 4)
    """
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def wrapped(text: str, room: float, measure: Callable[[str], float] = breadth) -> str:
    """Lines within the room; a Han character may end a line, a comma never begins one.

    >>> wrapped("one two three", 8)
    'one two\\nthree'
    >>> wrapped("打乱后再还原：相差", 12)
    '打乱后再还\\n原：相差'
    """
    lines = [""]
    for word in _pieces(text):
        if lines[-1] and measure((lines[-1] + word).rstrip()) > room:
            lines[-1] = lines[-1].rstrip()
            lines.append("")
        lines[-1] += word
    return "\n".join(lines).rstrip()


def _pieces(text: str) -> list[str]:
    """Words with the space behind them; wide characters one by one, with what may not leave them.

    >>> _pieces("one 位置、（二）")
    ['one ', '位', '置、', '（二）']
    """
    pieces: list[str] = []
    for character in text:
        last = pieces[-1][-1] if pieces else " "
        # a line may end behind a space, and beside anything wide
        apart = last == " " or breadth(last + character) > 2
        if pieces and (last in NO_END or character in NO_BEGINNING or not apart):
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces
