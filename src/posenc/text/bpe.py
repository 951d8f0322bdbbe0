"""A small byte-level BPE of our own, to see what a subword tokeniser does (Sennrich et al., 2016).

Its merges were learned by `posenc.text.train` from this project's own text in four languages;
bpe.json has them and says from what. It is for teaching: a model's own tokens come `from_file`.
"""

import heapq
import json
import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path

FILE = Path(__file__).with_name("bpe.json")

HAN = r"\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
KANA = r"\u3041-\u309f", r"\u30a0-\u30ff\uff66-\uff9f"
SPLIT = re.compile(
    rf"[{HAN}]+|[{KANA[0]}]+|[{KANA[1]}]+"  # a run of one script, for these have no spaces
    rf"| ?(?:(?![{HAN}{KANA[0]}{KANA[1]}])[^\W\d_])+"  # a word and the space before it
    r"| ?\d{1,3}| ?(?:[^\w\s]|_)+|\s+(?=\s)|\s+"  # digits in threes, marks, blanks but the last
)
"""No merge goes across these pieces."""


@cache
def merges() -> tuple[tuple[int, int], ...]:
    """The pairs that are merged, the most important first; merge i makes token 256 + i."""
    return tuple((a, b) for a, b in json.loads(FILE.read_text(encoding="utf-8"))["merges"])


@cache
def vocabulary() -> tuple[bytes, ...]:
    """The bytes of each token: 256 single ones, then what the merges make."""
    return spelled(merges())


def spelled(pairs: Iterable[tuple[int, int]]) -> tuple[bytes, ...]:
    """The vocabulary that these merges make.

    >>> spelled([(116, 104), (256, 101)])[256:]
    (b'th', b'the')
    """
    words = [bytes([byte]) for byte in range(256)]
    for a, b in pairs:
        words.append(words[a] + words[b])
    return tuple(words)


def encode(text: str) -> list[int]:
    """The numbers of the text's tokens.

    >>> pieces("position 位置")
    [b'position', b' ', b'\\xe4\\xbd\\x8d\\xe7\\xbd\\xae']
    """
    return [number for piece in SPLIT.findall(text) for number in _numbers(piece)]


def decode(numbers: Sequence[int]) -> str:
    """The text of these tokens, which must not end inside a character.

    >>> decode(encode("学习 positional encodings"))
    '学习 positional encodings'
    """
    return b"".join(vocabulary()[number] for number in numbers).decode()


def pieces(text: str) -> list[bytes]:
    """The text's bytes, cut into its tokens."""
    return [vocabulary()[number] for number in encode(text)]


@cache
def _ranks() -> dict[tuple[int, int], int]:
    return {pair: rank for rank, pair in enumerate(merges())}


def _numbers(piece: str) -> tuple[int, ...]:
    """Words come again; long pieces do not, and would fill the memory of a server."""
    return _remembered(piece) if len(piece) <= 32 else _encoded(piece)


@lru_cache(maxsize=8192)
def _remembered(piece: str) -> tuple[int, ...]:
    return _encoded(piece)


def _encoded(piece: str) -> tuple[int, ...]:
    """The tokens of one piece: the pair that was learned first is merged first, left to right.

    Pairs wait in a heap, tokens are linked to their neighbours, so that a piece of n bytes takes
    n log n steps; a pair whose tokens have changed since is left lying.
    """
    ranks = _ranks()
    tokens = [*piece.encode()]
    after = [*range(1, len(tokens) + 1)]
    before = [*range(-1, len(tokens) - 1)]
    waiting = [(ranks[pair], i) for i, pair in enumerate(pairwise(tokens)) if pair in ranks]
    heapq.heapify(waiting)
    while waiting:
        rank, left = heapq.heappop(waiting)
        right = after[left]
        if right == len(tokens) or ranks.get((tokens[left], tokens[right])) != rank:
            continue
        tokens[left], tokens[right] = 256 + rank, -1
        after[left] = after[right]
        if after[left] < len(tokens):
            before[after[left]] = left
        for i in (before[left], left):
            j = after[i] if i >= 0 else len(tokens)
            if j < len(tokens) and (tokens[i], tokens[j]) in ranks:
                heapq.heappush(waiting, (ranks[tokens[i], tokens[j]], i))
    return tuple(token for token in tokens if token >= 0)
