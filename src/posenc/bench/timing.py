"""How long things take, one beside the other."""

import time
from collections.abc import Callable, Mapping
from statistics import median
from typing import Any

Pick = Callable[[list[float]], float]


def interleaved(
    work: Mapping[str, Callable[[], Any]], *, rounds: int, pick: Pick = median
) -> dict[str, float]:
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
    return {name: pick(times) for name, times in seconds.items()}


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

    >>> slow = {"theirs": lambda: 1, "ours": lambda: 1}
    >>> compared("a sum", slow, {"theirs": 0.5, "ours": 0.1}, bound=0.01, rounds=1)
    Traceback (most recent call last):
    ArithmeticError: ours: error 0.1 is above 0.01; not timed
    """
    first, *others = work
    for name in others:
        if not errors[name] <= bound:
            raise ArithmeticError(f"{name}: error {errors[name]:.2g} is above {bound:g}; not timed")
    seconds = interleaved(work, rounds=rounds, pick=pick)
    rows = {
        name: {"seconds": spent, "ratio": spent / seconds[first], "error": errors[name]}
        for name, spent in seconds.items()
    }
    return {"what": what, "rounds": rounds, "rows": rows}
