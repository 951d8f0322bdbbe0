"""`posenc list`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import inspect
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, cast

import click

import posenc
from posenc.cli import options
from posenc.cli.loading import resolve_names
from posenc.cli.usage import call_library, print_data


@click.command("list")
@options.encodings
@options.as_json
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
    if names:
        chosen = resolve_names(names, {})
        details = {name: describe_encoding(encoding) for name, encoding in chosen.items()}
        lines = [line for name, row in details.items() for line in (name, *_format_details(row))]
        print_data({"encodings": details}, lines, as_json=as_json)
        return
    from posenc.names.expressions import to_source
    from posenc.names.resolve import SCALED

    kinds = call_library(posenc.catalogue)
    rows = {name: describe_class(kind) for name, kind in kinds.items()}
    variants = {name: to_source(make(64)) for name, make in SCALED.items()}
    lines = [
        f"{name:<18} {row['acts']:<9} {', '.join(row['parameters'])}" for name, row in rows.items()
    ]
    for name, expression in variants.items():
        shown = expression if len(expression) < 80 else f"{expression[:76]} …)"
        lines.append(f"{name:<18} {'rotary':<9} {shown}")
    print_data({"encodings": rows, "variants": variants}, lines, as_json=as_json)


def describe_class(encoding: type[posenc.Encoding]) -> dict[str, Any]:
    """The mechanism of a class of encodings, and the names of its fields."""
    names = [field.name for field in fields(cast(Any, encoding)) if field.init]
    return {"acts": encoding.mechanism, "parameters": names}


def describe_encoding(encoding: posenc.Encoding) -> dict[str, Any]:
    """Everything an encoding states about itself: arguments, claims, source, models."""
    from posenc.i18n.arguments import argument_help
    from posenc.names.expressions import presets, to_source

    kind, about = type(encoding), encoding.about
    return {
        "title": about.title,
        "acts": encoding.mechanism,
        "expression": to_source(encoding),
        "parameters": {
            name: {
                "default": None if each.default is each.empty else repr(each.default),
                "help": argument_help(kind, name),
            }
            for name, each in inspect.signature(kind).parameters.items()
        },
        "presets": presets(kind),
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
