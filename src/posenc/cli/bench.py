"""`posenc bench`."""

import json

import click

from posenc.cli.usage import as_json, usage


@click.command()
@click.option("--rounds", default=9, show_default=True, help="Interleaved rounds; medians count.")
@as_json
def bench(rounds: int, as_json: bool) -> None:
    """Time posenc against the straightforward form, after checking both for correctness.

    It says where the numbers cannot be trusted: on a busy machine, or where rounds differ.

    \b
    JSON: {"benchmarks": [{"what", "rounds", "rows": {NAME: {"seconds", "ratio", "error",
           "spread", "steady"}}}], "machine": {"load", "cores", "busy"}, "trusted"}
    """
    from posenc.bench import attentions, rotations, tables
    from posenc.bench.timing import STEADY, machine

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
            mark = "" if row["steady"] else "  unsteady"
            click.echo(f"{name:<28} {milliseconds:8.1f} ms {ratio:6.2f}  {error:.1e}{mark}")
    if before["busy"]:
        click.echo(
            f"Not to be trusted: the load average was {before['load']:.1f} on {before['cores']} "
            "cores at the start. Run it again when the machine is idle."
        )
    if unsteady:
        click.echo(
            f"Not to be trusted: {unsteady} of {len(rows)} rows are unsteady; the middle half of "
            f"their rounds, or of those they are compared with, spreads by more than {STEADY:.0%}."
        )
