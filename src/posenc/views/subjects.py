"""Resolves what a reader asks to see: encodings, names, expressions, a model's config.json."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import cast

from posenc.core import rules
from posenc.core.encoding import SIZES, Encoding, Params
from posenc.names.resolve import (
    canonical_name,
    hint_tokens,
    is_config_text,
    refuse_unused,
    resolve,
)
from posenc.views.subject import Subject, draw_params

MOST = 8
"""Encodings side by side, at most: more of them, and their lines, cannot be told apart."""


def gather_subjects(
    what: object,
    *,
    params: Params = None,
    seed: int = 0,
    trained: int | None = None,
    length: int = 0,
    **sizes: int,
) -> tuple[Subject, ...]:
    """Return the subjects that `what` is or names: an Encoding, a name, an expression, a config.

    what     one of these, or a list or mapping of them
    params   parameters of a single encoding; None: drawn with `seed`
    trained  length of training; None: as the config or the encoding says
    length   rows that a table of an encoding given by name must have
    sizes    dim and heads of encodings given by name

    >>> [subject.name for subject in gather_subjects(["rope", "ALiBi(4)"])]
    ['RoPE(64)', 'ALiBi(4)']
    """
    several = isinstance(what, Sequence) and not isinstance(what, str)
    items = list(cast("Sequence[object]", what)) if several else [what]
    if isinstance(what, Mapping):
        items = list(cast("Mapping[object, object]", what).values())
    named = [subject for item in items for subject in _resolve(item, length, sizes)]
    if not 1 <= len(named) <= MOST:
        raise ValueError(f"what must be 1 to {MOST} encodings; got {len(named)}")
    if params is not None and len(named) > 1:
        raise ValueError(f"params must be left out for several encodings; got {len(named)}")
    rules.whole("seed", seed, least=0)
    refuse_unused(sizes, *(subject.encoding for subject in named))
    return tuple(
        replace(
            subject,
            params=params if params is not None else draw_params(subject.encoding, seed),
            trained=trained or subject.trained or subject.encoding.trained_length,
        )
        for subject in named
    )


def _resolve(item: object, length: int, sizes: dict[str, int]) -> list[Subject]:
    """Return a subject for each encoding that one item is or names."""
    if isinstance(item, Encoding):
        if sizes:
            raise ValueError(
                f"{', '.join(sizes)} must be left out for an encoding with its own size; "
                f"got {item!r}"
            )
        return [Subject(item)]
    if not isinstance(item, str | PathLike):
        raise TypeError(f"what must be an Encoding or name one; got {item!r}")
    name = fspath(cast("str | PathLike[str]", item))
    if is_config_text(name) or (name.endswith(".json") and Path(name).is_file()):
        return _read_config(name, sizes)
    if canonical_name(name):  # a table must have rows for the whole sentence
        sizes = sizes | {"length": max(SIZES["length"], length)}
    with hint_tokens(name):
        return [Subject(one) for one in resolve(name, **sizes).values()]


def _read_config(path: str, sizes: dict[str, int]) -> list[Subject]:
    """Return the encodings of a model, with its trained length, their parts and its notes."""
    from posenc.interop.config import read_config
    from posenc.interop.model import label_groups

    if sizes:
        resolve(path, **sizes)  # raises: a config has its own sizes
    model = read_config(path)
    return [
        Subject(encoding, trained=model.trained_length, notes=model.notes, part=part)
        for encoding, part in label_groups(model)
    ]
