"""Timing functions side by side, and whether the timings can be trusted."""

import os
import time
from collections.abc import Callable, Mapping
from statistics import median, quantiles
from typing import Any

Pick = Callable[[list[float]], float]

STEADY = 0.15
"""The largest spread, as a part of the median, of rounds that agree."""


def time_interleaved(
    work: Mapping[str, Callable[[], Any]], *, rounds: int
) -> dict[str, list[float]]:
    """The seconds of each function in each round: they take turns, after one round of warm-up.

    >>> seconds = time_interleaved({"a": int, "b": str}, rounds=3)
    >>> {name: len(times) for name, times in seconds.items()}
    {'a': 3, 'b': 3}
    """
    seconds: dict[str, list[float]] = {name: [] for name in work}
    for turn in range(rounds + 1):
        for name, function in work.items():
            start = time.perf_counter()
            result = function()
            elapsed = time.perf_counter() - start
            del result  # freeing a large result is not part of making it
            if turn:
                seconds[name].append(elapsed)
    return seconds


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
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"load": load, "cores": cores, "busy": load is not None and load > cores / 2}


def compare_times(
    what: str,
    work: Mapping[str, Callable[[], Any]],
    errors: dict[str, float],
    *,
    bound: float,
    rounds: int,
    pick: Pick = median,
) -> dict[str, Any]:
    """Time each function; rows of seconds, ratio to the first, error, spread.

    what    a description of the task
    errors  the error of each result; all but the first must keep to `bound`
    pick    which of the rounds counts

    A row is `steady` if neither its rounds nor those of the first spread by more than STEADY.

    >>> slow = {"theirs": lambda: 1, "ours": lambda: 1}
    >>> compare_times("a sum", slow, {"theirs": 0.5, "ours": 0.1}, bound=0.01, rounds=1)
    Traceback (most recent call last):
    ArithmeticError: ours: error 0.1 is above 0.01; not timed
    """
    first, *others = work
    for name in others:
        if not errors[name] <= bound:
            raise ArithmeticError(f"{name}: error {errors[name]:.2g} is above {bound:g}; not timed")
    seconds = time_interleaved(work, rounds=rounds)
    spreads = {name: spread(times) for name, times in seconds.items()}
    steady = {name: part is not None and part <= STEADY for name, part in spreads.items()}
    rows = {
        name: {
            "seconds": pick(times),
            "ratio": pick(times) / pick(seconds[first]),
            "error": errors[name],
            "spread": spreads[name],
            "steady": steady[name] and steady[first],
        }
        for name, times in seconds.items()
    }
    return {"what": what, "rounds": rounds, "rows": rows}
