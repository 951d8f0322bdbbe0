"""Text in columns of a terminal, where a Han character is as wide as two Latin ones."""

import unicodedata
from collections.abc import Iterator, Sequence


def width(text: str) -> int:
    """The columns that text takes.

    >>> width("RoPE"), width("位置")
    (4, 4)
    """
    return sum(_columns(character) for character in text)


def pad(text: str, columns: int) -> str:
    """Fill text up with spaces to so many columns.

    >>> pad("位置", 6) + "|"
    '位置  |'
    """
    return text + " " * max(0, columns - width(text))


def wrap(text: str, columns: int) -> list[str]:
    """Break text into lines of so many columns: at spaces, hyphens, Han characters, or anywhere.

    >>> wrap("sees distances only", 10)
    ['sees', 'distances', 'only']
    >>> wrap("距離だけを見る。", 10)
    ['距離だけを', '見る。']
    """
    lines, line = [], ""
    for piece in _pieces(text, columns):
        if line and width((line + piece).rstrip()) > columns and piece not in CLOSING:
            lines.append(line.rstrip())
            line = ""
        line += piece if line else piece.lstrip()
    return [*lines, line.rstrip()] if line.strip() or not lines else lines


CLOSING = tuple("、。，；：）」．！？")
"""What no line starts with: it may stand out of its column instead."""


def table(rows: Sequence[Sequence[str]], most: Sequence[int], *, gap: int = 2) -> list[str]:
    """Lines of a table, the cells of each column wrapped to the `most` that it may take.

    >>> table([["", "rope"], ["acts", "turns queries"]], (8, 8))
    ['      rope', 'acts  turns', '      queries']
    """
    cells = [[wrap(cell, n) for cell, n in zip(row, most, strict=True)] for row in rows]
    widths = [
        max(width(line) for cell in column for line in cell) for column in zip(*cells, strict=True)
    ]
    lines: list[str] = []
    for row in cells:
        for i in range(max(len(cell) for cell in row)):
            parts = (
                pad(cell[i] if i < len(cell) else "", columns + gap)
                for cell, columns in zip(row, widths, strict=True)
            )
            lines.append("".join(parts).rstrip())
    return lines


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _pieces(text: str, columns: int) -> Iterator[str]:
    """What a line may end with: spaces, hyphens, wide characters, parts of words too long."""
    word = ""
    for character in text:
        if _columns(character) == 2 or (word and width(word) >= columns):
            if word:
                yield word
            word = ""
        word += character
        if character in " -" or _columns(character) == 2:
            yield word
            word = ""
    if word:
        yield word
