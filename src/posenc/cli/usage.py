"""What the commands share: options, arguments, and errors out of what the library says."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import os
from collections.abc import Callable, Collection, Iterable
from typing import Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from posenc.i18n import LANGUAGES, language

as_json = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")


class Language(click.Choice[str]):
    """One of our languages, by any tag that means it: zh, zh-CN, zh_TW, jp, en-US."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return language(value)
        except (ValueError, TypeError):
            return super().convert(value, param, ctx)


in_language = click.option(
    "--lang",
    type=Language(LANGUAGES),
    default="en",
    show_default=True,
    help="Language; zh, zh-TW, jp and the like are understood.",
)

seeded = click.option("--seed", default=0, show_default=True, help="Seed of random numbers.")

limited = click.option("--limit", default=20.0, show_default=True, help="Seconds for each check.")

EXTRAS = {"torch": "torch", "jax": "jax", "matplotlib": "plot", "transformers": "conformance"}
"""The optional libraries, each with the extra of posenc that installs it."""


def complete_name(
    _ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """For `shell_complete` of what names an encoding: the names, or else files (a config.json)."""
    from posenc.core.hints import fold
    from posenc.encodings import names
    from posenc.names.resolve import SCALED

    start = fold(incomplete)
    matching = [name for name in (*names(), *SCALED) if fold(name).startswith(start)]
    items = [CompletionItem(name) for name in matching]
    return items or [CompletionItem(incomplete, type="file")]


of_encodings = click.argument(
    "names", nargs=-1, metavar="[ENCODING]...", shell_complete=complete_name
)

from_files = click.option(
    "--load",
    "files",
    multiple=True,
    metavar="FILE",
    help="Python file with encodings of your own: those that are named, or else all.",
)


every_one = click.option(
    "--all",
    "every",
    is_flag=True,
    help="Every built-in encoding and those of installed packages, but no variant such as yarn.",
)

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def one_thread() -> None:
    """Before NumPy starts: a ratio of times must not depend on threads that wait."""
    for name in THREADS:
        os.environ.setdefault(name, "1")


def warn_if_busy(before: dict[str, Any], *, err: bool = False) -> None:
    """Say that times cannot be trusted, if the machine was busy before they were measured."""
    if before["busy"]:
        click.echo(
            f"Not to be trusted: the load average was {before['load']:.1f} on {before['cores']} "
            "cores at the start. Run it again when the machine is idle.",
            err=err,
        )


def file_for(kinds: str) -> Callable[..., Any]:
    """The option that names the file to be written."""
    return click.option(
        "-o",
        "--out",
        type=click.Path(dir_okay=False, writable=True),
        metavar="FILE",
        callback=_not_empty,
        help=f"File to write: {kinds}.",
    )


def _not_empty(_ctx: click.Context, _param: click.Parameter, path: str | None) -> str | None:
    if path == "":  # as of a shell variable that is not set
        raise click.BadParameter("must be the name of a file; got ''")
    return path


def refuse_beside_all(names: tuple[str, ...]) -> None:
    """Say that --all leaves nothing to name."""
    if names:
        raise click.UsageError(f"ENCODING must be left out beside --all; got {' '.join(names)}")


def given(name: str) -> bool:
    """Whether this parameter of the command was typed, rather than left at its default."""
    source = click.get_current_context().get_parameter_source(name)
    return source is not ParameterSource.DEFAULT


def refuse(names: Iterable[str], why: str) -> None:
    """Say that these options, if they were typed, do not apply."""
    wrong = [name for name in names if given(name)]
    if wrong:
        options = click.get_current_context().command.params
        typed = ", ".join(option.opts[-1] for option in options if option.name in wrong)
        raise click.UsageError(f"{typed} must be left out: {why}")


def effective(make: Callable[..., Any], options: dict[str, Any], names: Iterable[str]) -> Any:
    """What `make` makes of the options; of these `names`, one that was typed must change it."""
    made = make(**options)
    for name in filter(given, names):
        # not the default, for it may be what was typed
        match value := options[name]:
            case bool():
                other = not value
            case int():
                other = value + 1
            case str():
                other = f"{value} {value}"
            case _:
                other = None
        try:
            same = make(**options | {name: other}) == made
        except (ValueError, TypeError):  # another value is refused: it is looked at
            continue
        if same:
            refuse([name], "it changes nothing here")
    return made


def encodings_or_text(
    names: tuple[str, ...], text: str | None, own: Collection[str] = ()
) -> tuple[tuple[str, ...], str | None]:
    """Encodings and a sentence: a lone argument that can be nothing else is the sentence.

    `own` are the names of encodings that a file holds.
    """
    from posenc.core.hints import did_you_mean, nearest
    from posenc.names.resolve import found, is_sentence, may_be_sentence

    if text is not None and not text.split():
        raise click.BadParameter("the sentence has no tokens", param_hint="--text")
    others = [name for name in names if name not in own]
    near = {name: None if len(name.split()) > 1 else nearest(name, own) for name in others}
    if (
        len(names) == len(others) == 1
        and text is None
        and is_sentence(names[0])
        and not near[names[0]]
    ):
        if not names[0].split():
            raise click.UsageError("the sentence has no tokens")
        click.echo(f"taken as a sentence, as by --text: {names[0]}", err=True)
        return (), names[0]
    for name in others:
        try:
            found(name)
        except (ValueError, TypeError) as error:
            if near[name]:
                hint = did_you_mean(near[name])
                raise click.UsageError(f"no encoding is called {name!r}{hint}") from error
            unsaid = text is None and may_be_sentence(name)
            hint = f"; a sentence is given by --text {name!r}" if unsaid else ""
            raise click.UsageError(f"{error}{hint}") from error
    return names, text


def usage(work: Callable[[], Any]) -> Any:
    """Run `work`; what the library says of a wrong argument is a usage error."""
    try:
        return work()
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


def write(path: str | None, text: str, *, nl: bool = True) -> None:
    """Print the text, or write it to a file and print the file's name."""
    if path is None:
        click.echo(text, nl=nl)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 (a path as it was typed)
            file.write(text if text.endswith("\n") else f"{text}\n")
    except OSError as error:
        raise click.BadParameter(
            f"cannot write {path}: {error.strerror}", param_hint="--out"
        ) from error
    click.echo(path)


def install(extra: str) -> str:
    """The command that installs an extra of posenc, which no package index has yet.

    >>> install("plot")
    "pip install '.[plot]' in a clone of posenc"
    """
    return f"pip install '.[{extra}]' in a clone of posenc"


def missing(error: ModuleNotFoundError) -> click.ClickException:
    """A sentence with the command that installs what is missing."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        raise error
    return click.ClickException(
        f"{library} is not installed; this needs: {install(EXTRAS[library])}"
    )
