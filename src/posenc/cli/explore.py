"""`posenc explore`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import os

import click

from posenc.cli.own import load_own
from posenc.cli.usage import (
    Language,
    encodings_or_text,
    from_files,
    install,
    of_encodings,
    usage,
)
from posenc.i18n import LANGUAGES


@click.command()
@of_encodings
@click.option("--text", metavar="SENTENCE", help="Sentence to begin with.")
@click.option("--port", default=8765, show_default=True, help="Port, or the next free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen at.")
@click.option("--no-open", is_flag=True, help="Print the address and open no browser.")
@from_files
@click.option("--tokenizer", metavar="FILE", help="tokenizer.json of your own, for the page.")
@click.option("--lang", type=Language(LANGUAGES), help="Language. [default: the browser's]")
@click.option("--json", "as_json", is_flag=True, help="Print the address as one JSON object.")
def explore(
    names: tuple[str, ...],
    text: str | None,
    port: int,
    host: str,
    no_open: bool,
    files: tuple[str, ...],
    tokenizer: str | None,
    lang: str | None,
    as_json: bool,
) -> None:
    """Open the explorer: type a sentence, see its positional encoding.

    An ENCODING to begin with, up to four, is a name (`posenc list`), an expression such as
    "RoPE(64, base=5e5)", a model's config.json, package.module:name, or a name in a file of --load.

    \b
    posenc explore
    posenc explore rope alibi --text "dog bites man"
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
            f"{library} is not installed; the explorer needs: {install('explorer')}"
        ) from error
    from posenc.explorer.encodings import page_query
    from posenc.text import from_file

    names, loaded, _ = load_own(names, files)
    own = None if tokenizer is None else usage(lambda: from_file(tokenizer))
    if not 0 <= port < 65_536:
        raise click.BadParameter(f"must be 0 .. 65535; got {port}", param_hint="--port")
    names, text = encodings_or_text(names, text, loaded)
    query = usage(lambda: page_query(names, loaded, text=text, lang=lang))
    usage(
        lambda: serve(
            host=host,
            port=port,
            loaded=loaded,
            tokenizer=own,
            query=query if names or text or lang else "",
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
