"""What commands share: wrong usage as a sentence, missing libraries, output."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import json
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager
from typing import Any, ParamSpec, TypeVar

import click

from posenc.cli.options import is_given

P = ParamSpec("P")
T = TypeVar("T")

EXTRAS = {"torch": "torch", "jax": "jax", "matplotlib": "plot", "transformers": "models"}
"""The optional libraries, each with the extra of posenc that installs it."""


def call_library(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Call a function; a wrong argument that the library reports is a usage error."""
    try:
        return function(*args, **kwargs)
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from error


def reject_options(names: Iterable[str], why: str) -> None:
    """Raise a usage error if any of these parameters was given: "--out, --dark `why`"."""
    wrong = [name for name in names if is_given(name)]
    if wrong:
        options = click.get_current_context().command.params
        given = ", ".join(option.opts[-1] for option in options if option.name in wrong)
        raise click.UsageError(f"{given} {why}")


def merge_format(form: str | None, *, as_json: bool) -> str | None:
    """The --format, which --json is short for."""
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json cannot be combined with --format {form}")
    return "json" if as_json else form


def call_with_effect(
    compute: Callable[..., Any], options: dict[str, object], names: Iterable[str]
) -> Any:
    """Return `compute(**options)`; reject each of `names` that was given and has no effect on it.

    Whether an option has an effect is found out by computing again with another value.
    """
    result = call_library(compute, **options)
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
    alone = len(names) == len(others) == 1 and text is None
    if alone and is_sentence(names[0]) and not near[names[0]]:
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


def print_data(data: object, lines: Iterable[str], *, as_json: bool) -> None:
    """Print `data` as one JSON object, or the lines of text that say the same."""
    click.echo(json.dumps(data) if as_json else "\n".join(lines))


@contextmanager
def report_unwritable(path: object, option: str = "--out") -> Generator[None]:
    """Turn an error of writing the file of an option into wrong usage."""
    try:
        yield
    except OSError as error:
        why = f"cannot write {path}: {error.strerror}"
        raise click.BadParameter(why, param_hint=option) from error


def install_command(extra: str) -> str:
    """The command that installs an extra of posenc, which is on no package index yet.

    >>> install_command("plot")
    "pip install '.[plot]' in a clone of posenc"
    """
    return f"pip install '.[{extra}]' in a clone of posenc"


def describe_missing(
    error: ModuleNotFoundError, purpose: str = "install it", extra: str | None = None
) -> click.ClickException:
    """An error with the command that installs the missing library, by default its own extra."""
    library = (error.name or "").partition(".")[0]
    if extra is None and library not in EXTRAS:
        raise error
    command = install_command(extra or EXTRAS[library])
    return click.ClickException(f"{library} is not installed; to {purpose}: {command}")
