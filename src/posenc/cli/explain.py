"""`posenc explain` and `posenc demo`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from pathlib import Path
from typing import Any

import click

import posenc
from posenc.cli.own import find_own
from posenc.cli.usage import (
    as_json,
    complete_name,
    effective,
    encodings_or_text,
    file_for,
    in_language,
    refuse,
    seeded,
    usage,
    write,
)

FORMS = ("text", "markdown", "latex", "html", "json")
ENDINGS = {
    "": "text",
    ".txt": "text",
    ".md": "markdown",
    ".tex": "latex",
    ".html": "html",
    ".json": "json",
}
DEMONSTRATIONS = ("permutation", "rope-relative", "rope-steps", "addition")

in_form = click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    help="Output format. [default: text, or by the ending of --out]",
)
to_file = file_for(".txt, .md, .tex, .html or .json")


@click.command()
@click.argument("encoding", shell_complete=complete_name)
@click.option(
    "--load", "file", metavar="FILE", help="Python file with encodings of your own; one of them."
)
@click.option("--dim", type=int, help="Channels, for a name. [default: 8]")
@click.option("--heads", type=int, help="Heads, for the name of a bias. [default: 4]")
@click.option("--text", help="Sentence whose tokens are encoded.")
@click.option("--length", type=int, help="Number of positions without --text. [default: 3]")
@click.option("--position", default=3, show_default=True, help="Position that is worked out.")
@click.option("--digits", default=4, show_default=True, help="Digits after the point.")
@seeded
@in_language
@in_form
@to_file
@as_json
def explain(
    encoding: str,
    file: str | None,
    text: str | None,
    form: str | None,
    out: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Work out an encoding, every step with its numbers.

    ENCODING is a name (`posenc list`), an expression such as "RoPE(64, base=5e5)", a model's
    config.json, or package.module:name; with --load, a name in that file or
    a call of a class in it, such as "Mine(16)".

    \b
    posenc explain sinusoidal --text "我 爱 学习 AI" --lang zh
    posenc explain rope --position 3
    posenc explain "RoPE(64, scaling=YaRN(4, 8192))" -o yarn.html

    --json prints {title, lang, steps}; a step has a name, words, formulas (trees of
    [kind, part, ...]) and a table of {columns, rows}, its numbers with all their digits.
    """
    form = _form(form, out, as_json=as_json)
    if form == "json":
        refuse(["digits"], "JSON has all digits")
    if file is None:
        names, text = encodings_or_text((encoding,), text)
        what: Any = (*names, "sinusoidal")[0]
    else:
        what = usage(lambda: _loaded(encoding, file))

    def make(**options: Any) -> str:
        explained = posenc.explain(what, tokens=options.pop("text"), **options)
        return explained.shown(form)

    made = usage(
        lambda: effective(make, {"text": text, **options}, ("text", "length", "position", "seed"))
    )
    write(out, made, nl=False)


def _form(form: str | None, out: str | None, *, as_json: bool) -> str:
    """The format that was asked for, by name, by --json or by the ending of the file."""
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} cannot both be; leave one out")
    ending = "" if out is None else Path(out).suffix.lower()
    if ending not in ENDINGS:
        raise click.BadParameter(
            f"must end in .txt, .md, .tex, .html or .json; got {out}", param_hint="--out"
        )
    return "json" if as_json else form or ENDINGS[ending]


def _loaded(name: str, file: str) -> posenc.Encoding:
    from posenc.names.resolve import loaded

    mine = loaded(file)
    found = find_own(name, mine)
    if found is None:
        raise ValueError(
            f"ENCODING must be one of {', '.join(mine)}, as {file} has them; got {name!r}"
        )
    return found[1]


@click.command()
@click.argument("name", type=click.Choice(DEMONSTRATIONS))
@in_language
@in_form
@to_file
@as_json
def demo(name: str, lang: str, form: str | None, out: str | None, as_json: bool) -> None:
    """Show one of the tutorials' demonstrations, with its numbers.

    \b
    permutation    attention alone does not see the order of words
    rope-relative  products of rotated vectors depend on their distance only
    rope-steps     the rotation of a vector, step by step
    addition       embedding + encoding = input

    --json prints what `posenc explain --json` prints.
    """
    shown = posenc.demonstrate(name, lang=lang).shown(_form(form, out, as_json=as_json))
    write(out, shown, nl=False)
