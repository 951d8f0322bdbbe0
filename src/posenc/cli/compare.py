"""`posenc compare`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import sys
from contextlib import redirect_stdout

import click

import posenc
from posenc.cli.own import load_own
from posenc.cli.usage import (
    as_json,
    every_one,
    from_files,
    in_language,
    limited,
    of_encodings,
    one_thread,
    refuse_beside_all,
    seeded,
    usage,
    warn_if_busy,
)


@click.command()
@of_encodings
@from_files
@every_one
@click.option("--dim", type=int, help="Channels of encodings given by name.")
@click.option("--heads", type=int, help="Heads of encodings given by name.")
@click.option("--length", type=int, help="Length of learned tables given by name.")
@click.option("--no-bench", is_flag=True, help="Leave out time and memory.")
@seeded
@limited
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown", "json")),
    help="Output format. [default: text]",
)
@in_language
@as_json
def compare(
    names: tuple[str, ...],
    files: tuple[str, ...],
    every: bool,
    dim: int | None,
    heads: int | None,
    length: int | None,
    no_bench: bool,
    seed: int,
    limit: float,
    form: str | None,
    lang: str,
    as_json: bool,
) -> None:
    """Compare encodings: where they act, parameters, properties, cost, models, strengths.

    An ENCODING is a name (`posenc list`), an expression such as "RoPE(64, base=5e5)", a model's
    config.json, package.module:name, or a name in a file of --load.

    Properties are measured by the checks of `posenc check`, time and memory beside plain products
    of queries and keys in the same run; the rest is said by the encodings. A busy machine, whose
    times cannot be trusted, is told of on stderr. The exit code is 1 if a claim fails.

    \b
    posenc compare sinusoidal learned t5 alibi transformer-xl rope
    posenc compare rope "RoPE(64, scaling=YaRN(4, 8192))" llama/config.json --format markdown
    posenc compare alibi --load mine.py --lang ja

    \b
    JSON: {"ok", "lang", "encodings": [{"name", "encoding", "acts",
           "parameters": {"count", "trained", "bytes"}, "axes", "axial",
           "properties": {CHECK: {"verdict", "measured", "bound", "detail"}},
           "cost": {"tokens", "heads", "dim", "seconds", "ratio", "error", "bytes", "power",
           "steady"},
           "untimed", "models", "paper", "year", "strengths", "weaknesses"}]}
    """
    one_thread()
    from posenc.bench.timing import machine
    from posenc.comparison import compare as compared

    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} cannot both be; leave one out")
    if every:
        refuse_beside_all(names)
    elif not (names or files):
        raise click.UsageError("name an encoding, or give --load FILE or --all")
    sizes = {"dim": dim, "heads": heads, "length": length}
    names, own, unnamed = load_own(names, files)
    given = [{name: own[name]} if name in own else name for name in (*names, *unnamed)]
    given = [*(posenc.catalogue() if every else ()), *given]
    before = machine()
    with redirect_stdout(sys.stderr):  # what an encoding prints is no data of ours
        result = usage(
            lambda: compared(
                *given,
                sizes={name: size for name, size in sizes.items() if size is not None},
                bench=not no_bench,
                lang=lang,
                seed=seed,
                limit=limit,
                progress=lambda name: click.echo(name, err=True),
            )
        )
    if as_json or form == "json":
        click.echo(json.dumps(result.to_json()))
    else:
        click.echo(result.to_markdown() if form == "markdown" else str(result))
    if any(entry.cost is not None for entry in result.entries):
        warn_if_busy(before, err=True)
    if not result.ok:
        raise SystemExit(1)
