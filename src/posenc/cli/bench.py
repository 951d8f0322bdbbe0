"""`posenc bench`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
from dataclasses import asdict
from typing import Any

import click

from posenc.cli.own import load_own, own_or_found
from posenc.cli.usage import as_json, from_files, of_encodings, one_thread, usage, warn_if_busy


@click.command()
@of_encodings
@from_files
@click.option("--rounds", default=9, show_default=True, help="Interleaved rounds; medians count.")
@as_json
def bench(names: tuple[str, ...], files: tuple[str, ...], rounds: int, as_json: bool) -> None:
    """Time posenc against the straightforward form, after checking both for correctness.

    It says where the numbers cannot be trusted: on a busy machine, or where rounds differ.

    With an ENCODING (a name, an expression such as "RoPE(64, base=5e5)", a model's config.json,
    package.module:name, or a name in a file of --load): what applying it costs, beside the products
    of queries and keys.

    \b
    posenc bench
    posenc bench rope alibi

    \b
    JSON: {"benchmarks": [{"what", "rounds", "rows": {NAME: {"seconds", "ratio", "error",
           "spread", "steady"}}}], "machine": {"load", "cores", "busy"}, "trusted"};
           of encodings {"encodings": {NAME: {"tokens", "heads", "dim", "seconds", "ratio",
           "error", "bytes", "power", "steady"}}, "machine", "trusted"}; seconds and bytes for
           each token
    """
    if names or files:
        _costs(names, files, rounds, as_json=as_json)
        return
    from posenc.bench import attentions, rotations, tables
    from posenc.bench.timing import machine

    before = machine()
    results = [
        usage(lambda part=part: part.measure(rounds=rounds))
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


def _costs(names: tuple[str, ...], files: tuple[str, ...], rounds: int, *, as_json: bool) -> None:
    one_thread()
    from posenc.bench.costs import measure
    from posenc.bench.timing import machine

    before = machine()

    names, own, unnamed = load_own(names, files)
    some: dict[str, Any] = {}
    for name in (*names, *unnamed):
        some |= own_or_found(name, own)
    costs = {name: usage(lambda e=e: measure(e, rounds=rounds)) for name, e in some.items()}
    unsteady = sum(not cost.steady for cost in costs.values())
    trusted = not (unsteady or before["busy"])
    if as_json:
        told = {name: asdict(cost) for name, cost in costs.items()}
        click.echo(json.dumps({"encodings": told, "machine": before, "trusted": trusted}))
        return
    click.echo(f"{'applied to a token':<28} {'time':>11} {'to q k^T':>8}  {'memory':>9}  error")
    for name, cost in costs.items():
        times = f"{cost.seconds * 1e6:8.2f} us {cost.ratio:8.2f}"
        mark = _mark(cost.steady)
        click.echo(f"{name:<28} {times}  {cost.bytes:7,.0f} B  {cost.error:.1e}{mark}")
    _warn(before, unsteady, len(costs))


def _mark(steady: bool) -> str:
    return "" if steady else "  unsteady"


def _warn(before: dict[str, Any], unsteady: int, rows: int) -> None:
    """Say why the numbers cannot be trusted, if they cannot."""
    from posenc.bench.timing import STEADY

    warn_if_busy(before)
    if unsteady:
        click.echo(
            f"Not to be trusted: {unsteady} of {rows} rows are unsteady; the middle half of "
            f"their rounds, or of those they are compared with, spreads by more than {STEADY:.0%}."
        )
