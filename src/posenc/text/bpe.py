"""A small byte-level BPE, to show what a subword tokeniser does (Sennrich et al., 2016).

`tokenizer.json` is in Hugging Face's format, so `tokenizers` reads it as well; here it is read by
the standard library alone. Its merges were learned from this project's own documentation and
everyday sentences in four languages: first those within a character, then those of whole
characters, so a token never holds the end of one character and the start of the next. It is for
teaching: for a model's own tokens use `from_file`.
"""

import heapq
import json
import re
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("tokenizer.json")

PRINTED = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
REST = [byte for byte in range(256) if byte not in PRINTED]
BYTES = {chr(b): b for b in PRINTED} | {chr(256 + i): b for i, b in enumerate(REST)}
"""The byte that each letter of a byte-level vocabulary stands for: Ġ is a space (GPT-2, 2019)."""


@cache
def _tokenizer() -> dict[str, Any]:
    return json.loads(FILE.read_text(encoding="utf-8"))


@cache
def vocabulary() -> tuple[bytes, ...]:
    """The bytes of each token by its id: the 256 single bytes, then the result of each merge."""
    return tuple(bytes(map(BYTES.__getitem__, token)) for token in _tokenizer()["model"]["vocab"])


@cache
def merges() -> dict[tuple[int, int], int]:
    """Pairs of token ids to merge, with the id of the result; a lower id is merged first."""
    ids = _tokenizer()["model"]["vocab"]
    pairs = (merge.split(" ") for merge in _tokenizer()["model"]["merges"])
    return {(ids[a], ids[b]): ids[a + b] for a, b in pairs}


@cache
def pattern() -> re.Pattern[str]:
    """The pieces of a text that no merge crosses.

    They are words with the space before them, runs of Han or of kana, up to three digits,
    punctuation, and blanks.
    """
    return re.compile(_tokenizer()["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"])


def encode(text: str) -> list[int]:
    """The ids of the tokens of `text`."""
    return [token for piece in pattern().findall(text) for token in _encode_piece(piece)]


def split_bytes(text: str) -> list[bytes]:
    """The UTF-8 bytes of `text`, split into tokens.

    >>> split_bytes("position 位置")
    [b'position', b' ', b'\\xe4\\xbd\\x8d\\xe7\\xbd\\xae']
    """
    return [vocabulary()[token] for token in encode(text)]


def _encode_piece(piece: str) -> tuple[int, ...]:
    """Cache words, which recur; long pieces do not, and would fill a server's memory."""
    return _merge_cached(piece) if len(piece) <= 32 else _merge(piece)


def _merge(piece: str) -> tuple[int, ...]:
    """Merge the bytes of one piece: the pair learned first goes first, from left to right.

    Candidate pairs are in a heap and tokens in a linked list, so n bytes take O(n log n) steps. A
    pair whose tokens have changed since it was pushed is skipped.
    """
    results = merges()
    tokens = [*piece.encode()]
    after = [*range(1, len(tokens) + 1)]
    before = [*range(-1, len(tokens) - 1)]
    heap = [(results[pair], i) for i, pair in enumerate(pairwise(tokens)) if pair in results]
    heapq.heapify(heap)
    while heap:
        merged, left = heapq.heappop(heap)
        right = after[left]
        if right == len(tokens) or results.get((tokens[left], tokens[right])) != merged:
            continue
        tokens[left], tokens[right] = merged, -1
        after[left] = after[right]
        if after[left] < len(tokens):
            before[after[left]] = left
        for i in (before[left], left):
            j = after[i] if i >= 0 else len(tokens)
            if j < len(tokens) and (tokens[i], tokens[j]) in results:
                heapq.heappush(heap, (results[tokens[i], tokens[j]], i))
    return tuple(token for token in tokens if token >= 0)


_merge_cached = lru_cache(maxsize=8192)(_merge)
