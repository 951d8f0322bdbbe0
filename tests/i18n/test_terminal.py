"""Widths of text in a terminal."""

import pytest

from posenc.i18n.terminal import pad, width, wrap


def test_han_characters_are_two_columns_wide():
    assert width("位置 p") == 6
    assert pad("位置", 6) == "位置  "
    assert wrap("距離だけを見る。", 14) == ["距離だけを見", "る。"]
    assert wrap("transformer-xl", 12) == ["transformer-", "xl"]
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap("", 3) == [""]


@pytest.mark.parametrize("columns", range(4, 30))
def test_no_line_begins_with_a_comma_or_ends_with_a_bracket(columns):
    text = "色の目盛り、共通：（値は）大きい。並べ替えて、「元に」戻す；AI、了"
    lines = wrap(text, columns)
    assert "".join(lines) == text
    assert not any(line[0] in "、：）。」；" for line in lines)
    assert not any(line[-1] in "（「" for line in lines)
