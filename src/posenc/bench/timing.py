"""How long things take, one beside the other, and whether the numbers can be trusted."""

import os
import time
from collections.abc import Callable, Mapping
from statistics import median, quantiles
from typing import Any

Pick = Callable[[list[float]], float]

STEADY = 0.15
"""Rounds whose middle half spreads by more than this part of the median measure something else."""


def interleaved(work: Mapping[str, Callable[[], Any]], *, rounds: int) -> dict[str, list[float]]:
    """The seconds of each function in each round: all run in turn, after one round to warm up.

    >>> {name: len(times) for name, times in interleaved({"a": int, "b": str}, rounds=3).items()}
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
    """The range of the middle half of these times, as a part of their median; None of one alone.

    >>> round(spread([1.0, 1.0, 1.1, 1.2, 9.0]), 3)
    0.182
    """
    if len(times) < 2:
        return None
    first, middle, third = quantiles(times, n=4, method="inclusive")
    return (third - first) / middle if middle else 0.0


def machine() -> dict[str, Any]:
    """How busy the machine is: the load average of the last minute, where there is one, and cores.

    `busy` where other programs want more than half of the cores.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {"load": load, "cores": cores, "busy": load is not None and load > cores / 2}


def compared(
    what: str,
    work: Mapping[str, Callable[[], Any]],
    errors: dict[str, float],
    *,
    bound: float,
    rounds: int,
    pick: Pick = median,
) -> dict[str, Any]:
    """Seconds of each, their ratio to the first, and their errors; all but the first must be right.

    A row is `steady` if neither its rounds nor those of the first spread by more than STEADY.

    >>> slow = {"theirs": lambda: 1, "ours": lambda: 1}
    >>> compared("a sum", slow, {"theirs": 0.5, "ours": 0.1}, bound=0.01, rounds=1)
    Traceback (most recent call last):
    ArithmeticError: ours: error 0.1 is above 0.01; not timed
    """
    first, *others = work
    for name in others:
        if not errors[name] <= bound:
            raise ArithmeticError(f"{name}: error {errors[name]:.2g} is above {bound:g}; not timed")
    seconds = interleaved(work, rounds=rounds)
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
