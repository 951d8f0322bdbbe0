"""--load: encodings from the user's own Python files."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import ast
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import click

import posenc
from posenc.cli.usage import call_library

if TYPE_CHECKING:
    from posenc.core.mechanisms import Encoding


def load_encodings(
    names: Iterable[str], files: Iterable[str]
) -> tuple[tuple[str, ...], dict[str, Encoding], list[str]]:
    """Load the files, and match the names against what they define.

    Returns three things: the names, spelled as the files spell them; a dict of everything that the
    files define and of the calls of their classes among the names; and the names defined in files
    of which nothing was named, which are meant as a whole.
    """
    from posenc.names.resolve import load_file

    encodings: dict[str, Encoding] = {}
    unnamed: list[str] = []
    names = tuple(names)
    for file in files:
        defined = call_library(load_file, file)
        matches = {name: call_library(find_loaded, name, defined) for name in names}
        named = {name: match for name, match in matches.items() if match is not None}
        names = tuple(named[name][0] if name in named else name for name in names)
        encodings |= defined | dict(named.values())
        unnamed += [] if named else defined
    return names, encodings, list(dict.fromkeys(unnamed))


def select_encodings(
    names: tuple[str, ...], files: Iterable[str], *, every: bool = False
) -> tuple[tuple[str, ...], dict[str, Encoding]]:
    """The names of what a command works on, and the encodings that files define.

    every  with --all: the whole catalogue instead of `names`
    """
    if every and names:
        raise click.UsageError(f"--all cannot be combined with ENCODING; got {' '.join(names)}")
    if not (names or files or every):
        raise click.UsageError("specify an ENCODING, --load FILE or --all")
    names, loaded, unnamed = load_encodings(names, files)
    return (*(posenc.catalogue() if every else names), *unnamed), loaded


def resolve_names(names: Iterable[str], loaded: Mapping[str, Encoding]) -> dict[str, Encoding]:
    """The encodings that the names stand for: of a file, or what the library resolves them to."""
    from posenc.names.resolve import resolve

    found: dict[str, Encoding] = {}
    for name in names:
        found |= {name: loaded[name]} if name in loaded else call_library(resolve, name)
    return found


def find_loaded(what: str, defined: Mapping[str, Encoding]) -> tuple[str, Encoding] | None:
    """Find `what`, a name or a call such as "Mine(16)", among the encodings that a file defines.

    Returns its name and the encoding, or None. Case is ignored unless the name is also that of one
    of posenc's encodings.
    """
    from posenc.core.hints import fold
    from posenc.names.resolve import canonical_name

    name, bracket, _ = what.partition("(")
    near = None if canonical_name(name) else {fold(each): each for each in defined}.get(fold(name))
    kind = name if name in defined else near
    if kind is None:
        return None
    if not bracket:
        return kind, defined[kind]
    if type(defined[kind]).__name__ != kind:  # an instance, which cannot be called
        return None
    return what, _call_class(what, type(defined[kind]))


def _call_class(expression: str, kind: type[Encoding]) -> Encoding:
    """Evaluate a call of this class; its arguments are what an expression may contain."""
    from posenc.names.expressions import evaluate

    try:
        call = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"expression must be Python; got {expression!r}: {error.msg}") from error
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise ValueError(f"expression must be a call of {kind.__name__}; got {expression!r}")
    values = [evaluate(ast.unparse(value)) for value in call.args]
    keywords = {word.arg: evaluate(ast.unparse(word.value)) for word in call.keywords if word.arg}
    if len(keywords) < len(call.keywords):
        raise ValueError(f"expression must name each argument; got {expression!r}")
    return kind(*values, **keywords)
