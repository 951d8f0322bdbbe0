"""How long things take, one beside the other."""

import time
from collections.abc import Callable
from statistics import median
from typing import Any


def interleaved(work: dict[str, Callable[[], Any]], *, rounds: int) -> dict[str, float]:
    """The median seconds of each function: every round runs all of them, after one to warm up.

    >>> sorted(interleaved({"a": lambda: 1, "b": lambda: 2}, rounds=1))
    ['a', 'b']
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
    return {name: median(times) for name, times in seconds.items()}
