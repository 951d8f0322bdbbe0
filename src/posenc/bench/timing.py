"""Timing functions side by side, and whether the timings can be trusted."""

import gc
import math
import os
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from statistics import median, quantiles
from typing import Any

from posenc.lab.engines import count_cores

Work = Callable[[], Any]
Pick = Callable[[list[float]], float]

STEADY = 0.15
"""The largest spread, as a part of the median, of rounds that agree."""

SAMPLE = 0.002
"""Seconds that one sample should take at least: shorter work is repeated within it, so that
neither the clock's resolution nor an interrupt decides."""


def time_interleaved(
    work: Mapping[str, Work],
    *,
    rounds: int,
    most: int | None = None,
    seconds: float = math.inf,
    sample: float = 0.0,
) -> dict[str, list[float]]:
    """The seconds of each function in each round: they take turns, every second round backwards.

    Each is called once before it is timed: what the function before it left in the caches, or took
    from the heap, would be paid by all but the first and the last, which follow themselves.

    rounds   how many rounds
    most     go on up to this many while all of it has taken less than `seconds`
    sample   repeat work that is shorter than this within a round, and count one of the repeats

    >>> times = time_interleaved({"a": int, "b": str}, rounds=3)
    >>> {name: len(each) for name, each in times.items()}
    {'a': 3, 'b': 3}
    """
    times: dict[str, list[float]] = {name: [] for name in work}
    with _without_collection():
        for function in work.values():  # code is loaded
            function()
        loops = {name: _count_loops(function, sample) for name, function in work.items()}
        start = time.perf_counter()
        order = list(work)
        for turn in range(most or rounds):
            if turn >= rounds and time.perf_counter() - start >= seconds:
                break
            for name in order:
                work[name]()
                times[name].append(_time(work[name], loops[name]))
            order.reverse()
    return times


def _time(function: Work, loops: int) -> float:
    start = time.perf_counter()
    for _ in range(loops - 1):
        function()
    result = function()
    elapsed = time.perf_counter() - start
    del result  # freeing a large result is not part of making it
    return elapsed / loops


def _count_loops(function: Work, sample: float) -> int:
    """How often to repeat a function, so that it takes `sample` seconds."""
    loops = 1
    while sample and loops < 2**16 and (once := _time(function, loops)) * loops < sample:
        loops = max(2 * loops, math.ceil(sample / once) if once else 0)
    return loops


@contextmanager
def _without_collection() -> Generator[None]:
    """No garbage collection in between, which would be paid by whoever happens to run."""
    enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def spread(times: list[float]) -> float | None:
    """The interquartile range of these times relative to their median; None of a single time.

    >>> round(spread([1.0, 1.0, 1.1, 1.2, 9.0]), 3)
    0.182
    """
    if len(times) < 2:
        return None
    first, middle, third = quantiles(times, n=4, method="inclusive")
    return (third - first) / middle if middle else 0.0


def machine_load() -> dict[str, Any]:
    """The load average of the last minute (None where there is none), and the number of cores.

    `busy` if other programs take more than half of the cores.
    """
    cores = count_cores()
    try:
        load = os.getloadavg()[0]
    except (AttributeError, OSError):  # on Windows; where the system does not tell
        load = None
    return {"load": load, "cores": cores, "busy": load is not None and load > cores / 2}


def is_steady(times: list[float]) -> bool:
    """Whether rounds agree: their spread is known, and at most STEADY."""
    part = spread(times)
    return part is not None and part <= STEADY


def summarize(
    times: Mapping[str, list[float]], errors: Mapping[str, float | None], *, pick: Pick = median
) -> dict[str, dict[str, Any]]:
    """Rows of seconds, ratio to the first, error, spread, and whether they are steady.

    pick    which of the rounds counts

    A row is `steady` if neither its rounds nor those of the first spread by more than STEADY.
    """
    first = next(iter(times))
    return {
        name: {
            "seconds": pick(each),
            "ratio": pick(each) / pick(times[first]),
            "error": errors[name],
            "spread": spread(each),
            "steady": is_steady(each) and is_steady(times[first]),
        }
        for name, each in times.items()
    }
