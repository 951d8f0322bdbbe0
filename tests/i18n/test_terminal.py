"""Widths of text in a terminal."""

from posenc.i18n.terminal import pad, width, wrap


def test_han_characters_are_two_columns_wide():
    assert width("位置 p") == 6
    assert pad("位置", 6) == "位置  "
    assert wrap("距離だけを見る。", 14) == ["距離だけを見る。"]  # no line starts with a full stop
    assert wrap("transformer-xl", 12) == ["transformer-", "xl"]
    assert wrap("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrap("", 3) == [""]
