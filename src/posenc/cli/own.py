"""Encodings of the reader's own, which --load takes out of a Python file."""

from __future__ import annotations  # names of posenc are not looked up before a command runs

import ast
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from posenc.cli.usage import usage

if TYPE_CHECKING:
    from posenc.core.mechanisms import Encoding


def load_own(
    names: Iterable[str], files: Iterable[str]
) -> tuple[tuple[str, ...], dict[str, Encoding], list[str]]:
    """What the files hold, and what of it is named.

    Returns the names, those of the files as they are spelled there; what the files hold, with the
    calls of their classes among the names; and all names in files of which none is named.
    """
    return usage(lambda: _load(tuple(names), files))


def _load(
    names: tuple[str, ...], files: Iterable[str]
) -> tuple[tuple[str, ...], dict[str, Encoding], list[str]]:
    from posenc.names.resolve import loaded

    own: dict[str, Encoding] = {}
    unnamed: list[str] = []
    for file in files:
        held = loaded(file)
        found = {name: find_own(name, held) for name in names}
        named = {name: one for name, one in found.items() if one is not None}
        names = tuple(named[name][0] if name in named else name for name in names)
        own |= held | dict(named.values())
        unnamed += [] if named else held
    return names, own, list(dict.fromkeys(unnamed))


def own_or_found(name: str, own: Mapping[str, Encoding]) -> dict[str, Encoding]:
    """What a name stands for: one of the files', or else what `names.resolve.found` finds."""
    from posenc.names.resolve import found

    return {name: own[name]} if name in own else usage(lambda: found(name))


def find_own(what: str, held: Mapping[str, Encoding]) -> tuple[str, Encoding] | None:
    """What `what` names in a file, with its name there; or the call of one of its classes.

    Case does not count, unless it is a name of one of posenc's encodings.
    """
    from posenc.core.hints import fold
    from posenc.names.resolve import known_name

    name, bracket, _ = what.partition("(")
    near = None if known_name(name) else {fold(each): each for each in held}.get(fold(name))
    kind = name if name in held else near
    if kind is None:
        return None
    if not bracket:
        return kind, held[kind]
    if type(held[kind]).__name__ != kind:  # a value, which cannot be called
        return None
    return what, _call(what, type(held[kind]))


def _call(expression: str, kind: type[Encoding]) -> Encoding:
    """What a call of this class makes: its arguments are those that an expression may have."""
    from posenc.names.expressions import made

    try:
        call = ast.parse(expression.strip(), mode="eval").body
    except SyntaxError as error:
        raise ValueError(f"expression must be Python; got {expression!r}: {error.msg}") from error
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)):
        raise ValueError(f"expression must be a call of {kind.__name__}; got {expression!r}")
    values = [made(ast.unparse(value)) for value in call.args]
    named = {word.arg: made(ast.unparse(word.value)) for word in call.keywords if word.arg}
    if len(named) < len(call.keywords):
        raise ValueError(f"expression must name each argument; got {expression!r}")
    return kind(*values, **named)
