"""Reading off a value which preset of AxialRoPE made it, and with which arguments."""

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from posenc.encodings import AxialRoPE

Reading = tuple[str, dict[str, Any]]


def readings(rope: AxialRoPE) -> Iterator[Reading]:
    """Presets that may make this value, each with its arguments: to be tried, in this order.

    >>> next(readings(AxialRoPE.split(8, base=100.0)))[1]["base"]
    100.0
    """
    w, pairs = rope.frequencies, len(rope.frequencies)
    blocks = [(axis, len(list(pair))) for axis, pair in groupby(rope.axis_of_pair)]
    order, shares = (tuple(part) for part in zip(*blocks, strict=True))
    common: dict[str, Any] = {"dim": rope.dim, "pairing": rope.pairing}
    equal = shares == (rope.dim // (2 * rope.axes),) * rope.axes
    for base in _bases(w[1:2], shares[0]):
        split = {"axes": rope.axes, "base": base, "order": order}
        yield "split", common | split | {"shares": None if equal else shares}
    sections = tuple(rope.axis_of_pair.count(axis) for axis in range(rope.axes))
    rotary_dim = None if 2 * pairs == rope.dim else 2 * pairs
    for base in _bases(w[1:2], pairs):
        for turns in (False, True):
            chunks = {"sections": sections, "interleaved": turns, "base": base}
            yield "mrope", common | chunks | {"rotary_dim": rotary_dim}
    for base in _bases(w[pairs // 2 : pairs // 2 + 1], pairs):
        yield "pixtral", {"dim": rope.dim, "base": base}
    for base in _bases([each / (2 * math.pi) for each in w[1:2]], pairs // 2):
        yield "dinov3", {"dim": rope.dim, "base": base}


def _bases(second: Any, count: int) -> Iterator[float]:
    """The base of so many frequencies by the second of them, base^(-1/count): rounded, as it is."""
    for w in second:
        if 0 < w < 1:
            base = w ** -float(count)
            yield float(f"{base:.10g}")
            yield base
    yield 10_000.0  # one pair alone does not say
