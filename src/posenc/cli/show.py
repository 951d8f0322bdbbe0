"""`posenc show`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
from pathlib import Path
from typing import Any

import click

from posenc.cli.own import load_own
from posenc.cli.usage import (
    as_json,
    effective,
    encodings_or_text,
    file_for,
    from_files,
    given,
    in_language,
    install,
    of_encodings,
    refuse,
    seeded,
    usage,
)

# written down here, for a quick --help: what they are elsewhere, a test holds
ENDINGS = (".png", ".svg", ".pdf")
KINDS = [
    "heatmap",
    "waves",
    "wavelengths",
    "similarity",
    "products",
    "rotation",
    "decay",
    "bias",
    "scalings",
    "maps",
    "learned",
    "sum",
    "attention",
]


@click.command()
@of_encodings
@from_files
@click.option("--text", help="Sentence whose tokens are encoded.")
@click.option(
    "--kind",
    type=click.Choice(KINDS),
    help="Of what is added or rotated: heatmap, waves, wavelengths, similarity, products; of what "
    "is added: sum, and learned if it is that; of what is rotated: rotation, decay, scalings; of a "
    "bias: bias; on a grid: maps; of any: attention. [default: what suits the encoding]",
)
@click.option("--dim", type=int, help="Channels of encodings given by name.")
@click.option("--heads", type=int, help="Heads of encodings given by name.")
@click.option("--length", type=int, help="Number of positions without --text.")
@click.option("--channels", help="Dimensions, pairs or heads to show, from 0: 0,1,8.")
@click.option("--head", type=int, help="Head to look at, from 0, of a bias or of attention.")
@click.option(
    "--causal/--no-causal",
    default=None,
    help="Whether attention sees no keys ahead. [default: what the encoding is meant for]",
)
@click.option("--trained", type=int, help="Length of training, to be marked.")
@in_language
@click.option("--dark", is_flag=True, help="Light on dark.")
@click.option("--size", metavar="WxH", help="Inches, such as 8x4.5.")
@click.option("--dpi", type=float, default=150, show_default=True, help="Pixels per inch.")
@seeded
@file_for(".png, .svg or .pdf; [default: posenc-NAME.png]")
@as_json
@click.option("--csv", "as_csv", is_flag=True, help="Print one long table.")
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
    **asked: Any,
) -> None:
    """Draw encodings: of a sentence, token by token, or of so many positions.

    An ENCODING is a name (`posenc list`), an expression such as "RoPE(64, base=5e5)", a model's
    config.json, package.module:name, or a name in a file of --load; several are drawn side by side.
    [default: sinusoidal, or the first that suits the kind] A lone argument that is none of these is
    taken as the sentence.

    \b
    posenc show rope alibi --kind attention
    posenc show "我 爱 学习 AI"
    posenc show rope yarn --kind decay --length 1000
    posenc show alibi --text "the dog bit the man" --kind attention --dark -o dog.svg

    --json prints {kind, title, panels, notes, columns}. A panel is one of

    \b
    {panel: "image", title, values, rows, columns, limit, colours, unit, square, ratio,
     channel, of}
    {panel: "lines", title, x, lines, x_axis, y_axis, marks, steps, ratio, of}
    {panel: "dials", title, hands, names, labels, of}

    values are rows of numbers, coloured from -limit to limit; channel is the dimension, pair or
    head that they are of, null if of several; of is the number of the encoding, from 0, null if
    there is not one; a line is {name, y, colour, low, high}, with a y for each x and a colour
    counted from 0; nothing is averaged here, so ratio is 1, low and high are null; a mark is
    {name, x, y}, one of them null; hands are [angle, length] for each dial's name and each label;
    rows, columns and axes are {name, labels, log}. null is what is not a finite number.

    --csv prints a line for each number: panel, title, row, row_label, column, column_label, value,
    length. Rows are an image's rows, lines or dials; columns are an image's columns, x or hands;
    value is the number, y or the angle; length is a hand's.
    """
    names, own, unnamed = load_own(names, files)
    names, text = encodings_or_text(names, text, own)
    what, name = _found((*names, *unnamed), own, asked["kind"])
    asked |= {"text": text, "channels": _numbers(channels)}
    if as_json or as_csv:
        if as_json and as_csv:
            raise click.UsageError("--json and --csv cannot both be; leave one out")
        refuse(("out", "dark", "size", "dpi"), "--json and --csv print numbers and draw nothing")

    def numbers(**options: Any) -> str:
        from posenc.views import view

        made = view(what, tokens=options.pop("text"), **options)
        return made.to_csv() if as_csv else json.dumps(made.to_json())

    idle = (
        "text",
        "length",
        "head",
        "causal",
        "trained",
        "seed",
    )  # where a view does not look at them
    if as_json or as_csv:
        click.echo(usage(lambda: effective(numbers, asked, idle)), nl=as_json)
        return
    if any(map(given, idle)):
        usage(lambda: effective(numbers, asked, idle))
    kind = asked["kind"]
    path = Path(out or f"posenc-{name}{'' if kind is None else f'-{kind}'}.png")
    if path.suffix.lower() not in ENDINGS:
        raise click.BadParameter(f"must end in .png, .svg or .pdf; got {path}", param_hint="--out")
    asked["tokens"] = asked.pop("text")
    _draw(path, what, **asked, dark=dark, size=size, dpi=dpi)


def _draw(path: Path, what: list[Any], **asked: Any) -> None:
    try:
        import posenc.plot
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"{error.name} is not installed; figures need: {install('plot')}"
        ) from error
    figure = usage(lambda: posenc.plot.show(what, **asked))
    try:
        figure.savefig(path)
    except OSError as error:
        raise click.BadParameter(
            f"cannot write {path}: {error.strerror}", param_hint="--out"
        ) from error
    for note in figure.notes:
        click.echo(note, err=True)
    click.echo(path)


def _found(names: tuple[str, ...], own: dict[str, Any], kind: str | None) -> tuple[list[Any], str]:
    """What is shown, and a name for its file; where nothing is named, the first that suits."""
    if not names:
        from posenc.views.kinds import suiting

        names = ("sinusoidal" if kind is None else suiting(kind),)
    return [own.get(name, name) for name in names], "-".join(map(_plain, names))[:80]


def _plain(name: str) -> str:
    """A name that can stand in a file's: a config by its folder, an expression without brackets."""
    path = Path(name)
    name = (path.parent.name or path.stem) if path.suffix == ".json" else name
    kept = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
    return kept.strip("-")


def _numbers(text: str | None) -> list[int] | None:
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(
            f"must be whole numbers, such as 0,1,8; got {text}", param_hint="--channels"
        ) from None
