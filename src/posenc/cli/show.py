"""`posenc show`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from posenc.cli import options
from posenc.cli.loading import load_encodings
from posenc.cli.usage import (
    call_library,
    call_with_effect,
    describe_missing,
    reject_options,
    report_unwritable,
    split_names_and_text,
)

if TYPE_CHECKING:
    from posenc.core.encoding import Encoding

ENDINGS = (".png", ".svg", ".pdf")
# not every view depends on these
CHECKED = ("text", "length", "channels", "head", "causal", "trained", "seed")


class ViewKind(click.Choice[str]):
    """A kind of view; they are imported when this command needs them, not for --help of others."""

    def __init__(self) -> None:
        self.case_sensitive = True

    @cached_property
    def choices(self) -> tuple[str, ...]:
        from posenc.views import KINDS

        return tuple(KINDS)


@click.command()
@options.encodings
@options.load
@options.text
@click.option(
    "--kind",
    type=ViewKind(),
    help="What to draw; it must suit all encodings. [default: depends on the first encoding]",
)
@options.dim
@options.heads
@click.option("--length", type=int, help="Number of positions without --text.")
@click.option("--channels", help="Dimensions, pairs or heads to draw, counted from 0: 0,1,8.")
@click.option("--head", type=int, help="Head of a bias or of attention, counted from 0.")
@click.option(
    "--causal/--no-causal",
    default=None,
    help="Whether attention masks future keys. [default: as the encoding is meant to be used]",
)
@click.option("--trained", type=int, help="Training length to mark in the figure.")
@options.lang
@click.option("--dark", is_flag=True, help="Use a dark background.")
@click.option("--size", metavar="WxH", help="Figure size in inches, such as 8x4.5.")
@click.option("--dpi", type=float, default=150, show_default=True, help="Pixels per inch.")
@options.seed
@options.out(".png, .svg or .pdf. [default: posenc-NAME.png]")
@options.as_json
@click.option("--csv", "as_csv", is_flag=True, help="Print the numbers as CSV, one per line.")
def show(
    names: tuple[str, ...],
    files: tuple[str, ...],
    text: str | None,
    as_json: bool,
    as_csv: bool,
    out: str | None,
    dark: bool,
    size: str | None,
    dpi: float,
    channels: str | None,
    **arguments: Any,
) -> None:
    """Draw encodings of a sentence or of a range of positions.

    ENCODING is a name (see `posenc list`), an expression such as "RoPE(64, base=5e5)", a model's
    config.json, package.module:name, or a name defined in a --load file; several are drawn side by
    side. [default: sinusoidal, or the first that suits --kind] A single argument that is none of
    these is used as the sentence.

    \b
    posenc show rope alibi --kind attention
    posenc show "狗咬了人"
    posenc show rope yarn --kind decay --length 1000
    posenc show alibi --text "the dog bit the man" --kind attention --dark -o dog.svg

    --json prints {kind, title, panels, notes, columns}. Each panel is one of

    \b
    {panel: "image", title, values, rows, columns, limit, colours, unit, square, ratio,
     channel, of}
    {panel: "lines", title, x, lines, x_axis, y_axis, marks, steps, ratio, of}
    {panel: "dials", title, hands, names, labels, of}

    "values" are rows of numbers, coloured from -limit to limit; "channel" is their dimension, pair
    or head, or null if there are several; "of" is the index of the encoding, or null. A line is
    {name, y, colour, low, high} with one y for each x; colours are numbered from 0; nothing is
    averaged, so "ratio" is 1 and "low" and "high" are null. A mark is {name, x, y}, where either x
    or y is null. "hands" are [angle, length] for each name and label. Rows, columns and axes are
    {name, labels, log}. Numbers that are not finite are null.

    --csv prints one line per number: panel, title, row, row_label, column, column_label, value,
    length. The rows are those of an image, or lines, or dials; the columns are those of an image,
    or x, or hands; the value is the number, or y, or the angle; the length is that of a hand.
    """
    names, loaded, unnamed = load_encodings(names, files)
    names, text = split_names_and_text(names, text, loaded)
    kind = arguments["kind"]
    subjects, name = _choose_subjects((*names, *unnamed), loaded, kind)
    arguments |= {"text": text, "channels": _parse_numbers(channels)}
    as_numbers = as_json or as_csv
    if as_numbers:
        if as_json and as_csv:
            raise click.UsageError("--json cannot be combined with --csv")
        reject_options(
            ("out", "dark", "size", "dpi"),
            "cannot be combined with --json or --csv, which draw nothing",
        )

    def format_numbers(text: str | None, **arguments: Any) -> str:
        from posenc.views import view

        data = view(subjects, tokens=text, **arguments)
        return data.to_csv() if as_csv else json.dumps(data.to_json())

    if as_numbers or any(map(options.is_given, CHECKED)):
        numbers = call_with_effect(format_numbers, arguments, CHECKED)
        if as_numbers:
            click.echo(numbers, nl=as_json)
            return
    path = Path(out or f"posenc-{name}{'' if kind is None else f'-{kind}'}.png")
    if path.suffix.lower() not in ENDINGS:
        raise click.BadParameter(f"must end in .png, .svg or .pdf; got {path}", param_hint="--out")
    try:
        from posenc.plot import show as draw
    except ModuleNotFoundError as error:
        raise describe_missing(error, "draw figures", "plot") from error
    arguments["tokens"] = arguments.pop("text")
    figure = call_library(draw, subjects, **arguments, dark=dark, size=size, dpi=dpi)
    with report_unwritable(path):
        figure.savefig(path)
    for note in figure.notes:
        click.echo(note, err=True)
    click.echo(path)


def _choose_subjects(
    names: tuple[str, ...], loaded: dict[str, Encoding], kind: str | None
) -> tuple[list[Encoding | str], str]:
    """What to draw, by default the first encoding that suits `kind`; and a name for the file."""
    if not names:
        from posenc.views.kinds import first_encoding_for

        names = ("sinusoidal" if kind is None else first_encoding_for(kind),)
    return [loaded.get(name, name) for name in names], "-".join(map(_to_file_name, names))[:80]


def _to_file_name(name: str) -> str:
    """A name that can be part of a file name: a config's folder, an expression without brackets."""
    path = Path(name)
    name = (path.parent.name or path.stem) if path.suffix == ".json" else name
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return kept.strip("-")


def _parse_numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        why = f"must be whole numbers, such as 0,1,8; got {text}"
        raise click.BadParameter(why, param_hint="--channels") from None
