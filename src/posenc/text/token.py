"""Tokens: the characters of a sentence that each covers, and its bytes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    """Characters `start:end` of a sentence, or some bytes of them.

    `data` is its UTF-8 bytes. If a character is split over several tokens, each has the whole
    character as its `text`, and `part` is its place among them: (2, 3) for the second of three. A
    token that the tokenizer adds, such as [CLS], covers nothing: its range and `data` are empty.
    """

    text: str
    start: int
    end: int
    data: bytes
    part: tuple[int, int] | None = None

    @property
    def label(self) -> str:
        """The text to display; for a piece of a character, with its part and bytes in hexadecimal.

        Blanks, control characters and replacement characters are shown as symbols or code points.

        >>> Token("学", 0, 1, b"\\xe5", (1, 3)).label
        '学 1/3 E5'
        >>> Token("\\n", 0, 1, b"\\n").label, Token(" dog", 3, 7, b" dog").label
        ('␊', ' dog')
        """
        text = self.text.replace("\ufffd", "U+FFFD")
        if not any(c.isprintable() and not c.isspace() for c in text):
            text = "".join(map(_name_invisible, text))
        if self.part is None:
            return text
        index, count = self.part
        return f"{text} {index}/{count} {self.bytes}"

    @property
    def bytes(self) -> str:
        """Its bytes in hexadecimal, separated by spaces."""
        return self.data.hex(" ").upper()


def _name_invisible(character: str) -> str:
    """A symbol or code point for a character that prints nothing."""
    code = ord(character)
    if code == 0x20:
        return "␣"
    return chr(0x2400 + code) if code < 0x20 else f"U+{code:04X}"


def locate_text(pieces: Iterable[str], sentence: str) -> Iterator[Token]:
    """Find `pieces` of text in a sentence, in order; the text between them is dropped.

    Each piece is the first occurrence after the previous one.

    >>> [(token.start, token.end) for token in locate_text(["the", "dog"], "the  dog")]
    [(0, 3), (5, 8)]
    """
    end = 0
    for piece in pieces:
        start = sentence.index(piece, end)
        end = start + len(piece)
        yield Token(piece, start, end, piece.encode())


def locate_bytes(pieces: Sequence[bytes], sentence: str) -> Iterator[Token]:
    """Find `pieces` of bytes, which together are the whole sentence and may split characters.

    >>> [token.label for token in locate_bytes([b"a\\xe5", b"\\xad", b"\\xa6"], "a学")]
    ['a学 1/3 61 E5', '学 2/3 AD', '学 3/3 A6']
    """
    ranges: list[tuple[int, int]] = []
    characters = 0  # started so far
    for piece in pieces:
        started = sum(byte & 0xC0 != 0x80 for byte in piece)
        inside = bool(piece) and piece[0] & 0xC0 == 0x80
        ranges.append((characters - inside, characters + started))
        characters += started
    yield from build_tokens(sentence, ranges, pieces)


def build_tokens(
    sentence: str, ranges: Sequence[tuple[int, int]], pieces: Sequence[bytes]
) -> Iterator[Token]:
    """Tokens at these ranges; neighbours that share a character become its parts."""
    for group in group_overlapping(ranges):
        for index, i in enumerate(group, start=1):
            start, end = ranges[i]
            part = None if len(group) == 1 else (index, len(group))
            yield Token(sentence[start:end], start, end, pieces[i], part)


def group_overlapping(ranges: Sequence[tuple[int, int]]) -> Iterator[range]:
    """Group neighbouring ranges that share a character, as ranges of indices.

    >>> list(group_overlapping([(0, 1), (1, 3), (2, 3), (3, 4)]))
    [range(0, 1), range(1, 3), range(3, 4)]
    """
    first = 0
    for i, (_, end) in enumerate(ranges, start=1):
        if i == len(ranges) or ranges[i][0] >= end:
            yield range(first, i)
            first = i
