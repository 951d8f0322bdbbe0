"""Wrong usage as a sentence: options that conflict, names that are unknown, missing libraries."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import click

from posenc.cli.options import is_given

T = TypeVar("T")

EXTRAS = {"torch": "torch", "jax": "jax", "matplotlib": "plot", "transformers": "conformance"}
"""The optional libraries, each with the extra of posenc that installs it."""


def call_library(work: Callable[[], T]) -> T:
    """Return `work()`; a wrong argument that the library reports is a usage error."""
    try:
        return work()
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


def reject_options(names: Iterable[str], why: str) -> None:
    """Raise a usage error if any of these parameters was given: "--out, --dark `why`"."""
    wrong = [name for name in names if is_given(name)]
    if wrong:
        options = click.get_current_context().command.params
        given = ", ".join(option.opts[-1] for option in options if option.name in wrong)
        raise click.UsageError(f"{given} {why}")


def reject_names_with_all(names: tuple[str, ...]) -> None:
    """Raise a usage error if encodings are named although --all takes every one."""
    if names:
        raise click.UsageError(f"--all cannot be combined with ENCODING; got {' '.join(names)}")


def call_with_effect(
    compute: Callable[..., Any], options: dict[str, Any], names: Iterable[str]
) -> Any:
    """Return `compute(**options)`; reject each of `names` that was given and has no effect on it.

    Whether an option has an effect is found out by computing again with another value.
    """
    result = compute(**options)
    for name in filter(is_given, names):
        # another value than the given one; the default may be what was given
        match value := options[name]:
            case bool():
                other = not value
            case int():
                other = value + 1
            case str():
                other = f"{value} {value}"
            case [int(first), *others]:
                other = [first] if others else [first + 1]
            case _:
                other = None
        try:
            same = compute(**options | {name: other}) == result
        except (ValueError, TypeError):  # the other value is refused, so it is not ignored
            continue
        if same:
            reject_options([name], "has no effect here")
    return result


def split_names_and_text(
    names: tuple[str, ...], text: str | None, loaded: Collection[str] = ()
) -> tuple[tuple[str, ...], str | None]:
    """Check the names of encodings, and return them with the sentence to encode.

    A single argument that cannot be an encoding is the sentence. `loaded` are the names of
    encodings from --load files.
    """
    from posenc.core.hints import did_you_mean, nearest
    from posenc.names.resolve import is_sentence, may_be_sentence, resolve

    if text is not None and not text.split():
        raise click.BadParameter("the sentence has no tokens", param_hint="--text")
    others = [name for name in names if name not in loaded]
    near = {name: None if len(name.split()) > 1 else nearest(name, loaded) for name in others}
    if (
        len(names) == len(others) == 1
        and text is None
        and is_sentence(names[0])
        and not near[names[0]]
    ):
        if not names[0].split():
            raise click.UsageError("the sentence has no tokens")
        click.echo(f"not an encoding; using it as --text: {names[0]}", err=True)
        return (), names[0]
    for name in others:
        try:
            resolve(name)
        except (ValueError, TypeError) as error:
            if near[name]:
                hint = did_you_mean(near[name])
                raise click.UsageError(f"no encoding is called {name!r}{hint}") from error
            offer_text = text is None and may_be_sentence(name)
            hint = f"; to encode a sentence, use --text {name!r}" if offer_text else ""
            raise click.UsageError(f"{error}{hint}") from error
    return names, text


def write_output(path: str | None, text: str, *, nl: bool = True) -> None:
    """Print `text`, or write it to a file and print the file's name."""
    if path is None:
        click.echo(text, nl=nl)
        return
    try:
        with open(path, "w", encoding="utf-8") as file:  # noqa: PTH123 (the path as it was typed)
            file.write(text if text.endswith("\n") else f"{text}\n")
    except OSError as error:
        raise click.BadParameter(
            f"cannot write {path}: {error.strerror}", param_hint="--out"
        ) from error
    click.echo(path)


def install_command(extra: str) -> str:
    """The command that installs an extra of posenc, which is on no package index yet.

    >>> install_command("plot")
    "pip install '.[plot]' in a clone of posenc"
    """
    return f"pip install '.[{extra}]' in a clone of posenc"


def describe_missing(error: ModuleNotFoundError) -> click.ClickException:
    """An error with the command that installs the missing library."""
    library = (error.name or "").partition(".")[0]
    if library not in EXTRAS:
        raise error
    return click.ClickException(
        f"{library} is not installed; to install it: {install_command(EXTRAS[library])}"
    )
