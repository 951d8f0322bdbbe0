"""`posenc check`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import sys
from contextlib import redirect_stdout

import click

import posenc
from posenc.cli.own import load_own, own_or_found
from posenc.cli.usage import (
    as_json,
    every_one,
    from_files,
    limited,
    of_encodings,
    refuse_beside_all,
    seeded,
    usage,
)


@click.command()
@of_encodings
@from_files
@every_one
@seeded
@limited
@as_json
def check(
    names: tuple[str, ...],
    files: tuple[str, ...],
    every: bool,
    seed: int,
    limit: float,
    as_json: bool,
) -> None:
    """Measure whether encodings are sound; the exit code is 1 if a claim fails.

    An ENCODING is a name (`posenc list`), an expression such as "RoPE(64, base=5e5)", a model's
    config.json, package.module:name, or a name in a file of --load.

    \b
    posenc check rope alibi
    posenc check --load mine.py
    posenc check llama/config.json

    \b
    JSON: {"ok", "reports": {NAME: {"subject", "ok", "rows": [{"name", "what", "why",
           "verdict", "measured", "bound", "detail", "seconds"}]}}}
    """
    if every:
        refuse_beside_all(names)
    subjects: dict[str, posenc.Encoding] = {}
    names, own, unnamed = load_own(names, files)
    for name in posenc.catalogue() if every else names:
        subjects |= own_or_found(name, own)
    subjects |= {name: own[name] for name in unnamed}
    if not subjects:
        raise click.UsageError("name an encoding, or give --load FILE or --all")
    reports: dict[str, posenc.Report] = {}
    for count, (name, encoding) in enumerate(subjects.items(), start=1):
        click.echo(f"[{count}/{len(subjects)}] {name}", err=True)
        with redirect_stdout(sys.stderr):  # what an encoding prints is no data of ours
            reports[name] = usage(
                lambda encoding=encoding: posenc.check(encoding, seed=seed, limit=limit)
            )
        if not as_json:
            click.echo(str(reports[name]))
    if as_json:
        told = {name: report.to_json() for name, report in reports.items()}
        click.echo(
            json.dumps({"ok": all(report.ok for report in reports.values()), "reports": told})
        )
    if not all(report.ok for report in reports.values()):
        raise SystemExit(1)
