"""The list of benchmarks, and choosing from it."""

from collections.abc import Iterable

from posenc.bench import (
    attentions,
    conversions,
    decoding,
    lab,
    models,
    rotations,
    startup,
    swaps,
    tables,
)
from posenc.bench.case import Case
from posenc.core.hints import did_you_mean, nearest

CASES: tuple[Case, ...] = (
    *rotations.CASES,
    *tables.CASES,
    *attentions.CASES,
    *decoding.CASES,
    *models.CASES,
    *swaps.CASES,
    *lab.CASES,
    *conversions.CASES,
    *startup.CASES,
)


def choose(only: Iterable[str] = (), *, quick: bool = False) -> list[Case]:
    """The cases whose name or group contains one of these words; all if there are none.

    >>> [case.name for case in choose(["decode"])]
    ['decode-float32', 'decode-bfloat16']
    """
    words = list(only)
    for word in words:
        if not any(_is_meant(case, word) for case in CASES):
            names = sorted({name for case in CASES for name in (case.family, case.group)})
            hint = did_you_mean(nearest(word, names)) or f"; there are {', '.join(names)}"
            raise ValueError(f"no benchmark is called {word!r}{hint}")
    chosen = [case for case in CASES if not words or any(_is_meant(case, word) for word in words)]
    return [case for case in chosen if case.quick] if quick else chosen


def _is_meant(case: Case, word: str) -> bool:
    return word.lower() in f"{case.name} {case.group}".lower()
