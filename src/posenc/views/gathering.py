"""From what a reader names to what is looked at: encodings, expressions, a model's config.json."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, cast

import numpy as np

from posenc.core import rules
from posenc.core.mechanisms import Encoding, Params
from posenc.names.resolve import (
    TYPICAL,
    found,
    hinting_tokens,
    is_config_text,
    known_name,
    refuse_unused,
)
from posenc.views.subject import Subject

MOST = 8
"""More than this many side by side cannot be told apart, nor their lines."""


def gathered(
    what: Any,
    *,
    params: Params | None = None,
    seed: int = 0,
    trained: int | None = None,
    **sizes: int,
) -> tuple[Subject, ...]:
    """The subjects that `what` names: an Encoding, a name, an expression, a config, or several.

    >>> [subject.name for subject in gathered(["rope", "ALiBi(4)"])]
    ['RoPE(64)', 'ALiBi(4)']
    """
    several = isinstance(what, Sequence) and not isinstance(what, str)
    items = list(cast("Sequence[Any]", what)) if several else [what]
    if isinstance(what, Mapping):
        items = list(cast("Mapping[Any, Any]", what).values())
    named = [subject for item in items for subject in _subjects(item, sizes)]
    if not 1 <= len(named) <= MOST:
        raise ValueError(f"what is shown must be 1 to {MOST} encodings; got {len(named)}")
    if params is not None and len(named) > 1:
        raise ValueError(f"params must be left out for several encodings; got {len(named)}")
    rules.whole("seed", seed, least=0)
    refuse_unused(_without(sizes), *(subject.encoding for subject in named))
    return tuple(
        replace(
            subject,
            params=params if params is not None else _drawn(subject.encoding, seed),
            trained=trained or subject.trained or _trained(subject.encoding),
        )
        for subject in named
    )


def _drawn(encoding: Encoding, seed: int) -> Params | None:
    return encoding.init(np.random.default_rng(seed)) or None


def _subjects(item: Any, sizes: dict[str, int]) -> list[Subject]:
    """Each encoding; of a model's with the length of its training, its part and notes."""
    own = _without(sizes)
    if isinstance(item, Encoding):
        if own:
            raise ValueError(
                f"{', '.join(own)} must be left out for what has its own size; got {item!r}"
            )
        return [Subject(item)]
    if not isinstance(item, str | PathLike):
        raise TypeError(f"what is shown must be an Encoding or name one; got {item!r}")
    name = fspath(cast("str | PathLike[str]", item))
    if is_config_text(name) or (name.endswith(".json") and Path(name).is_file()):
        return _of_config(name, own)
    if known_name(name):  # its table must hold the sentence
        own["length"] = max(TYPICAL["length"], sizes.get("length", 0))
    with hinting_tokens(name):
        return [Subject(one) for one in found(name, **own).values()]


def _of_config(path: str, sizes: dict[str, int]) -> list[Subject]:
    """The encodings of a model, and what its config.json leaves to be said of them."""
    from posenc.interop.config import read_config
    from posenc.interop.model import label_groups

    if sizes:
        found(path, **sizes)  # which says that a config has its own
    model = read_config(path)
    return [
        Subject(encoding, trained=model.trained_length, notes=model.notes, part=part)
        for encoding, part in label_groups(model)
    ]


def _without(sizes: dict[str, int]) -> dict[str, int]:
    return {name: size for name, size in sizes.items() if name != "length"}


def _trained(encoding: Encoding) -> int | None:
    """What the encoding itself says: the rows of its table, the length that it was scaled from."""
    scaling = getattr(encoding, "scaling", None)
    length = getattr(scaling, "original_length", None) or getattr(encoding, "length", None)
    return int(length) if length else None
