"""What a benchmark is, as data: a piece of work, ways to do it, and how exact each must be."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from torch import Tensor

Compare = Callable[[], Iterable[tuple[Tensor, Tensor]]]
"""Pairs of what was computed and what is true, in float64."""


@dataclass(frozen=True)
class Bound:
    """How far a result may be from the truth: absolute + relative * |truth|."""

    absolute: float
    relative: float = 0.0


@dataclass(frozen=True)
class Error:
    """The largest difference from the truth, and that difference as a part of its bound."""

    largest: float
    part: float

    @property
    def is_within(self) -> bool:
        """Whether every number keeps to its bound; NaN does not."""
        return self.part <= 1


@dataclass(frozen=True)
class Entry:
    """One way to do the work.

    run         what is timed
    compare     results beside the truth; None for a copy, which cannot be wrong
    bound       how far they may differ
    ours        whether it is posenc's
    convention  why another implementation has a wider bound than ours: how it rounds
    source      where it comes from: a library and its version
    """

    run: Callable[[], Any]
    compare: Compare | None = None
    bound: Bound = Bound(0.0)
    ours: bool = False
    convention: str = ""
    source: str = ""

    def error(self) -> Error | None:
        """The error of this implementation; None of a copy."""
        if self.compare is None:
            return None
        largest = part = 0.0
        for made, truth in self.compare():
            if made.shape != truth.shape:
                raise ValueError(f"a result has shape {made.shape}; the truth has {truth.shape}")
            away = (made.double() - truth).abs()
            allowed = self.bound.absolute + self.bound.relative * truth.abs()
            # torch's max keeps NaN, Python's does not
            largest = _worst(largest, float(away.max()))
            part = _worst(part, float((away / allowed).max()))
        return Error(largest, part)


def _worst(first: float, second: float) -> float:
    return second if math.isnan(second) or second > first else first


@dataclass(frozen=True)
class Setup:
    """The tensors of a case, made: its entries, the baseline first.

    missing   other implementations and why they are not timed
    sample    where a round is not a call of each entry: one round's seconds by name
    """

    entries: Mapping[str, Entry]
    missing: Mapping[str, str] = field(default_factory=dict[str, str])
    sample: Callable[[], Mapping[str, float]] | None = None


@dataclass(frozen=True)
class Request:
    """What a run wants: `quick`, the small cases alone; `peers`, other libraries too."""

    quick: bool = False
    peers: bool = False


@dataclass(frozen=True)
class Case:
    """A benchmark.

    name     as --only and the records of earlier runs have it
    group    what it is about
    what     the work and its sizes, for people
    build    makes the tensors and the entries
    size     of cases that differ in their size alone, which are called NAME-SIZE; 0: of no such
    quick    whether --quick includes it
    """

    name: str
    group: str
    what: str
    build: Callable[[Request], Setup]
    size: int = 0
    quick: bool = False

    @property
    def family(self) -> str:
        """What cases that differ in their size alone have in common."""
        return self.name.removesuffix(f"-{self.size}") if self.size else self.name


def cases_by_size(
    family: str,
    group: str,
    what: str,
    build: Callable[[int, Request], Setup],
    sizes: Iterable[int],
    *,
    quick: int,
) -> Iterable[Case]:
    """A case for each size, of which --quick includes one.

    what    with {size} in its place
    """
    for size in sizes:
        said, made = what.format(size=f"{size:,}"), partial(build, size)
        yield Case(f"{family}-{size}", group, said, made, size=size, quick=size == quick)
