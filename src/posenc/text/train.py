"""How bpe.json was made: `python -m posenc.text.train`, in a checkout of the project.

The text is our own: the READMEs and docs in four languages as they were at COMMIT, taken out of
git so that it can be done again, without their code and tables; and everyday sentences, in
sentences.txt.
"""

import json
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from pathlib import Path

from posenc.text.bpe import FILE, SPLIT, spelled

COMMIT = "a4d39d1a11d10f1e90d950a80449b1bd7c9b5672"
DOCS = [
    "README.md",
    "README.ja.md",
    "README.zh-Hans.md",
    "README.zh-Hant.md",
    "CONTRIBUTING.md",
    "docs/architecture.md",
    "docs/checks.md",
    "docs/glossary.md",
    "docs/seeds.md",
]
SENTENCES = Path(__file__).with_name("sentences.txt")
CHARACTERS, WORDS = 1_250, 750
"""How many merges make characters, and how many then make words of them."""

NO_PROSE = re.compile(
    r"^```.*?^```|`[^`\n]*`|^\|.*?$|^<!--.*?-->$|\]\([^)]*\)", re.DOTALL | re.MULTILINE
)
"""Code, tables, comments and the addresses of links in Markdown."""


def corpus() -> str:
    """The text that is learned from."""
    folder = Path(__file__).parent
    texts = [
        subprocess.check_output(["git", "show", f"{COMMIT}:{name}"], cwd=folder).decode()
        for name in DOCS
    ]
    prose = [NO_PROSE.sub("", text) for text in texts]
    return "\n".join([*prose, SENTENCES.read_text(encoding="utf-8")])


def learned(text: str, characters: int = CHARACTERS, words: int = WORDS) -> list[tuple[int, int]]:
    """The merges: again and again the pair that is seen most often (of equals, the smallest).

    First those within characters, so that a character of a small text is a token before its
    favourite phrases are; then those of whole characters that are seen twice or more. So a token is
    never the end of one character and the start of the next, and its label can say what it is.

    >>> spelled(learned("the then other", characters=0, words=2))[256:]
    (b'he', b'the')
    """
    counts = Counter(SPLIT.findall(text))
    for piece, times in list(counts.items()):
        if piece[0] == " " and piece != " ":
            counts[piece[1:]] += times  # the same word may begin a sentence
    pieces = [[*piece.encode()] for piece in counts]
    times = [*counts.values()]
    seen: Counter[tuple[int, int]] = Counter()
    where: defaultdict[tuple[int, int], set[int]] = defaultdict(set)
    for i, piece in enumerate(pieces):
        _count(piece, times[i], i, seen, where)
    merges: list[tuple[int, int]] = []
    made = [*spelled([])]
    for most, least, fits in ((characters, 1, _within), (characters + words, 2, _whole)):
        while len(merges) < most:
            fitting = (p for p in seen if seen[p] >= least and fits(made[p[0]] + made[p[1]]))
            pair = min(fitting, key=lambda pair: (-seen[pair], pair), default=None)
            if pair is None:
                break
            merges.append(pair)
            made.append(made[pair[0]] + made[pair[1]])
            for i in where.pop(pair):
                _count(pieces[i], -times[i], i, seen, where)
                pieces[i] = _merged(pieces[i], pair, 255 + len(merges))
                _count(pieces[i], times[i], i, seen, where)
    return merges


def _within(word: bytes) -> bool:
    """Whether these bytes are of one character: one that starts it at most, and then first."""
    return all(byte & 0xC0 == 0x80 for byte in word[1:]) and word[0] >= 0x80


def _whole(word: bytes) -> bool:
    """Whether these bytes are whole characters."""
    try:
        word.decode()
    except UnicodeDecodeError:
        return False
    return True


def _count(
    piece: list[int],
    times: int,
    i: int,
    seen: Counter[tuple[int, int]],
    where: defaultdict[tuple[int, int], set[int]],
) -> None:
    for pair in pairwise(piece):
        seen[pair] += times
        where[pair].add(i)
        if not seen[pair]:
            del seen[pair]


def _merged(piece: Iterable[int], pair: tuple[int, int], number: int) -> list[int]:
    """The piece with each of these pairs, left to right, as one token."""
    tokens: list[int] = []
    for token in piece:
        if tokens and (tokens[-1], token) == pair:
            tokens[-1] = number
        else:
            tokens.append(token)
    return tokens


def main() -> None:
    """Write bpe.json."""
    text = corpus()
    made = {
        "made by": "python -m posenc.text.train",
        "made on": datetime.now(UTC).date().isoformat(),
        "docs": DOCS,
        "docs at commit": COMMIT,
        "sha256 of sentences.txt": sha256(SENTENCES.read_bytes()).hexdigest(),
        "sha256 of all the text": sha256(text.encode()).hexdigest(),
        "merges": learned(text),
    }
    FILE.write_text(json.dumps(made, separators=(",", ":"), ensure_ascii=False) + "\n", "utf-8")
    print(f"{len(made['merges'])} merges of {len(text)} characters written to {FILE}")


if __name__ == "__main__":
    main()
