"""The result of a run as lines of text."""

from collections.abc import Iterable, Mapping
from typing import Any

from posenc.bench.timing import STEADY

SIGNS = {"time": "at most", "speed": "at least", "beyond": "at most", "seconds": "at most"}


def format_seconds(seconds: float) -> str:
    """Seconds in a unit that suits them, three digits.

    >>> [format_seconds(s) for s in (3.214e-6, 0.0512, 2.5, 0.0009996)]
    ['3.21 us', '51.2 ms', '2.5 s', '1 ms']
    """
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if abs(seconds) >= 0.9995 * size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


def format_measured(bar: Mapping[str, Any], value: float) -> str:
    """A limit, or what was measured against it.

    >>> format_measured({"kind": "time"}, 1.0749), format_measured({"kind": "beyond"}, 5e-5)
    ('1.07', '50 us')
    """
    return format_seconds(value) if bar["kind"] in ("beyond", "seconds") else f"{value:.3g}"


def describe_bar(bar: Mapping[str, Any]) -> str:
    """What a bar demands, and whether it is met.

    >>> bar = {"kind": "speed", "limit": 3.5, "measured": 4.0, "against": "HF apply"}
    >>> describe_bar(bar | {"met": True, "steady": False})
    'at least 3.5 times as fast as HF apply: 4, met, unsteady'
    """
    limit, measured = (format_measured(bar, bar[name]) for name in ("limit", "measured"))
    relation = {
        "time": f" of {bar['against']}",
        "speed": f" times as fast as {bar['against']}",
        "beyond": f" more than {bar['against']}",
        "seconds": "",
    }[bar["kind"]]
    verdict = ("met" if bar["met"] else "missed") + ("" if bar["steady"] else ", unsteady")
    return f"{SIGNS[bar['kind']]} {limit}{relation}: {measured}, {verdict}"


def format_run(data: Mapping[str, Any]) -> Iterable[str]:
    """A table for each case, then what is to be said of the whole."""
    yield describe_machine_of(data)
    for result in data["benchmarks"]:
        yield from _format_case(result, data["bars"])
    yield ""
    yield from _format_growth(data["growth"])
    yield from summarize_run(data)


def describe_machine_of(data: Mapping[str, Any]) -> str:
    """The machine of a run, in a line."""
    machine = data["machine"]
    return (
        f"{machine['cpu']} ({machine['simd']}), {machine['threads']} threads on "
        f"{machine['cores']} cores, {machine['system']}, Python {machine['python']}, "
        f"PyTorch {machine['torch']}, posenc {machine['posenc']}, kernels {machine['kernels']}"
    )


def _format_case(result: Mapping[str, Any], bars: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    rows = result["rows"]
    baseline = next(iter(rows), "")
    yield ""
    yield f"{result['group']}: {result['what']} [{result['name']}, {result['rounds']} rounds]"
    if rows:
        yield f"  {'':<30} {'median':>10}  {'to ' + baseline:<28} {'spread':>6}  largest error"
    for name, row in rows.items():
        error = "" if row["error"] is None else f"{row['error']:.1e}"
        spread = "" if row["spread"] is None else f"{row['spread']:.0%}"
        mark = "" if row["steady"] else "  unsteady"
        source = f"  ({row['source']})" if row["source"] else ""
        timed = f"{format_seconds(row['seconds']):>10}  {row['ratio']:<28.3g} {spread:>6}"
        yield f"  {name:<30} {timed}  {error:<7}{mark}{source}".rstrip()
        for bar in bars:
            if (bar["case"], bar["entry"]) == (result["name"], name):
                yield f"    {describe_bar(bar)}"
    yield from (f"  {name} is not timed: {why}" for name, why in result["missing"].items())
    yield from (f"  {note}" for note in result["notes"])
    yield from (f"  WRONG: {line}" for line in result["wrong"])


def _format_growth(growth: Mapping[str, Any]) -> Iterable[str]:
    for family, rows in growth.items():
        sizes = " to ".join(f"{size:,}" for size in next(iter(rows.values()))["sizes"])
        powers = ", ".join(f"{name} {row['power']:.2f}" for name, row in rows.items())
        yield f"{family}, from {sizes}, time grows as the size to the power of: {powers}"


def summarize_run(data: Mapping[str, Any]) -> Iterable[str]:
    """Bars met and missed, whether the timings can be trusted, and what is wrong."""
    bars, rows = data["bars"], [r for each in data["benchmarks"] for r in each["rows"].values()]
    missed = [bar for bar in bars if not bar["met"]]
    if bars:
        yield f"{len(bars) - len(missed)} of {len(bars)} bars are met."
    for bar in missed:
        yield f"  {bar['case']}, {bar['entry']}: {describe_bar(bar)}"
    unsteady = sum(not row["steady"] for row in rows)
    if unsteady:
        yield (
            f"Unreliable timings: {unsteady} of {len(rows)} rows are unsteady. The middle half of "
            f"their rounds, or of those they are compared with, spreads by more than {STEADY:.0%}, "
            "or other programs took more than half of the cores."
        )
    yield from (f"WRONG: {line}" for line in data["wrong"])
