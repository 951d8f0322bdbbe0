"""`posenc bench`."""

import json

import click

from posenc.cli.usage import as_json, usage


@click.command()
@click.option("--rounds", default=9, show_default=True, help="Interleaved rounds; medians count.")
@as_json
def bench(rounds: int, as_json: bool) -> None:
    """Time posenc against the straightforward form, after checking both for correctness.

    JSON: {"benchmarks": [{"what", "rounds", "rows": {NAME: {"seconds", "ratio", "error"}}}]}
    """
    from posenc.bench import attentions, rotations, tables

    results = [
        usage(lambda part=part: part.measure(rounds=rounds))
        for part in (tables, rotations, attentions)
    ]
    if as_json:
        click.echo(json.dumps({"benchmarks": results}))
        return
    for result in results:
        click.echo(f"{result['what']:<28} {'median':>11} {'ratio':>6}  largest error")
        for name, row in result["rows"].items():
            milliseconds, ratio, error = row["seconds"] * 1e3, row["ratio"], row["error"]
            click.echo(f"{name:<28} {milliseconds:8.1f} ms {ratio:6.2f}  {error:.1e}")
