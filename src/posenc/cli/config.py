"""`posenc config`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

import posenc
from posenc.cli import options
from posenc.cli.engine import compare_engine
from posenc.cli.extend import extend_config
from posenc.cli.usage import call_library, print_data, reject_options

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
@click.option(
    "--extend",
    "method",
    type=click.Choice(("linear", "pi", "ntk", "dynamic", "yarn", "llama3", "longrope")),
    help="Scale the encoding for longer texts, and show what that changes.",
)
@click.option("--factor", type=float, help="With --extend: new length / trained length.")
@click.option(
    "--trained-length", type=int, help="With --extend: the trained length, if the file's is wrong."
)
@click.option(
    "--factors", metavar="FILE", help="With --extend longrope: its factors, as a JSON file."
)
@click.option(
    "--replace", is_flag=True, help="With --extend: replace a scaling that the file already has."
)
@options.out("the extended config, as JSON.")
@click.option("--force", is_flag=True, help="With --out: overwrite a file that exists.")
@click.option(
    "--engine",
    type=click.Choice(("vllm", "llama.cpp", "transformers")),
    help="Show where this engine reads the file differently.",
)
@options.as_json
def config(
    paths: tuple[str, ...],
    layer: int | None,
    pairing: Pairing | None,
    method: str | None,
    engine: str | None,
    as_json: bool,
    **extension: Any,
) -> None:
    """Describe the encodings of a model's config.json, or compare two.

    \b
    posenc config llama/config.json
    posenc config llama/config.json qwen/config.json
    posenc config llama/config.json --extend yarn --factor 4 -o new.json
    posenc config llama/config.json --engine vllm

    \b
    --json prints {"model_type", "layers", "trained_length", "groups": [{"where",
    "encoding", …}], "notes"}; for two models {"models": [both], "differences":
    [{"what", "where", "first", "second", "means"}]}; with --extend {"config",
    "before", "after", "trained_length", "length", "layer_type", "replaced",
    "pairs": [{"pair", "before", "after", "turns", "band"}]}; with --engine
    {"engine", "version", "differences": [{"where", "what", "formula", "ours",
    "theirs", …}]}.
    """
    from posenc.core.encoding import unwrap
    from posenc.core.mechanisms import Rotary
    from posenc.interop.describe import compare, describe
    from posenc.interop.summary import summarise

    special = {"--extend": method, "--engine": engine}
    given = [name for name, value in special.items() if value is not None]
    path, *others = paths
    if given and (others or len(given) > 1 or layer is not None):
        raise click.UsageError(f"{given[0]} takes one path, and neither --layer nor another action")
    if method is not None:
        extend_config(path, method, pairing, as_json=as_json, **extension)
        return
    reject_options(extension, "needs --extend")
    if engine is not None:
        compare_engine(path, engine, pairing, as_json=as_json)
        return
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


def _format_differences(rows: list[dict[str, object]]) -> Iterator[str]:
    if not rows:
        yield "no differences"
    for row in rows:
        where = f" ({row['where']})" if row["where"] else ""
        first, second = (_format_value(row[side]) for side in ("first", "second"))
        yield f"{str(row['what']).replace('_', ' ')}{where}: {first} | {second}"
        yield f"  {row['means']}"


def _format_value(value: object) -> str:
    if isinstance(value, float):
        whole = value.is_integer() or abs(value) < 1e5
        return f"{value:,.10g}" if whole else f"{value:,.1f}"
    return f"{value:,}" if type(value) is int else str(value)
