"""Text in columns of a terminal, where a Han character is as wide as two Latin ones."""

import unicodedata
from collections.abc import Callable, Sequence


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


NO_BEGINNING = frozenset(" ：。，、；！？）」』】・ー…．")
NO_END = frozenset("（「『【")
"""Characters that may not begin, or end, a line."""


def wrap(text: str, room: float, measure: Callable[[str], float] = width) -> list[str]:
    """Break text into lines no wider than `room`: at spaces, hyphens and Han characters.

    measure  the width of a line, by default in columns

    A word that is too long for any line is broken anywhere.

    >>> wrap("sees distances only", 10)
    ['sees', 'distances', 'only']
    >>> wrap("打乱后再还原：相差", 12)
    ['打乱后再还', '原：相差']
    """
    lines = [""]
    for piece in _pieces(text):
        if lines[-1] and measure((lines[-1] + piece).rstrip()) > room:
            lines.append("")
        lines[-1] += piece
        while measure(lines[-1].rstrip()) > room and len(lines[-1]) > 1:
            line = lines.pop()
            end = next((n for n in range(len(line) - 1, 1, -1) if measure(line[:n]) <= room), 1)
            lines += [line[:end], line[end:]]
    return [line.rstrip() for line in lines]


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


def _pieces(text: str) -> list[str]:
    """Split into words with the space after them, and wide characters with their punctuation.

    >>> _pieces("one 位置、（二） Transformer-XL 1e-5")
    ['one ', '位', '置、', '（二） ', 'Transformer-', 'XL ', '1e-5']
    """
    pieces: list[str] = []
    for character in text:
        last = pieces[-1][-1] if pieces else " "
        hyphenated = last == "-" and character.isalpha()
        # a line may break after a space, within a compound, and next to anything wide
        apart = last == " " or hyphenated or width(last + character) > 2
        if pieces and (last in NO_END or character in NO_BEGINNING or not apart):
            pieces[-1] += character
        else:
            pieces.append(character)
    return pieces
