"""Encodings by name: the built-in ones from their list, other packages' from entry points."""

from importlib import import_module
from typing import TYPE_CHECKING

from posenc.core.encoding import Encoding
from posenc.core.hints import did_you_mean, fold, hinted, nearest
from posenc.encodings import BUILTIN

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@hinted("catalogue")
def catalogue() -> dict[str, type[Encoding]]:
    """Every encoding that has a name: the built-in ones and those of installed packages.

    A package registers its encodings in the entry-point group `posenc.encodings`. An encoding does
    not need a name to be used: names serve the command line and lists.

    >>> catalogue()["sinusoidal"].__name__
    'Sinusoidal'
    """
    return {name: _load(name, source) for name, source in _sources().items()}


def load_builtins() -> dict[str, type[Encoding]]:
    """The built-in encodings by name, in the order of their list.

    >>> list(load_builtins())[:2]
    ['sinusoidal', 'learned']
    """
    return {name: _load_builtin(source) for name, source in BUILTIN.items()}


def names() -> tuple[str, ...]:
    """The names of all encodings, without importing any package.

    >>> names()[:2]
    ('sinusoidal', 'learned')
    """
    return tuple(_sources())


@hinted("lookup")
def lookup(name: str) -> type[Encoding]:
    """The encoding class registered under `name`; only the package that defines it is imported.

    name   a name in `catalogue()`; case, hyphens, underscores and spaces are ignored

    >>> lookup("Transformer_XL").__name__
    'TransformerXL'
    >>> lookup("sinusoid")
    Traceback (most recent call last):
    ValueError: name must be that of an encoding; got 'sinusoid'; did you mean sinusoidal? `posenc
    list` shows every name
    """
    sources = _sources()
    known = {fold(each): each for each in sources}.get(fold(name))
    if known is None:
        hint = did_you_mean(nearest(name, sources))
        raise ValueError(
            f"name must be that of an encoding; got {name!r}{hint or ';'} `posenc list` shows "
            "every name"
        )
    return _load(known, sources[known])


def _load(name: str, source: "str | EntryPoint") -> type[Encoding]:
    if isinstance(source, str):
        return _load_builtin(source)
    try:
        encoding = source.load()
    except Exception as error:
        raise ValueError(
            f"encoding {name!r} must be importable from {source.value}: {error}"
        ) from error
    if not (isinstance(encoding, type) and issubclass(encoding, Encoding)):
        raise TypeError(f"entry point {name!r} must name an Encoding; got {source.value}")
    return encoding


def _load_builtin(source: str) -> type[Encoding]:
    module, _, name = source.partition(":")
    return getattr(import_module(f"posenc.encodings.{module}"), name)


def _sources() -> "dict[str, str | EntryPoint]":
    """Each name with its place in BUILTIN, or with the entry point that loads its class."""
    from importlib.metadata import entry_points

    found: dict[str, str | EntryPoint] = {**BUILTIN}
    for entry in entry_points(group="posenc.encodings"):
        if entry.name in found:
            raise ValueError(
                f"encoding names must differ; {entry.value} takes {entry.name!r} again"
            )
        found[entry.name] = entry
    return found
