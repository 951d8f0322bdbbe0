"""`posenc explain` and `posenc demo`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from typing import Any

import click

import posenc
from posenc.cli.usage import complete_name, in_language, usage

FORMS = ("text", "markdown", "latex", "html", "json")
DEMONSTRATIONS = ("permutation", "rope-relative", "rope-steps", "addition")

in_form = click.option(
    "--format", "form", type=click.Choice(FORMS), default="text", show_default=True, help="As what."
)
as_json = click.option("--json", "form", flag_value="json", help="The same as --format json.")


@click.command()
@click.argument(
    "name",
    metavar="NAME | EXPRESSION | package.module:name | config.json",
    shell_complete=complete_name,
)
@click.option(
    "--load", "file", help="A Python file with encodings of your own; NAME is one of them."
)
@click.option("--dim", type=int, help="Channels, for a NAME. [default: 8]")
@click.option("--heads", type=int, help="Heads, for the NAME of a bias. [default: 4]")
@click.option(
    "--length", type=int, help="How many positions, where there are no tokens. [default: 3]"
)
@click.option("--position", default=3, show_default=True, help="Where angles are worked out.")
@click.option("--tokens", help="A sentence: its tokens stand before their rows.")
@click.option("--digits", default=4, show_default=True, help="Digits behind the point.")
@click.option("--seed", default=0, show_default=True, help="For what is learned.")
@in_language
@in_form
@as_json
def explain(name: str, file: str | None, form: str, **options: Any) -> None:
    """Work out an encoding, every step with its numbers.

    \b
    posenc explain sinusoidal --tokens "我 爱 学习 AI" --lang zh-Hans
    posenc explain rope --position 3
    posenc explain "RoPE(64, scaling=YaRN(4, 8192))" --format html > yarn.html

    --json prints {title, lang, steps}; a step has a name, words, formulas (trees of
    [kind, part, ...]) and a table of {columns, rows}, its numbers with all their digits.
    """
    what = name if file is None else usage(lambda: _loaded(name, file))
    explained = usage(lambda: posenc.explain(what, **options))
    click.echo(explained.shown(form), nl=False)


def _loaded(name: str, file: str) -> posenc.Encoding:
    from posenc.find import loaded

    mine = loaded(file)
    if name not in mine:
        raise ValueError(f"NAME must be one of {', '.join(mine)}, as {file} has them; got {name!r}")
    return mine[name]


@click.command()
@click.argument("name", type=click.Choice(DEMONSTRATIONS))
@in_language
@in_form
@as_json
def demo(name: str, lang: str, form: str) -> None:
    """Show one of the tutorials' demonstrations, with its numbers.

    \b
    permutation    attention alone does not see the order of words
    rope-relative  products of rotated vectors depend on their distance only
    rope-steps     the rotation of a vector, step by step
    addition       embedding + encoding = input

    --json prints what `posenc explain --json` prints.
    """
    click.echo(posenc.demonstrate(name, lang=lang).shown(form), nl=False)
