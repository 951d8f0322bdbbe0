"""`posenc explore`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import os
from typing import Any

import click

from posenc.cli.usage import from_files, usage
from posenc.messages import LANGUAGES


@click.command()
@click.option("--port", default=8765, show_default=True, help="Where; the next free one if taken.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Who can reach it.")
@click.option("--no-open", is_flag=True, help="Only print the address; open no browser.")
@from_files
@click.option("--tokenizer", help="A tokenizer.json of your own, for the page's tokens.")
@click.option("--lang", type=click.Choice(LANGUAGES), help="The page's language. [the browser's]")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
def explore(
    port: int,
    host: str,
    no_open: bool,
    files: tuple[str, ...],
    tokenizer: str | None,
    lang: str | None,
    as_json: bool,
) -> None:
    """Open the explorer: type a sentence, see its positional encoding.

    \b
    posenc explore
    posenc explore --load mine.py --lang ja

    JSON: {"address"}, before it serves; Ctrl-C stops it.
    """
    # Two threads work side by side: BLAS, which waits by spinning, has one in each.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        from posenc.explorer.serve import serve
    except ModuleNotFoundError as error:
        library = (error.name or "").partition(".")[0]
        raise click.ClickException(
            f'{library} is not installed; the explorer needs: pip install "posenc[explorer]"'
        ) from error
    from posenc import find
    from posenc.text import from_file

    loaded: dict[str, Any] = {}
    for file in files:
        loaded |= usage(lambda file=file: find.loaded(file))
    own = None if tokenizer is None else usage(lambda: from_file(tokenizer))
    if not 0 <= port < 65_536:
        raise click.BadParameter(f"must be 0 .. 65535; got {port}", param_hint="--port")
    usage(
        lambda: serve(
            host=host,
            port=port,
            loaded=loaded,
            tokenizer=own,
            query=f"?v=1&lang={lang}" if lang else "",
            open_page=not no_open,
            say=_say_json if as_json else click.echo,
        )
    )


def _say_json(message: str) -> None:
    """The address as data; what else is said is for people."""
    address = message.removeprefix("posenc explorer: ")
    if address == message:
        click.echo(message, err=True)
    else:
        click.echo(json.dumps({"address": address}))
