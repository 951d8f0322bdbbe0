"""What the lab's models learn: each task draws examples of a length, made of symbols 0, 1, 2.

A `Task` draws a prompt and its answer; a `TextTask` takes windows of a text.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal, TypeAlias

import numpy as np

from posenc.core.hints import did_you_mean, nearest

Rng: TypeAlias = "np.random.Generator"
Example: TypeAlias = tuple[list[int], list[int]]
"""The symbols of a prompt and of its answer."""

TEN = 10
"""The digits, which are the symbols 0 .. 9 of tasks with numbers."""
PASSKEY = 5
"""Digits of a passkey."""
REACH = 8
"""The farthest neighbour that indirect indexing asks for."""


@dataclass(frozen=True)
class Task:
    """A task of prompts and answers.

    summary   what is asked
    draw      makes an example: (rng, length, symbols) -> prompt, answer
    length    what its length counts
    extra     symbols beside those that examples consist of: digits, marks
    symbols   symbols that examples consist of; None: as many as a run says
    distinct  whether the symbols of an example differ, so that there must be as many as its length
    least     the shortest length
    source    the paper that it is from
    """

    summary: str
    draw: Callable[[Rng, int, int], Example]
    length: str = "symbols"
    extra: int = 0
    symbols: int | None = None
    distinct: bool = False
    least: int = 1
    source: str = ""
    kind: Literal["question"] = "question"


@dataclass(frozen=True)
class TextTask:
    """A task of windows of a text: the next character, or those that are masked."""

    summary: str
    causal: bool
    length: str = "characters"
    least: int = 2
    source: str = ""
    kind: Literal["text"] = "text"


def draw_distinct(rng: Rng, count: int, symbols: int) -> list[int]:
    """So many different symbols in random order."""
    return rng.permutation(symbols)[:count].tolist()


def draw_unique_copy(rng: Rng, length: int, symbols: int) -> Example:
    """a b c -> a b c, of different symbols."""
    text = draw_distinct(rng, length, symbols)
    return text, text


def draw_repeat_copy(rng: Rng, length: int, symbols: int) -> Example:
    """a b a a -> a b a a: each symbol occurs many times."""
    text = rng.integers(symbols, size=length).tolist()
    return text, text


def draw_reverse(rng: Rng, length: int, symbols: int) -> Example:
    """a b c -> c b a."""
    text = rng.integers(symbols, size=length).tolist()
    return text, text[::-1]


def draw_sort(rng: Rng, length: int, symbols: int) -> Example:
    """c a b -> a b c, of different symbols."""
    text = draw_distinct(rng, length, symbols)
    return text, sorted(text)


def draw_addition(rng: Rng, length: int, _symbols: int) -> Example:
    """7 5 + 3 8 -> 1 1 3: `length` digits each, the sum one more; the largest digit first."""
    prompt, answer = draw_reversed_addition(rng, length, _symbols)
    return [*prompt[:length][::-1], TEN, *prompt[length + 1 :][::-1]], answer[::-1]


def draw_reversed_addition(rng: Rng, length: int, _symbols: int) -> Example:
    """5 7 + 8 3 -> 3 1 1: the smallest digit first, as one adds by hand."""
    a, b = rng.integers(TEN, size=(2, length)).tolist()
    answer: list[int] = []
    carry = 0
    for x, y in zip(a, b, strict=True):
        carry, digit = divmod(x + y + carry, TEN)
        answer.append(digit)
    return [*a, TEN, *b], [*answer, carry]


def draw_parity(rng: Rng, length: int, _symbols: int) -> Example:
    """0 1 1 1 -> 1: whether the number of ones is odd."""
    bits = rng.integers(2, size=length).tolist()
    return bits, [sum(bits) % 2]


def draw_majority(rng: Rng, length: int, _symbols: int) -> Example:
    """0 1 1 -> 1: the more frequent bit; a tie is decided by changing one of them."""
    bits = rng.integers(2, size=length)
    if 2 * bits.sum() == length:
        place = rng.integers(length)
        bits[place] = 1 - bits[place]
    return bits.tolist(), [int(2 * bits.sum() > length)]


def draw_flip_flop(rng: Rng, length: int, _symbols: int) -> Example:
    """w 1 i 0 i 1 r -> 1: what was written last; i is to be ignored. So many instructions."""
    write, ignore, read = 2, 3, 4
    prompt, memory = list[int](), 0
    for step in range(length - 1):
        bit = int(rng.integers(2))
        writes = step == 0 or rng.random() < 0.2
        memory = bit if writes else memory
        prompt += [write if writes else ignore, bit]
    return [*prompt, read], [memory]


def draw_counting(rng: Rng, length: int, symbols: int) -> Example:
    """b a b c ? b -> 2: how often a symbol occurs, 0 to 9 times."""
    asked = int(rng.integers(symbols))
    text = (asked + rng.integers(1, symbols, size=length)) % symbols
    count = int(rng.integers(min(length, TEN - 1) + 1))
    text[rng.permutation(length)[:count]] = asked
    return [*text.tolist(), symbols + TEN, asked], [symbols + count]


def draw_recall(rng: Rng, length: int, symbols: int) -> Example:
    """a 3 b 7 c 1 ? b -> 7: the value of a key, of so many pairs."""
    keys = draw_distinct(rng, length, symbols)
    values = (symbols + rng.integers(TEN, size=length)).tolist()
    place = int(rng.integers(length))
    pairs = [each for pair in zip(keys, values, strict=True) for each in pair]
    return [*pairs, symbols + TEN, keys[place]], [values[place]]


def draw_indexing(rng: Rng, length: int, symbols: int) -> Example:
    """a b c d ? b +2 -> d: the symbol so many places before or after another."""
    text = draw_distinct(rng, length, symbols)
    place, other = (int(each) for each in rng.permutation(length)[:2])
    other = min(max(other, place - REACH), place + REACH)
    shift = symbols + 1 + REACH + other - place
    return [*text, symbols, text[place], shift], [text[other]]


def draw_neighbour(rng: Rng, length: int, symbols: int) -> Example:
    """a b c d ? b -> c: the symbol after another."""
    text = draw_distinct(rng, length, symbols)
    place = int(rng.integers(length - 1))
    return [*text, symbols, text[place]], [text[place + 1]]


def draw_left_neighbour(rng: Rng, length: int, symbols: int) -> Example:
    """a b c d ? c -> b: the symbol before another."""
    text = draw_distinct(rng, length, symbols)
    place = int(rng.integers(1, length))
    return [*text, symbols, text[place]], [text[place - 1]]


def draw_passkey(rng: Rng, length: int, symbols: int) -> Example:
    """… ( 4 0 7 7 2 ) … -> 4 0 7 7 2: digits somewhere in a text that repeats itself."""
    text = (np.arange(length) % symbols).tolist()
    key = (symbols + rng.integers(TEN, size=PASSKEY)).tolist()
    start = int(rng.integers(length - PASSKEY - 1))
    text[start : start + PASSKEY + 2] = [symbols + TEN, *key, symbols + TEN + 1]
    return text, key


LACOCO = "Huang et al., A Formal Framework for Length Generalization, ICLR 2025"
TASKS: dict[str, Task | TextTask] = {
    "unique-copy": Task("copy different symbols", draw_unique_copy, distinct=True, source=LACOCO),
    "repeat-copy": Task("copy symbols that recur", draw_repeat_copy, symbols=2, source=LACOCO),
    "reverse": Task("write symbols backwards", draw_reverse, symbols=TEN),
    "sort": Task("sort different symbols", draw_sort, distinct=True, source=LACOCO),
    "addition": Task(
        "add two numbers, largest digit first", draw_addition, "digits", extra=1, symbols=TEN
    ),
    "reversed-addition": Task(
        "add two numbers, smallest digit first",
        draw_reversed_addition,
        "digits",
        extra=1,
        symbols=TEN,
    ),
    "parity": Task("whether the ones are odd in number", draw_parity, symbols=2, source=LACOCO),
    "majority": Task("the more frequent bit", draw_majority, symbols=2, source=LACOCO),
    "flip-flop": Task(
        "the bit that was written last",
        draw_flip_flop,
        "instructions",
        extra=3,
        symbols=2,
        least=2,
        source="Liu et al., Exposing Attention Glitches with Flip-Flop Language Modeling, 2023",
    ),
    "counting": Task("how often a symbol occurs", draw_counting, extra=TEN + 1, symbols=16),
    "recall": Task("the value of a key", draw_recall, "pairs", extra=TEN + 1, distinct=True),
    "indexing": Task(
        "the symbol some places from another",
        draw_indexing,
        extra=2 * REACH + 2,
        distinct=True,
        least=2,
        source="Gopalakrishnan et al., Decoupling the What and Where, 2025",
    ),
    "right-neighbour": Task(
        "the symbol after another", draw_neighbour, extra=1, distinct=True, least=2
    ),
    "left-neighbour": Task(
        "the symbol before another", draw_left_neighbour, extra=1, distinct=True, least=2
    ),
    "passkey": Task(
        "digits hidden in a text",
        draw_passkey,
        extra=TEN + 2,
        symbols=16,
        least=PASSKEY + 3,
        source="Mohtashami and Jaggi, Landmark Attention, 2023",
    ),
    "causal-lm": TextTask("the next character of a text", causal=True),
    "masked-lm": TextTask("masked characters of a text", causal=False),
}
"""Every task by name."""


def find_task(name: str) -> Task | TextTask:
    """The task of this name.

    >>> find_task("sort").summary
    'sort different symbols'
    >>> find_task("sorting")
    Traceback (most recent call last):
    ValueError: no task is called 'sorting'; did you mean sort? `posenc lab list` shows every name
    """
    if name not in TASKS:
        hint = did_you_mean(nearest(name, TASKS)) or ";"
        raise ValueError(f"no task is called {name!r}{hint} `posenc lab list` shows every name")
    return TASKS[name]


CHARACTERS = "\n" + "".join(map(chr, range(32, 127)))
"""What a text consists of; any other character is written as its last."""


@cache
def read_text(part: Literal["train", "test"]) -> np.ndarray:
    """Python's own documentation as indices of CHARACTERS: nine tenths to train on, or the rest."""
    from pydoc_data.topics import topics

    index = {character: i for i, character in enumerate(CHARACTERS)}
    text = "\n".join(topics[name] for name in sorted(topics))
    symbols = np.array([index.get(each, len(CHARACTERS) - 1) for each in text])
    end = len(symbols) * 9 // 10
    return symbols[:end] if part == "train" else symbols[end:]


@cache
def digest_text() -> str:
    """Which text this is: it differs between versions of Python."""
    both = np.concatenate([read_text("train"), read_text("test")]).astype(np.uint8)
    return hashlib.sha256(both.tobytes()).hexdigest()[:12]


@cache
def guess_loss() -> float:
    """The loss, in nats, of guessing characters by how frequent they are."""
    counts = np.bincount(read_text("train"), minlength=len(CHARACTERS)) + 1
    p = counts / counts.sum()
    truth = np.bincount(read_text("test"), minlength=len(CHARACTERS))
    return float(-(truth * np.log(p)).sum() / truth.sum())
