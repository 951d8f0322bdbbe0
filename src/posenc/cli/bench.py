"""`posenc bench`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
from dataclasses import asdict
from typing import Any

import click

from posenc.cli.loading import load_encodings, resolve_name
from posenc.cli.options import encodings_argument, json_option, load_option
from posenc.cli.timing import use_one_thread, warn_if_busy
from posenc.cli.usage import call_library


@click.command()
@encodings_argument
@load_option
@click.option(
    "--rounds", default=9, show_default=True, help="Interleaved rounds; medians are reported."
)
@json_option
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
        _time_encodings(names, files, rounds, as_json=as_json)
        return
    from posenc.bench import attentions, rotations, tables
    from posenc.bench.timing import machine_load

    before = machine_load()
    results = [
        call_library(lambda part=part: part.measure(rounds=rounds))
        for part in (tables, rotations, attentions)
    ]
    rows = [row for result in results for row in result["rows"].values()]
    unsteady = sum(not row["steady"] for row in rows)
    trusted = not (unsteady or before["busy"])
    if as_json:
        click.echo(json.dumps({"benchmarks": results, "machine": before, "trusted": trusted}))
        return
    for result in results:
        click.echo(f"{result['what']:<28} {'median':>11} {'ratio':>6}  largest error")
        for name, row in result["rows"].items():
            milliseconds, ratio, error = row["seconds"] * 1e3, row["ratio"], row["error"]
            mark = _mark(row["steady"])
            click.echo(f"{name:<28} {milliseconds:8.1f} ms {ratio:6.2f}  {error:.1e}{mark}")
    _warn(before, unsteady, len(rows))


def _time_encodings(
    names: tuple[str, ...], files: tuple[str, ...], rounds: int, *, as_json: bool
) -> None:
    use_one_thread()
    from posenc.bench.costs import measure
    from posenc.bench.timing import machine_load

    before = machine_load()
    names, loaded, unnamed = load_encodings(names, files)
    subjects: dict[str, Any] = {}
    for name in (*names, *unnamed):
        subjects |= resolve_name(name, loaded)
    costs = {
        name: call_library(lambda e=e: measure(e, rounds=rounds)) for name, e in subjects.items()
    }
    unsteady = sum(not cost.steady for cost in costs.values())
    trusted = not (unsteady or before["busy"])
    if as_json:
        data = {name: asdict(cost) for name, cost in costs.items()}
        click.echo(json.dumps({"encodings": data, "machine": before, "trusted": trusted}))
        return
    click.echo(f"{'per token':<28} {'time':>11} {'to q k^T':>8}  {'memory':>9}  error")
    for name, cost in costs.items():
        times = f"{cost.seconds * 1e6:8.2f} us {cost.ratio:8.2f}"
        mark = _mark(cost.steady)
        click.echo(f"{name:<28} {times}  {cost.bytes:7,.0f} B  {cost.error:.1e}{mark}")
    _warn(before, unsteady, len(costs))


def _mark(steady: bool) -> str:
    return "" if steady else "  unsteady"


def _warn(before: dict[str, Any], unsteady: int, rows: int) -> None:
    """Warn if the timings are unreliable, and say why."""
    from posenc.bench.timing import STEADY

    warn_if_busy(before)
    if unsteady:
        click.echo(
            f"Unreliable timings: {unsteady} of {rows} rows are unsteady. The middle half of their "
            f"rounds, or of the rounds they are compared with, spreads by more than {STEADY:.0%}."
        )
