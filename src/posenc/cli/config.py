"""`posenc config`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

import posenc
from posenc.cli.usage import as_json, usage

if TYPE_CHECKING:
    from posenc.core.rotation import Pairing


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH [PATH2]")
@click.option("--layer", type=int, help="Only this layer, from 0.")
@click.option(
    "--pairing",
    type=click.Choice(("interleaved", "halves")),
    help="How channels are paired, for a model type that is not known.",
)
@as_json
def config(
    paths: tuple[str, ...], layer: int | None, pairing: Pairing | None, as_json: bool
) -> None:
    """Tell what a model does about positions, from its config.json; or what two do differently.

    \b
    posenc config llama/config.json
    posenc config llama/config.json qwen/config.json

    \b
    JSON: {"model_type", "layers", "trained_length", "groups": [{"where", "encoding", …}],
           "notes"}; of two models {"models": [both], "differences": [{"what", "where",
           "first", "second", "means"}]}
    """
    from posenc.interop.config import inner
    from posenc.interop.describe import compare, describe

    if len(paths) > 2:
        raise click.UsageError(f"one path, or two to compare; got {len(paths)}")
    models = [usage(lambda path=path: posenc.read_config(path, pairing=pairing)) for path in paths]
    for model in models:
        if pairing is not None and not any(hasattr(inner(e), "pairing") for e in model.layers):
            raise click.UsageError(
                f"--pairing must be left out: {model.model_type} rotates no channels"
            )
        if layer is not None and not 0 <= layer < len(model.layers):
            raise click.UsageError(
                f"--layer must be one of 0 .. {len(model.layers) - 1}; got {layer}"
            )
    told = [describe(model, layer=layer) for model in models]
    rows = compare(*told) if len(told) == 2 else None
    if as_json:
        click.echo(json.dumps(told[0] if rows is None else {"models": told, "differences": rows}))
        return
    for line in _model_lines(told[0]) if rows is None else _difference_lines(rows):
        click.echo(line)


def _model_lines(told: dict[str, Any]) -> Iterator[str]:
    length = told["trained_length"]
    trained = "unknown" if length is None else f"{length:,}"
    yield f"{told['model_type']}: {told['layers']} layers, trained length {trained}"
    for group in told["groups"]:
        yield f"layers {group['where']}: {group['encoding']}"
        if "pairing" in group:
            base = f"base {group['base']:,.10g}, " if "base" in group else ""
            channels = f"{group['rotary_dim']} of {group['dim']} channels turn"
            yield f"  {base}{channels}, pairing {group['pairing']}"
            wave = group["longest_wavelength"]
            if wave is not None and length is not None:
                turns = f"{group['full_turns']} of {group['pairs']}"
                yield f"  {turns} pairs complete a turn within {trained} tokens"
            if wave is not None:
                yield f"  longest wavelength: {wave:,.1f} tokens"
            if group["still_pairs"]:
                yield f"  {group['still_pairs']} pairs do not turn"
            if "scaling" in group:
                yield f"  scaling: {group['does']}"
            yield f"  attention factor: {group['attention_factor']:.6g}"
        yield f"  beyond the trained length: {group['beyond']}"
    for note in told["notes"]:
        yield f"note: {note}"


def _difference_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "no difference"
    for row in rows:
        where = f" ({row['where']})" if row["where"] else ""
        first, second = (_shown(row[side]) for side in ("first", "second"))
        yield f"{row['what'].replace('_', ' ')}{where}: {first} | {second}"
        yield f"  {row['means']}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        whole = value.is_integer() or abs(value) < 1e5
        return f"{value:,.10g}" if whole else f"{value:,.1f}"
    return f"{value:,}" if type(value) is int else str(value)
