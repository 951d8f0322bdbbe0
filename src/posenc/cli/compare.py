"""`posenc compare`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import os
import sys
from contextlib import redirect_stdout

import click

from posenc.cli.usage import as_json, from_files, in_language, of_encodings, usage

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


@click.command()
@of_encodings
@from_files
@click.option("--dim", type=int, help="Channels of those given by name.")
@click.option("--heads", type=int, help="Heads of those given by name.")
@click.option("--length", type=int, help="Length of those given by name.")
@click.option("--no-bench", is_flag=True, help="Leave out time and memory.")
@click.option("--seed", default=0, show_default=True, help="For what is drawn.")
@click.option("--limit", default=20.0, show_default=True, help="Seconds for each check.")
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown", "json")),
    default="text",
    show_default=True,
    help="What is printed.",
)
@in_language
@as_json
def compare(
    names: tuple[str, ...],
    files: tuple[str, ...],
    dim: int | None,
    heads: int | None,
    length: int | None,
    no_bench: bool,
    seed: int,
    limit: float,
    form: str,
    lang: str,
    as_json: bool,
) -> None:
    """Compare encodings: where they act, parameters, properties, cost, models, strengths.

    Properties are measured by the checks of `posenc check`, time and memory beside plain products
    of queries and keys in the same run; the rest is said by the encodings. The exit code is 1 if a
    claim fails.

    \b
    posenc compare sinusoidal learned t5 alibi transformer-xl rope
    posenc compare rope "RoPE(64, scaling=YaRN(4, 8192))" llama/config.json --format markdown
    posenc compare alibi --load mine.py --lang ja

    \b
    JSON: {"ok", "lang", "encodings": [{"name", "encoding", "acts",
           "parameters": {"count", "trained", "bytes"}, "axes", "axial",
           "properties": {CHECK: {"verdict", "measured", "bound", "detail"}},
           "cost": {"tokens", "heads", "dim", "seconds", "ratio", "error", "bytes", "power"},
           "untimed", "models", "paper", "year", "strengths", "weaknesses"}]}
    """
    for name in THREADS:  # before NumPy starts: a ratio must not depend on threads that wait
        os.environ.setdefault(name, "1")
    from posenc import find
    from posenc.comparison import compare as compared

    if not (names or files):
        raise click.UsageError("name an encoding, or give --load FILE")
    sizes = {"dim": dim, "heads": heads, "length": length}
    given = [*names, *(usage(lambda file=file: find.loaded(file)) for file in files)]
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
    if not result.ok:
        raise SystemExit(1)
