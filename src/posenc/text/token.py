"""A token: the characters of a sentence that it covers, and its bytes."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Token:
    """Characters `start:end` of a sentence, or a piece of them.

    `data` is its UTF-8 bytes. Where a character is split over several tokens, each of them has the
    whole character as its `text` and says in `part` which piece it is, (2, 3) for the second of
    three. A mark that a tokenizer adds (`[CLS]`) covers nothing: its range is empty, so is `data`.
    """

    text: str
    start: int
    end: int
    data: bytes
    part: tuple[int, int] | None = None

    @property
    def label(self) -> str:
        """What is shown: the text; of a piece, the character with its part and bytes.

        A replacement mark says nothing, and neither does a blank: they are named.

        >>> Token("学", 0, 1, b"\\xe5", (1, 3)).label
        '学 1/3 E5'
        >>> Token("\\n", 0, 1, b"\\n").label, Token(" dog", 3, 7, b" dog").label
        ('␊', ' dog')
        """
        text = self.text.replace("\ufffd", "U+FFFD")
        if not any(c.isprintable() and not c.isspace() for c in text):
            text = "".join(map(_named, text))
        if self.part is None:
            return text
        index, count = self.part
        return f"{text} {index}/{count} {self.data.hex(' ').upper()}"


def _named(character: str) -> str:
    """A character that leaves no ink, as its picture or its number."""
    code = ord(character)
    if code == 0x20:
        return "␣"
    return chr(0x2400 + code) if code < 0x20 else f"U+{code:04X}"


def whole(pieces: Iterable[str], sentence: str) -> Iterator[Token]:
    """Tokens of whole characters, in order; what lies between them is left out.

    `pieces` start where they are first found, so they must not start with what is left out.

    >>> [(token.start, token.end) for token in whole(["the", "dog"], "the  dog")]
    [(0, 3), (5, 8)]
    """
    end = 0
    for piece in pieces:
        start = sentence.index(piece, end)
        end = start + len(piece)
        yield Token(piece, start, end, piece.encode())


def cut(pieces: Sequence[bytes], sentence: str) -> Iterator[Token]:
    """Tokens out of the sentence's bytes cut into pieces, wherever the cuts fall.

    >>> [token.label for token in cut([b"a\\xe5", b"\\xad", b"\\xa6"], "a学")]
    ['a学 1/3 61 E5', '学 2/3 AD', '学 3/3 A6']
    """
    ranges: list[tuple[int, int]] = []
    characters = 0  # that have begun so far
    for piece in pieces:
        begun = sum(byte & 0xC0 != 0x80 for byte in piece)
        inside = bool(piece) and piece[0] & 0xC0 == 0x80
        ranges.append((characters - inside, characters + begun))
        characters += begun
    yield from pieces_of(sentence, ranges, pieces)


def pieces_of(
    sentence: str, ranges: Sequence[tuple[int, int]], pieces: Sequence[bytes]
) -> Iterator[Token]:
    """Tokens of these ranges; neighbours that share a character are parts of one another."""
    for group in groups(ranges):
        for index, i in enumerate(group, start=1):
            start, end = ranges[i]
            part = None if len(group) == 1 else (index, len(group))
            yield Token(sentence[start:end], start, end, pieces[i], part)


def groups(ranges: Sequence[tuple[int, int]]) -> Iterator[range]:
    """Neighbours that share a character, by their numbers.

    >>> list(groups([(0, 1), (1, 3), (2, 3), (3, 4)]))
    [range(0, 1), range(1, 3), range(3, 4)]
    """
    first = 0
    for i, (_, end) in enumerate(ranges, start=1):
        if i == len(ranges) or ranges[i][0] >= end:
            yield range(first, i)
            first = i
