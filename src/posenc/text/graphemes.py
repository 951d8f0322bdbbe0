"""Split a text into grapheme clusters, what a reader calls characters, without dependencies.

The rules are those of Unicode (UAX 29). `unicodedata` lacks their character classes, so these are
derived from the general categories and, where that is not enough, from ranges of code points. A
test compares the result with ICU's.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

RANGES = (
    ("flag", "1F1E6-1F1FF"),
    ("extend", "200C 1F3FB-1F3FF E0020-E007F FF9E FF9F"),  # skin tones, flag tags, ﾞ and ﾟ
    ("control", "E0000-E001F E0080-E00FF E01F0-E0FFF"),
    ("prepend", "600-605 6DD 70F 890 891 8E2 D4E 110BD 110CD"),  # attached to the next character
    ("prepend", "111C2 111C3 1193F 11941 11A84-11A89 11D46"),
    ("linker", "94D 9CD ACD B4D C4D D4D 1039 17D2 1A60 1B44 1BAB A9C0"),  # viramas
    (
        "consonant",
        "915-939 958-95F 978-97F 995-9B9 9DC-9DF 9F0 9F1 A95-AB9 AF9 B15-B39 B5C-B5F B71",
    ),
    ("consonant", "C15-C39 C58-C5A D15-D3A 1000-102A 1780-17B3 1A20-1A54 1B13-1B33 A98F-A9B2"),
    ("L", "1100-115F A960-A97C"),  # Hangul jamo: leading consonants, vowels, trailing consonants
    ("V", "1160-11A7 D7B0-D7C6"),
    ("T", "11A8-11FF D7CB-D7FB"),
    ("spacing", "E33 EB3"),  # Thai and Lao am
    ("", "102B 102C 1038 1062-1064 1067-106D 1083 1087-108C 108F 109A-109C 1A61 1A63 1A64"),
    ("", "AA7B AA7D 11720 11721"),
    ("pictograph", "A9 AE 203C 2049 2139 2194 25FB-25FE 25B6 25C0 2934 2935 3030 303D 3297 3299"),
)
"""Classes that the general categories do not determine, as hexadecimal code points."""

CLASSES = {
    code: kind
    for kind, ranges in RANGES
    for first, _, last in (part.partition("-") for part in ranges.split())
    for code in range(int(first, 16), int(last or first, 16) + 1)
}

HANGUL = {"L": "L V LV LVT", "V": "V T", "LV": "V T", "T": "T", "LVT": "T"}
"""The jamo and syllables that may continue each kind."""


def split_graphemes(text: str) -> list[str]:
    """Split a text into grapheme clusters: marks, emoji sequences, flags and jamo stay together.

    >>> split_graphemes("né👩‍🌾🇯🇵क्षि")
    ['n', 'é', '👩‍🌾', '🇯🇵', 'क्षि']
    """
    cuts = [*_find_starts(text), len(text)]
    return [text[start:end] for start, end in pairwise(cuts)]


def _find_starts(text: str) -> Iterator[int]:
    """The index of each cluster's first character, in one pass over the text."""
    before = "start"
    flags = 0  # consecutive regional indicators
    emoji = conjunct = "none"  # states of an emoji sequence and of a consonant cluster
    for i, character in enumerate(text):
        now = _classify(character)
        joined = (
            (emoji == "joined" and now == "pictograph")
            or (conjunct == "linked" and now == "consonant")
            or (before == now == "flag" and flags % 2 == 1)
        )
        if not joined and _is_break(before, now):
            yield i
        flags = flags + 1 if now == "flag" else 0
        emoji = _advance_emoji(emoji, now)
        conjunct = _advance_conjunct(conjunct, now, character)
        before = now


def _advance_emoji(so_far: str, now: str) -> str:
    """The state of an emoji sequence: pictograph, marks, joiner, then another pictograph."""
    if now == "pictograph" or (now in ("extend", "linker") and so_far == "open"):
        return "open"
    return "joined" if now == "zwj" and so_far == "open" else "none"


def _advance_conjunct(so_far: str, now: str, character: str) -> str:
    """The state of a consonant cluster: consonant, virama among marks, another consonant."""
    if now == "consonant":
        return "open"
    if now == "linker" and so_far != "none":
        return "linked"
    return so_far if now in ("extend", "zwj") and character != "\u200c" else "none"


def _is_break(before: str, now: str) -> bool:
    if before == "cr" and now == "lf":
        return False
    if before in ("start", "cr", "lf", "control") or now in ("cr", "lf", "control"):
        return True
    if now in ("extend", "linker", "zwj", "spacing") or before == "prepend":
        return False
    return now not in HANGUL.get(before, "").split()


@lru_cache(maxsize=4096)
def _classify(character: str) -> str:
    """The class of a character in the rules, or "" if it has none."""
    code = ord(character)
    if code in CLASSES:
        return CLASSES[code]
    if 0xAC00 <= code <= 0xD7A3:
        return "LVT" if (code - 0xAC00) % 28 else "LV"
    named = {"\r": "cr", "\n": "lf", "\u200d": "zwj"}.get(character)
    return named or _classify_by_category(code, unicodedata.category(character))


def _classify_by_category(code: int, category: str) -> str:
    if category in ("Mn", "Me"):
        return "extend"
    if category == "Mc":
        return "spacing"
    if category in ("Cc", "Cf", "Zl", "Zp"):
        return "control"
    symbol = category == "So" and 0x2100 <= code < 0x2C00
    unassigned = 0x1F000 <= code < 0x1FFFE and category in (
        "So",
        "Cn",
    )  # newer than Python's tables
    return "pictograph" if symbol or unassigned else ""
