"""`posenc compare`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import sys
from contextlib import redirect_stdout

import click

from posenc.cli import options
from posenc.cli.loading import select_encodings
from posenc.cli.timing import use_one_thread, warn_if_busy
from posenc.cli.usage import call_library, merge_format
from posenc.i18n import Language


@click.command()
@options.encodings
@options.load
@options.every
@options.dim
@options.heads
@click.option("--length", type=int, help="Number of rows of learned tables given by name.")
@click.option("--no-bench", is_flag=True, help="Skip the time and memory measurements.")
@options.seed
@options.limit
@click.option(
    "--format",
    "form",
    type=click.Choice(("text", "markdown", "json")),
    help="Output format. [default: text]",
)
@options.lang
@options.as_json
def compare(
    names: tuple[str, ...],
    files: tuple[str, ...],
    every: bool,
    no_bench: bool,
    seed: int,
    limit: float,
    form: str | None,
    lang: Language,
    as_json: bool,
    **sizes: int | None,
) -> None:
    """Compare encodings side by side: properties, cost, models.

    ENCODING is a name (see `posenc list`), an expression such as "RoPE(64, base=5e5)", a model's
    config.json, package.module:name, or a name defined in a --load file.

    Properties are measured as by `posenc check`; time and memory are measured relative to plain
    query-key products in the same run; the rest is stated by the encodings. If the machine is too
    busy for reliable timings, a warning goes to stderr. Exits with 1 if an encoding fails a
    property that it claims.

    \b
    posenc compare sinusoidal learned t5 alibi transformer-xl rope
    posenc compare rope "RoPE(64, scaling=YaRN(4, 8192))" llama/config.json --format markdown
    posenc compare alibi --load mine.py --lang ja

    \b
    --json prints {"ok", "lang", "encodings": [{"name", "encoding", "acts",
    "parameters": {"count", "trained", "bytes"}, "axes", "axial",
    "properties": {CHECK: {"verdict", "measured", "bound", "detail"}},
    "cost": {"tokens", "heads", "dim", "seconds", "ratio", "error", "bytes",
    "power", "steady"}, "untimed", "models", "paper", "year", "strengths",
    "weaknesses"}]}.
    """
    use_one_thread()
    from posenc.bench.timing import machine_load
    from posenc.comparison import compare as compare_encodings

    form = merge_format(form, as_json=as_json)
    chosen, loaded = select_encodings(names, files, every=every)
    before = machine_load()
    with redirect_stdout(sys.stderr):  # an encoding may print; stdout is for our data
        result = call_library(
            compare_encodings,
            *({name: loaded[name]} if name in loaded else name for name in chosen),
            sizes={name: size for name, size in sorted(sizes.items()) if size is not None},
            bench=not no_bench,
            lang=lang,
            seed=seed,
            limit=limit,
            progress=lambda name: click.echo(name, err=True),
        )
    if form == "json":
        click.echo(json.dumps(result.to_json()))
    else:
        click.echo(result.to_markdown() if form == "markdown" else str(result))
    if any(entry.cost is not None for entry in result.entries):
        warn_if_busy(before, err=True)
    if not result.ok:
        raise SystemExit(1)
