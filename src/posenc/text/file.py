"""Read tokenizers from a Hugging Face tokenizer.json. Needs the library tokenizers."""

from __future__ import annotations  # tokenizers is imported only when needed

import json
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from posenc.i18n import N_, translatable
from posenc.text.bpe import BYTES
from posenc.text.token import Token, build_tokens, group_overlapping, locate_bytes

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


@dataclass(frozen=True)
class FileTokeniser:
    """A tokenizer of the library tokenizers, as a function from a sentence to its tokens."""

    tokenizer: Tokenizer
    byte_level: bool

    def __call__(self, sentence: str) -> Iterator[Token]:
        """The tokens of a sentence; those that the tokenizer adds, such as [CLS], cover nothing."""
        with _convert_errors(N_("sentence must be text that this tokenizer accepts: {error}")):
            encoding = self.tokenizer.encode(sentence)
        names = [*self._decode(encoding)]
        added = encoding.special_tokens_mask
        pieces = [b"" if a else name for name, a in zip(names, added, strict=True)]
        if b"".join(pieces) == b" " + sentence.encode():  # the tokenizer added a space
            first = next(i for i, piece in enumerate(pieces) if piece)
            pieces[first] = pieces[first][1:]
        if b"".join(pieces) == sentence.encode():
            found = locate_bytes(pieces, sentence)
        else:  # it dropped or changed something: use its own offsets
            ranges = [*_order_offsets(encoding)]
            found = build_tokens(sentence, ranges, [*_select_bytes(sentence, ranges, pieces)])
        for token, name in zip(found, names, strict=True):
            empty = replace(token, text=name.decode(errors="backslashreplace"), data=b"")
            yield token if token.end > token.start else empty

    def _decode(self, encoding: Encoding) -> Iterator[bytes]:
        """The bytes of each token, without the letters that stand for spaces and bytes."""
        literal = self.tokenizer.get_added_tokens_decoder()
        for number, token in zip(encoding.ids, encoding.tokens, strict=True):
            if number in literal:
                yield token.encode()
            elif self.byte_level and all(letter in BYTES for letter in token):
                yield bytes(BYTES[letter] for letter in token)
            elif re.fullmatch("<0x[0-9A-F]{2}>", token):
                yield bytes([int(token[3:5], 16)])
            else:
                yield token.replace("\u2581", " ").encode()


@contextmanager
def _convert_errors(template: str, **values: object) -> Generator[None]:
    """Raise whatever goes wrong in the library, including panics, as a ValueError."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # a Rust panic is not an Exception
        raise translatable(ValueError, template, error=error, **values) from error


def _order_offsets(encoding: Encoding) -> Iterator[tuple[int, int]]:
    """The offsets of the tokens in order; added tokens, whose offsets are 0, are put in place."""
    start = end = 0
    for (first, last), added in zip(encoding.offsets, encoding.special_tokens_mask, strict=True):
        if added or last <= first:
            yield end, end
        else:
            start, end = max(first, start), max(last, end)
            yield start, end


def _select_bytes(
    sentence: str, ranges: Sequence[tuple[int, int]], pieces: Sequence[bytes]
) -> Iterator[bytes]:
    """The bytes of the sentence for each token; its own bytes if tokens share a character."""
    for group in group_overlapping(ranges):
        for i in group:
            start, end = ranges[i]
            yield pieces[i] if len(group) > 1 else sentence[start:end].encode()


def from_file(path: str | PathLike[str]) -> FileTokeniser:
    """Read a tokenizer.json, for `tokenise(sentence, by=from_file(path))`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"tokenizer must be a readable file; {path}: {error.strerror}") from error
    except ValueError as error:
        raise ValueError(f"tokenizer must be JSON; {path}: {error}") from error
    return from_json(text, str(path))


def from_json(text: str, name: str = "the text") -> FileTokeniser:
    """Read the text of a tokenizer.json; `name` stands for it in messages.

    >>> from_json("{}")
    Traceback (most recent call last):
    ValueError: tokenizer must be a Hugging Face tokenizer.json; the text: Model missing. at ...
    """
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "tokenizers is not installed; a tokenizer.json needs: pip install tokenizers",
            name="tokenizers",
        ) from error
    try:
        parts = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"tokenizer must be JSON; {name}: {error}") from error
    with _convert_errors(
        "tokenizer must be a Hugging Face tokenizer.json; {name}: {error}", name=name
    ):
        tokenizer = Tokenizer.from_str(text)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    steps = [parts.get(step) for step in ("normalizer", "pre_tokenizer", "decoder")]
    return FileTokeniser(tokenizer, any(_has_byte_level(step) for step in steps))


def _has_byte_level(step: object) -> bool:
    """Whether a step of the tokenizer, or a step inside it, writes bytes as letters."""
    if isinstance(step, dict):
        values = cast(dict[str, object], step)
        return values.get("type") == "ByteLevel" or any(map(_has_byte_level, values.values()))
    return isinstance(step, list) and any(map(_has_byte_level, cast(list[object], step)))
