"""Running benchmarks: first the check of each implementation, then the clock."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from posenc.bench.case import Case, Entry, Request, Setup
from posenc.bench.claims import compute_growth, judge
from posenc.bench.machine import Watch, describe_machine, is_busy
from posenc.bench.timing import SAMPLE, summarize, time_interleaved

Progress = Callable[[int, int, Case], None]

LEAST, MOST = 5, 41
"""Rounds: at least, and at most if there is time left."""


def run_cases(
    cases: list[Case],
    request: Request,
    *,
    rounds: int | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Measure these cases; the result is data for JSON.

    rounds     how many; None: as many as a few seconds allow
    progress   is told how many cases are done, of how many, and the next

    `wrong` has each implementation of posenc that was off; it was not timed. `trusted` says that
    every row is steady and none was wrong.
    """
    machine = describe_machine()
    results: list[dict[str, Any]] = []
    for done, case in enumerate(cases):
        if progress is not None:
            progress(done, len(cases), case)
        results.append(run_case(case, request, rounds=rounds))
    rows = [row for result in results for row in result["rows"].values()]
    wrong = [line for result in results for line in result["wrong"]]
    return {
        "machine": machine,
        "benchmarks": results,
        "bars": judge(results),
        "growth": compute_growth(results),
        "wrong": wrong,
        "trusted": all(row["steady"] for row in rows) and not wrong and not machine["busy"],
    }


def run_case(case: Case, request: Request, *, rounds: int | None = None) -> dict[str, Any]:
    """Check and time the entries of one case."""
    setup = case.build(request)
    checked, errors, notes, wrong = check_entries(setup.entries.items())
    watch = Watch()
    times = _time(setup, checked, request, rounds) if checked else {}
    others = watch.others()
    rows = summarize(times, errors) if times else {}
    for name, row in rows.items():
        row["steady"] = row["steady"] and not is_busy(others)
        row |= {"ours": checked[name].ours, "source": checked[name].source}
    return {
        "name": case.name,
        "family": case.family,
        "size": case.size,
        "group": case.group,
        "what": case.what,
        "rounds": len(next(iter(times.values()), [])),
        "rows": rows,
        "missing": dict(setup.missing),
        "notes": notes,
        "wrong": [f"{case.name}: {line}" for line in wrong],
        "others": others,
    }


Checked = tuple[dict[str, Entry], dict[str, float | None], list[str], list[str]]


def check_entries(entries: Iterable[tuple[str, Entry]]) -> Checked:
    """The entries that are right, their errors, notes on those of others, and what of ours is off.

    The first is what the others are relative to: if it is off, none is timed.
    """
    right, errors = dict[str, Entry](), dict[str, float | None]()
    notes, wrong = list[str](), list[str]()
    for name, entry in entries:
        error = entry.error()
        if error is not None and not error.is_within:
            line = (
                f"{name} is off by {error.largest:.2g}, {error.part:.2g} times its bound; not timed"
            )
            if not right:
                return {}, {}, [], [line]
            (wrong if entry.ours else notes).append(line)
            continue
        right[name], errors[name] = entry, error and error.largest
    return right, errors, notes + list(_note_conventions(right, errors)), wrong


def _note_conventions(
    entries: Mapping[str, Entry], errors: Mapping[str, float | None]
) -> Iterable[str]:
    """Which others are less exact than ours, by the way they round."""
    known = {name: error for name, error in errors.items() if error is not None}
    ours = max((error for name, error in known.items() if entries[name].ours), default=None)
    less = dict[str, list[str]]()
    for name, error in known.items():
        if ours is not None and error > ours and entries[name].convention:
            less.setdefault(entries[name].convention, []).append(f"{name} by {error:.2g}")
    for convention, names in less.items():
        yield f"Less exact than ours, off by {ours:.2g}: {', '.join(names)} ({convention})"


def _time(
    setup: Setup, checked: dict[str, Entry], request: Request, rounds: int | None
) -> dict[str, list[float]]:
    if setup.sample is not None:  # a process for each round
        times: dict[str, list[float]] = {name: [] for name in checked}
        for _ in range(rounds or (3 if request.quick else 7)):
            for name, seconds in setup.sample().items():
                if name in times:
                    times[name].append(seconds)
        return times
    work = {name: entry.run for name, entry in checked.items()}
    if rounds is not None:
        return time_interleaved(work, rounds=rounds, sample=SAMPLE)
    seconds = 0.5 if request.quick else 4.0
    return time_interleaved(work, rounds=LEAST, most=MOST, seconds=seconds, sample=SAMPLE)
