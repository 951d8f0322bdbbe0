"""`posenc check`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import sys
from contextlib import redirect_stdout

import click

import posenc
from posenc.cli import options
from posenc.cli.loading import resolve_names, select_encodings
from posenc.cli.usage import call_library


@click.command()
@options.encodings
@options.load
@options.every
@options.seed
@options.limit
@options.as_json
def check(
    names: tuple[str, ...],
    files: tuple[str, ...],
    every: bool,
    seed: int,
    limit: float,
    as_json: bool,
) -> None:
    """Measure whether encodings have the properties they claim.

    Exits with 1 if a claim fails or a check does not finish within --limit. ENCODING is a name (see
    `posenc list`), an expression such as "RoPE(64, base=5e5)", a model's config.json,
    package.module:name, or a name defined in a --load file.

    \b
    posenc check rope alibi
    posenc check --load mine.py
    posenc check llama/config.json

    \b
    --json prints {"ok", "reports": {NAME: {"subject", "ok", "rows": [{"name", "what",
    "why", "verdict", "measured", "bound", "detail", "seconds"}]}}}.
    """
    subjects = resolve_names(*select_encodings(names, files, every=every))
    reports: dict[str, posenc.Report] = {}
    for count, (name, encoding) in enumerate(subjects.items(), start=1):
        click.echo(f"[{count}/{len(subjects)}] {name}", err=True)
        with redirect_stdout(sys.stderr):  # an encoding may print; stdout is for our data
            reports[name] = call_library(posenc.check, encoding, seed=seed, limit=limit)
        if not as_json:
            click.echo(str(reports[name]))
    ok = all(report.ok for report in reports.values())
    if as_json:
        data = {name: report.to_json() for name, report in reports.items()}
        click.echo(json.dumps({"ok": ok, "reports": data}))
    if not ok:
        raise SystemExit(1)
