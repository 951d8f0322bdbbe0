"""`posenc config`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

import posenc
from posenc.cli import options
from posenc.cli.usage import call_library, print_data

if TYPE_CHECKING:
    from posenc.core.rotation import Pairing


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH [PATH2]")
@click.option("--layer", type=int, help="Show only this layer, counted from 0.")
@click.option(
    "--pairing",
    type=click.Choice(("interleaved", "halves")),
    help="Channel pairing of RoPE, for an unknown model type.",
)
@options.as_json
def config(
    paths: tuple[str, ...], layer: int | None, pairing: Pairing | None, as_json: bool
) -> None:
    """Describe the encodings of a model's config.json, or compare two.

    \b
    posenc config llama/config.json
    posenc config llama/config.json qwen/config.json

    \b
    --json prints {"model_type", "layers", "trained_length", "groups": [{"where",
    "encoding", …}], "notes"}; for two models {"models": [both], "differences":
    [{"what", "where", "first", "second", "means"}]}.
    """
    from posenc.core.encoding import unwrap
    from posenc.core.mechanisms import Rotary
    from posenc.interop.describe import compare, describe
    from posenc.interop.summary import summarise

    if len(paths) > 2:
        raise click.UsageError(f"expected one path, or two to compare; got {len(paths)}")
    models = [call_library(posenc.read_config, path, pairing=pairing) for path in paths]
    for model in models:
        if pairing is not None and not any(isinstance(unwrap(e), Rotary) for e in model.layers):
            raise click.UsageError(
                f"--pairing does not apply: {model.model_type} has no rotary encoding"
            )
        if layer is not None and not 0 <= layer < len(model.layers):
            raise click.UsageError(
                f"--layer must be one of 0 .. {len(model.layers) - 1}; got {layer}"
            )
    summaries = [describe(model, layer=layer) for model in models]
    if len(summaries) == 1:
        print_data(summaries[0], summarise(summaries[0]), as_json=as_json)
        return
    differences = compare(*summaries)
    data = {"models": summaries, "differences": differences}
    print_data(data, _format_differences(differences), as_json=as_json)


def _format_differences(rows: list[dict[str, Any]]) -> Iterator[str]:
    if not rows:
        yield "no differences"
    for row in rows:
        where = f" ({row['where']})" if row["where"] else ""
        first, second = (_format_value(row[side]) for side in ("first", "second"))
        yield f"{row['what'].replace('_', ' ')}{where}: {first} | {second}"
        yield f"  {row['means']}"


def _format_value(value: object) -> str:
    if isinstance(value, float):
        whole = value.is_integer() or abs(value) < 1e5
        return f"{value:,.10g}" if whole else f"{value:,.1f}"
    return f"{value:,}" if type(value) is int else str(value)
