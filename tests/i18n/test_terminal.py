"""Widths of text in a terminal."""

from posenc.i18n.terminal import padded, width, wrapped


def test_han_characters_are_two_columns_wide():
    assert width("位置 p") == 6
    assert padded("位置", 6) == "位置  "
    assert wrapped("距離だけを見る。", 14) == [
        "距離だけを見る。"
    ]  # no line starts with a full stop
    assert wrapped("transformer-xl", 12) == ["transformer-", "xl"]
    assert wrapped("abcdefgh", 3) == ["abc", "def", "gh"]
    assert wrapped("", 3) == [""]
