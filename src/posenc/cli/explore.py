"""`posenc explore`."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
import os

import click

from posenc.cli import options
from posenc.cli.loading import load_encodings
from posenc.cli.usage import call_library, describe_missing, split_names_and_text
from posenc.i18n import LANGUAGES, Language


@click.command()
@options.encodings
@click.option("--text", metavar="SENTENCE", help="Initial sentence.")
@click.option(
    "--port", default=8765, show_default=True, help="Port to bind; if taken, the next free one."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to bind.")
@click.option("--no-open", is_flag=True, help="Print the URL without opening a browser.")
@options.load
@click.option("--tokenizer", metavar="FILE", help="tokenizer.json to offer on the page.")
@click.option(
    "--lang", type=options.Language(LANGUAGES), help="Page language. [default: the browser's]"
)
@click.option("--json", "as_json", is_flag=True, help="Print the URL as one JSON object.")
def explore(
    names: tuple[str, ...],
    text: str | None,
    port: int,
    host: str,
    no_open: bool,
    files: tuple[str, ...],
    tokenizer: str | None,
    lang: Language | None,
    as_json: bool,
) -> None:
    """Open the explorer, an interactive page, in a browser.

    Type a sentence and see its positional encoding. Up to four ENCODINGs are shown at first.
    ENCODING is a name (see `posenc list`), an expression such as "RoPE(64, base=5e5)", a model's
    config.json, package.module:name, or a name defined in a --load file.

    \b
    posenc explore
    posenc explore rope alibi --text "dog bites man"
    posenc explore --load mine.py --lang ja

    --json prints {"address"} once the server listens. Ctrl-C stops it.
    """
    # Two threads compute at a time; BLAS threads, which spin while they wait, would slow them down.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    try:
        from posenc.explorer.server import serve
    except ModuleNotFoundError as error:
        raise describe_missing(error, "install the explorer", "explorer") from error
    from posenc.explorer.encodings import page_query
    from posenc.text import from_file

    names, loaded, _ = load_encodings(names, files)
    tokens = None if tokenizer is None else call_library(from_file, tokenizer)
    if not 0 <= port < 65_536:
        raise click.BadParameter(f"must be in 0 .. 65535; got {port}", param_hint="--port")
    names, text = split_names_and_text(names, text, loaded)
    query = call_library(page_query, names, loaded, text=text, lang=lang)
    call_library(
        serve,
        host=host,
        port=port,
        loaded=loaded,
        tokenizer=tokens,
        query=query if names or text or lang else "",
        open_page=not no_open,
        say=_print_json if as_json else click.echo,
    )


def _print_json(message: str) -> None:
    """Print the URL as JSON, and any other message to stderr."""
    address = message.removeprefix("posenc explorer: ")
    if address == message:
        click.echo(message, err=True)
    else:
        click.echo(json.dumps({"address": address}))
