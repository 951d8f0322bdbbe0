"""`posenc bench`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from dataclasses import asdict
from typing import Any

import click

from posenc.cli import options
from posenc.cli.loading import resolve_names, select_encodings
from posenc.cli.timing import use_one_thread, warn_if_busy
from posenc.cli.usage import call_library, print_data


@click.command()
@options.encodings
@options.load
@click.option(
    "--rounds", default=9, show_default=True, help="Interleaved rounds; medians are reported."
)
@options.as_json
def bench(names: tuple[str, ...], files: tuple[str, ...], rounds: int, as_json: bool) -> None:
    """Time posenc against straightforward implementations.

    Each implementation is checked for correctness before it is timed. With an ENCODING, time that
    encoding relative to plain query-key products. ENCODING is a name (see `posenc list`), an
    expression such as "RoPE(64, base=5e5)", a model's config.json, package.module:name, or a name
    defined in a --load file.

    Warns if the numbers are unreliable, because the machine is busy or the rounds disagree.

    \b
    posenc bench
    posenc bench rope alibi

    \b
    --json prints {"benchmarks": [{"what", "rounds", "rows": {NAME: {"seconds", "ratio",
    "error", "spread", "steady"}}}], "machine": {"load", "cores", "busy"}, "trusted"};
    for encodings {"encodings": {NAME: {"tokens", "heads", "dim", "seconds", "ratio",
    "error", "bytes", "power", "steady"}}, "machine", "trusted"}, with seconds and bytes
    per token.
    """
    if names or files:
        use_one_thread()
    from posenc.bench.timing import STEADY, machine_load

    before = machine_load()
    if names or files:
        data, lines, steady = _time_encodings(names, files, rounds)
    else:
        data, lines, steady = _time_implementations(rounds)
    unsteady = steady.count(False)
    trusted = not (unsteady or before["busy"])
    print_data(data | {"machine": before, "trusted": trusted}, lines, as_json=as_json)
    if as_json:
        return
    warn_if_busy(before)
    if unsteady:
        click.echo(
            f"Unreliable timings: {unsteady} of {len(steady)} rows are unsteady. The middle half "
            "of their rounds, or of the rounds they are compared with, spreads by more than "
            f"{STEADY:.0%}."
        )


Timings = tuple[dict[str, Any], list[str], list[bool]]
"""The data for JSON, the lines of a table, and whether each row is steady."""


def _time_implementations(rounds: int) -> Timings:
    from posenc.bench import attentions, rotations, tables

    parts = (tables, rotations, attentions)
    results = [call_library(part.measure, rounds=rounds) for part in parts]
    lines: list[str] = []
    for result in results:
        lines.append(f"{result['what']:<28} {'median':>11} {'ratio':>6}  largest error")
        for name, row in result["rows"].items():
            milliseconds, ratio, error = row["seconds"] * 1e3, row["ratio"], row["error"]
            mark = _mark(row["steady"])
            lines.append(f"{name:<28} {milliseconds:8.1f} ms {ratio:6.2f}  {error:.1e}{mark}")
    steady = [row["steady"] for result in results for row in result["rows"].values()]
    return {"benchmarks": results}, lines, steady


def _time_encodings(names: tuple[str, ...], files: tuple[str, ...], rounds: int) -> Timings:
    from posenc.bench.costs import measure

    subjects = resolve_names(*select_encodings(names, files))
    costs = {name: call_library(measure, e, rounds=rounds) for name, e in subjects.items()}
    lines = [f"{'per token':<28} {'time':>11} {'to q k^T':>8}  {'memory':>9}  error"]
    for name, cost in costs.items():
        times = f"{cost.seconds * 1e6:8.2f} us {cost.ratio:8.2f}"
        mark = _mark(cost.steady)
        lines.append(f"{name:<28} {times}  {cost.bytes:7,.0f} B  {cost.error:.1e}{mark}")
    data = {name: asdict(cost) for name, cost in costs.items()}
    return {"encodings": data}, lines, [cost.steady for cost in costs.values()]


def _mark(steady: bool) -> str:
    return "" if steady else "  unsteady"
