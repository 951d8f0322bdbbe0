"""`posenc explain` and `posenc demo`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from pathlib import Path
from typing import Any

import click

import posenc
from posenc.cli import options
from posenc.cli.loading import find_loaded
from posenc.cli.usage import (
    call_library,
    call_with_effect,
    merge_format,
    reject_options,
    report_unwritable,
    split_names_and_text,
)
from posenc.i18n import Language

FORMATS = ("text", "markdown", "latex", "html", "json")
ENDINGS = dict(zip((".txt", ".md", ".tex", ".html", ".json"), FORMATS, strict=True)) | {"": "text"}
DEMONSTRATIONS = ("permutation", "rope-relative", "rope-steps", "addition")

format_option = click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    help="Output format. [default: from the extension of --out, else text]",
)
text_file_option = options.out(".txt, .md, .tex, .html or .json.")


@click.command()
@click.argument("encoding", shell_complete=options.complete_name)
@click.option("--load", "file", metavar="FILE", help="Python file that defines the encoding.")
@click.option(
    "--dim", type=int, help="Number of channels of an encoding given by name. [default: 8]"
)
@click.option(
    "--heads", type=int, help="Number of attention heads of a bias given by name. [default: 4]"
)
@options.text
@click.option("--length", type=int, help="Number of positions without --text. [default: 3]")
@click.option("--position", default=3, show_default=True, help="Position to work through.")
@click.option("--digits", default=4, show_default=True, help="Digits after the decimal point.")
@options.seed
@options.lang
@format_option
@text_file_option
@options.as_json
def explain(
    encoding: str,
    file: str | None,
    text: str | None,
    form: str | None,
    out: str | None,
    as_json: bool,
    **arguments: Any,
) -> None:
    """Work through an encoding step by step, with its numbers.

    ENCODING is a name (see `posenc list`), an expression such as "RoPE(64, base=5e5)", a model's
    config.json, or package.module:name; with --load, a name defined in that file, or a call of one
    of its classes, such as "Mine(16)".

    \b
    posenc explain sinusoidal --text "狗咬了人" --lang zh
    posenc explain rope --position 3
    posenc explain "RoPE(64, scaling=YaRN(4, 8192))" -o yarn.html

    --json prints {title, lang, steps}; each step has a name, words, formulas (trees of
    [kind, part, ...]) and a table of {columns, rows}, with all digits.
    """
    form = _choose_format(form, out, as_json=as_json)
    if form == "json":
        reject_options(["digits"], "does not apply to JSON, which has all digits")
    if file is None:
        names, text = split_names_and_text((encoding,), text)
        subject: Any = (*names, "sinusoidal")[0]
    else:
        subject = call_library(_load_one, encoding, file)

    def render(text: str | None, **arguments: Any) -> str:
        return posenc.explain(subject, tokens=text, **arguments).render(form)

    checked = ("text", "length", "position", "seed")
    _write(out, call_with_effect(render, {"text": text, **arguments}, checked))


def _write(path: str | None, text: str) -> None:
    """Print the text, or write it to a file and print the file's name."""
    if path is None:
        click.echo(text, nl=False)
        return
    with report_unwritable(path), open(path, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text if text.endswith("\n") else f"{text}\n")
    click.echo(path)


def _choose_format(form: str | None, out: str | None, *, as_json: bool) -> str:
    """The output format: by name, by --json or by the ending of the file."""
    form = merge_format(form, as_json=as_json)
    ending = "" if out is None else Path(out).suffix.lower()
    if ending not in ENDINGS:
        why = f"must end in .txt, .md, .tex, .html or .json; got {out}"
        raise click.BadParameter(why, param_hint="--out")
    return form or ENDINGS[ending]


def _load_one(name: str, file: str) -> posenc.Encoding:
    from posenc.names.resolve import load_file

    defined = load_file(file)
    match = find_loaded(name, defined)
    if match is None:
        raise ValueError(f"ENCODING must be defined in {file}: {', '.join(defined)}; got {name!r}")
    return match[1]


@click.command()
@click.argument("name", type=click.Choice(DEMONSTRATIONS))
@options.lang
@format_option
@text_file_option
@options.as_json
def demo(name: str, lang: Language, form: str | None, out: str | None, as_json: bool) -> None:
    """Show one of the tutorials' demonstrations, with its numbers.

    \b
    permutation    attention by itself ignores the order of tokens
    rope-relative  products of rotated vectors depend only on their distance
    rope-steps     the rotation of a vector, step by step
    addition       embedding + encoding = input

    --json prints the same object as `posenc explain --json`.
    """
    form = _choose_format(form, out, as_json=as_json)
    _write(out, posenc.demonstrate(name, lang=lang).render(form))
