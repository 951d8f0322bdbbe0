"""The options and arguments that several commands share."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from collections.abc import Callable
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from posenc.i18n import LANGUAGES, language


class Language(click.Choice[str]):
    """One of our languages, by any tag that means it: zh, zh-CN, zh_TW, jp, en-US."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return language(value)
        except (ValueError, TypeError):
            return super().convert(value, param, ctx)


def complete_name(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete an ENCODING: with names that match, or else with files (a config.json)."""
    from posenc.core.hints import fold
    from posenc.encodings.registry import names
    from posenc.names.resolve import SCALED

    start = fold(incomplete)
    matching = [name for name in (*names(), *SCALED) if fold(name).startswith(start)]
    items = [CompletionItem(name) for name in matching]
    return items or [CompletionItem(incomplete, type="file")]


encodings = click.argument("names", nargs=-1, metavar="[ENCODING]...", shell_complete=complete_name)

load = click.option(
    "--load",
    "files",
    multiple=True,
    metavar="FILE",
    help="Load encodings from a Python file: the ones named as ENCODING, or all of them. "
    "Can be repeated.",
)

every = click.option(
    "--all",
    "every",
    is_flag=True,
    help="All built-in encodings and those of installed packages, without variants such as yarn.",
)

dim = click.option("--dim", type=int, help="Number of channels of encodings given by name.")

heads = click.option(
    "--heads", type=int, help="Number of attention heads of encodings given by name."
)

text = click.option("--text", metavar="SENTENCE", help="Sentence to tokenize and encode.")

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")

lang = click.option(
    "--lang",
    type=Language(LANGUAGES),
    default="en",
    show_default=True,
    help="Output language. Common tags such as zh, zh-TW and jp are accepted.",
)

seed = click.option("--seed", default=0, show_default=True, help="Random seed.")

limit = click.option(
    "--limit", default=20.0, show_default=True, help="Time limit per check, in seconds."
)


def out(formats: str) -> Callable[..., Any]:
    """`--out FILE`; `formats` lists the file name endings that it takes."""
    return click.option(
        "-o",
        "--out",
        type=click.Path(dir_okay=False, writable=True),
        metavar="FILE",
        callback=_reject_empty,
        help=f"Output file: {formats}",
    )


def _reject_empty(_ctx: click.Context, _param: click.Parameter, path: str | None) -> str | None:
    if path == "":  # an unset shell variable
        raise click.BadParameter("must be a file name; got ''")
    return path


def is_given(name: str) -> bool:
    """Whether this parameter of the running command was typed, rather than left at its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT
