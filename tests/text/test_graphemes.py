"""Grapheme clusters: golden splits, and the same as ICU's."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from icu4py.breakers import CharacterBreaker

from posenc.text.graphemes import split_graphemes
from tests.text.strings import ODD


@pytest.mark.parametrize(
    "clusters",
    [
        ["👩\u200d👩\u200d👧", "👨🏽\u200d🌾", "❤\ufe0f\u200d🔥", "1\ufe0f\u20e3"],
        ["🇯🇵", "🇫🇷", "🇯", "a", "🏴\U000e0067\U000e0062\U000e007f"],
        ["e\u0301", "が\u3099", "学", "\r\n", "\n", "\x00", "\u200b"],
        ["\u1100\u1161\u11a8", "가\u11a8", "각", "각"],
        ["न", "म", "स्ते", " ", "क्ष", "त्रि", "य", "र्\u200dक", "क्\u200c", "ष"],
        ["กำ", "ที่"],
    ],
)
def test_characters(clusters):
    assert split_graphemes("".join(clusters)) == clusters


def icu(text):
    return list(CharacterBreaker(text, "en"))


@given(st.text(ODD, max_size=12))
@settings(max_examples=500)
def test_characters_are_those_of_icu(text):
    assert split_graphemes(text) == icu(text)


def test_every_character_joins_its_neighbours_as_in_icu():
    """All that Python knows but Han, syllables of Hangul and private ones, which are alike."""
    alike = [range(0x3400, 0xA000), range(0xAC00, 0xF900), range(0x20000, 0xE0000)]
    codes = [c for c in range(0xE1000) if not any(c in among for among in alike)]
    known = [chr(c) for c in codes if unicodedata.category(chr(c)) != "Cn"]
    pairs = [pair for c in known for pair in ("a" + c, c + "a")]
    assert [ascii(pair) for pair in pairs if split_graphemes(pair) != icu(pair)] == []
