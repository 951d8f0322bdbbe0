"""Whether posenc became slower than it was: `make bench-regress`.

Ratios of the quick benchmarks are compared with those in ratios.json of the same class of machine.
A row that is slower by more than MARGIN is measured again, and fails if it is slower again. Rows
too unsteady for that are told, and held by the number of calls of Python and C functions that each
of our entries makes, which no other program can disturb. `--record` writes what is measured.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from posenc.bench.case import Case, Request
from posenc.bench.cases import choose
from posenc.bench.machine import describe_machine
from posenc.bench.run import run_case

RATIOS = Path(__file__).parent / "ratios.json"
MARGIN = 0.25
"""How much slower a steady row may be, relative to its baseline."""
CALLS_MARGIN = 0.05
"""How many more calls an entry may make; few of them are by chance."""
QUICK = Request(quick=True)

Numbers = dict[str, float]


def name_class(machine: dict[str, Any]) -> str:
    """Machines whose ratios can be compared: by the processor, threads, PyTorch, and our kernels.

    >>> machine = {"cpu": "AMD EPYC", "simd": "AVX512", "threads": 2, "torch": "2.13.0+cpu"}
    >>> name_class(machine | {"kernels": "active, avx512"})
    'AMD EPYC (AVX512), 2 threads, torch 2.13, kernels active, avx512'
    """
    torch_version = ".".join(machine["torch"].split(".")[:2])
    return (
        f"{machine['cpu']} ({machine['simd']}), {machine['threads']} threads, "
        f"torch {torch_version}, kernels {machine['kernels']}"
    )


def count_calls(run: Callable[[], Any]) -> int:
    """Calls of Python and C functions while `run` runs, in this thread.

    >>> count_calls(lambda: abs(-1))
    2
    """
    count = 0

    def see(_frame: Any, event: str, _function: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(see)
    try:
        run()
    finally:
        sys.setprofile(None)
    return count - 1  # setprofile itself


def measure(cases: list[Case]) -> tuple[Numbers, Numbers, set[str]]:
    """Ratios and calls of our entries as `case: entry`, and which of them are unsteady."""
    ratios, calls, unsteady = Numbers(), Numbers(), set[str]()
    for case in cases:
        result = run_case(case, QUICK)
        if result["wrong"]:
            raise ArithmeticError("; ".join(result["wrong"]))
        for name, row in list(result["rows"].items())[1:]:  # all but the baseline
            if row["ours"]:
                ratios[f"{case.name}: {name}"] = row["ratio"]
                if not row["steady"]:
                    unsteady.add(f"{case.name}: {name}")
        calls |= count_case(case)
    return ratios, calls, unsteady


def count_case(case: Case) -> Numbers:
    """The calls of each of our entries, after one for what is made once."""
    setup = case.build(QUICK)
    counts = Numbers()
    if setup.sample is None:
        for name, entry in setup.entries.items():
            if entry.ours:
                entry.run()
                counts[f"{case.name}: {name}"] = count_calls(entry.run)
    return counts


def find_slower(now: Mapping[str, float], then: Mapping[str, float], margin: float) -> list[str]:
    """The names whose number grew by more than the margin.

    >>> find_slower({"a": 1.3, "b": 1.2, "new": 9}, {"a": 1.0, "b": 1.0, "gone": 1}, 0.25)
    ['a']
    """
    return [name for name in now if name in then and now[name] > then[name] * (1 + margin)]


def compare(then: Mapping[str, Any], cases: list[Case]) -> list[str]:
    """Measure, say what was compared, and return what became slower."""
    ratios, calls, unsteady = measure(cases)
    steady = {name: ratio for name, ratio in ratios.items() if name not in unsteady}
    slower = find_slower(steady, then["ratios"], MARGIN)
    if slower:
        print(f"measuring again: {', '.join(slower)}")
        again, _, doubtful = measure([c for c in cases if any(_of(n, c) for n in slower)])
        still = find_slower(again, then["ratios"], MARGIN)
        slower = [name for name in slower if name in still and name not in doubtful]
    more = find_slower(calls, then["calls"], CALLS_MARGIN)
    compared = sum(name in then["ratios"] for name in steady)
    counted = sum(name in then["calls"] for name in calls)
    print(f"compared {compared} ratios, margin {MARGIN:.0%}; {len(unsteady)} too unsteady")
    print(f"compared the calls of {counted} entries, margin {CALLS_MARGIN:.0%}")
    said = [f"{n}: {ratios[n]:.3g}, was {then['ratios'][n]:.3g} of its baseline" for n in slower]
    return said + [f"{n}: {calls[n]:.0f} calls, were {then['calls'][n]:.0f}" for n in more]


def _of(name: str, case: Case) -> bool:
    return name.startswith(f"{case.name}: ")


def main() -> None:
    """Compare with what is recorded of this class of machine, or record it."""
    known = json.loads(RATIOS.read_text()) if RATIOS.exists() else {}
    here, cases = name_class(describe_machine()), choose(quick=True)
    if "--record" in sys.argv or here not in known:
        ratios, calls, unsteady = measure(cases)
        kept = {name: round(r, 3) for name, r in ratios.items() if name not in unsteady}
        known[here] = {"ratios": kept, "calls": calls}
        RATIOS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
        print(f"recorded {len(kept)} ratios and {len(calls)} counts of calls for {here}")
        print(f"{len(unsteady)} rows are too unsteady for a ratio")
        return
    slower = compare(known[here], cases)
    print(*slower or ["nothing became slower"], sep="\n")
    sys.exit(bool(slower))


if __name__ == "__main__":
    main()
