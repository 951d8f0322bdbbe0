"""What the commands share: options, arguments, and errors out of what the library says."""

from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import CompletionItem

from posenc.messages import LANGUAGES

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")

in_language = click.option(
    "--lang", type=click.Choice(LANGUAGES), default="en", show_default=True, help="Language."
)

EXTRAS = {"torch": "torch", "jax": "jax", "matplotlib": "plot", "transformers": "conformance"}
"""The optional libraries, each with the extra of posenc that installs it."""


def complete_name(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """For `shell_complete` of what names an encoding: the names, or else files (a config.json)."""
    from posenc.encodings import names
    from posenc.find import VARIANTS

    matching = [name for name in (*names(), *VARIANTS) if name.startswith(incomplete)]
    items = [CompletionItem(name) for name in matching]
    return items or [CompletionItem(incomplete, type="file")]


of_encodings = click.argument(
    "names",
    nargs=-1,
    metavar="[NAME | EXPRESSION | package.module:name | config.json]...",
    shell_complete=complete_name,
)

from_files = click.option(
    "--load", "files", multiple=True, help="A Python file with encodings of your own."
)


def usage(work: Callable[[], Any]) -> Any:
    """Run `work`; what the library says of a wrong argument is a usage error."""
    try:
        return work()
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


def missing(error: ModuleNotFoundError) -> click.ClickException:
    """A sentence with the command that installs what is missing."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        raise error
    return click.ClickException(
        f'{library} is not installed; this needs: pip install "posenc[{EXTRAS[library]}]"'
    )
