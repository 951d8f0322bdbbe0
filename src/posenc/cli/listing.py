"""`posenc list`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
from dataclasses import fields
from typing import Any, cast

import click

import posenc
from posenc.cli.usage import as_json, usage


@click.command("list")
@as_json
def list_encodings(as_json: bool) -> None:
    """List the encodings, where each acts, and its parameters; and names for variants of RoPE.

    JSON: {"encodings": {NAME: {"acts", "parameters"}}, "variants": {NAME: EXPRESSION}}
    """
    from posenc.expressions import spelling
    from posenc.find import VARIANTS

    rows = {name: described(encoding) for name, encoding in usage(posenc.catalogue).items()}
    variants = {name: spelling(make(64)) for name, make in VARIANTS.items()}
    if as_json:
        click.echo(json.dumps({"encodings": rows, "variants": variants}))
        return
    for name, row in rows.items():
        click.echo(f"{name:<18} {row['acts']:<9} {', '.join(row['parameters'])}")
    for name, expression in variants.items():
        click.echo(f"{name:<18} {'rotary':<9} {expression}")


def described(encoding: type[posenc.Encoding]) -> dict[str, Any]:
    """Where an encoding of this kind acts, and the names of its fields."""
    mechanism = next(
        kind
        for kind in (posenc.Additive, posenc.Rotary, posenc.Bias, posenc.Scores)
        if issubclass(encoding, kind)
    )
    names = [field.name for field in fields(cast(Any, encoding)) if field.init]
    return {"acts": mechanism.__name__.lower(), "parameters": names}
