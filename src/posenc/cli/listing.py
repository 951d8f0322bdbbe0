"""`posenc list`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import inspect
import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

import click

import posenc
from posenc.cli.options import encodings_argument, json_option
from posenc.cli.usage import call_library


@click.command("list")
@encodings_argument
@json_option
def list_encodings(names: tuple[str, ...], as_json: bool) -> None:
    """List all encodings, or describe some in detail.

    The list shows the mechanism and the arguments of each. ENCODING is a name, an expression such
    as "RoPE(64, base=5e5)", a model's config.json, or package.module:name.

    \b
    posenc list
    posenc list rope

    \b
    --json prints {"encodings": {NAME: {"acts", "parameters"}},
    "variants": {NAME: EXPRESSION}}; for named encodings {"encodings": {NAME: {"title",
    "acts", "expression", "parameters": {NAME: {"default", "help"}}, "presets",
    "traits", "paper", "year", "models"}}}, where "default" is a Python expression, or
    null for a required argument.
    """
    from posenc.names.expressions import to_source
    from posenc.names.resolve import SCALED, resolve

    if names:
        chosen: dict[str, posenc.Encoding] = {}
        for name in names:
            chosen |= call_library(lambda name=name: resolve(name))
        details = {name: describe_encoding(encoding) for name, encoding in chosen.items()}
        if as_json:
            click.echo(json.dumps({"encodings": details}))
            return
        for name, row in details.items():
            click.echo("\n".join([name, *_format_details(row)]))
        return
    kinds = call_library(posenc.catalogue)
    rows = {name: describe_class(kind) for name, kind in kinds.items()}
    variants = {name: to_source(make(64)) for name, make in SCALED.items()}
    if as_json:
        click.echo(json.dumps({"encodings": rows, "variants": variants}))
        return
    for name, row in rows.items():
        click.echo(f"{name:<18} {row['acts']:<9} {', '.join(row['parameters'])}")
    for name, expression in variants.items():
        shown = expression if len(expression) < 80 else f"{expression[:76]} …)"
        click.echo(f"{name:<18} {'rotary':<9} {shown}")


def describe_class(encoding: type[posenc.Encoding]) -> dict[str, Any]:
    """The mechanism of a class of encodings, and the names of its fields."""
    mechanism = next(
        kind
        for kind in (posenc.Additive, posenc.Rotary, posenc.Bias, posenc.Scores)
        if issubclass(encoding, kind)
    )
    names = [field.name for field in fields(cast(Any, encoding)) if field.init]
    return {"acts": mechanism.__name__.lower(), "parameters": names}


def describe_encoding(encoding: posenc.Encoding) -> dict[str, Any]:
    """Everything an encoding states about itself: arguments, claims, source, models."""
    from posenc.i18n.arguments import argument_help
    from posenc.names.expressions import presets, to_source

    row = describe_class(type(encoding))
    about = encoding.about
    return {
        "title": about.title,
        "acts": row["acts"],
        "expression": to_source(encoding),
        "parameters": {
            name: {
                "default": None
                if parameter.default is parameter.empty
                else repr(parameter.default),
                "help": argument_help(type(encoding), name),
            }
            for name, parameter in inspect.signature(type(encoding)).parameters.items()
        },
        "presets": presets(type(encoding)),
        "traits": list(encoding.traits.claims()),
        "paper": about.paper,
        "year": about.year,
        "models": list(about.models),
    }


def _format_details(row: dict[str, Any]) -> Iterator[str]:
    """One line for each label that has a value, then the arguments."""
    year = f" ({row['year']})" if row["year"] else ""
    for label, text in (
        ("title", row["title"]),
        ("acts", row["acts"]),
        ("example", row["expression"]),
        ("presets", ", ".join(row["presets"])),
        ("traits", ", ".join(row["traits"]).replace("_", " ")),
        ("paper", f"{row['paper']}{year}"),
        ("models", ", ".join(row["models"])),
    ):
        if text:
            yield f"  {label:<11} {text}"
    for name, parameter in row["parameters"].items():
        default = parameter["default"]
        yield f"  {name if default is None else f'{name}={default}'}"
        if parameter["help"]:
            yield f"      {parameter['help']}"
