"""What there is to choose from, and what the page must know of an encoding to show it."""

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any
from urllib.parse import urlencode

from posenc.core.mechanisms import Additive, Bias, Encoding, Rotary, Scores
from posenc.encodings import catalogue
from posenc.explorer import controls, limits
from posenc.explorer.answers import number_of_channels
from posenc.explorer.parameters import Refused
from posenc.i18n import translator
from posenc.names.expressions import Call, called, spelling
from posenc.names.resolve import VARIANTS, example, found, spelled
from posenc.views.kinds import kinds_for
from posenc.views.kinds.bias import reach
from posenc.views.kinds.maps import SIDE

MECHANISMS = {"additive": Additive, "rotary": Rotary, "bias": Bias, "scores": Scores}


def encodings(lang: str, loaded: dict[str, Encoding], *, tokenizer: bool = False) -> dict[str, Any]:
    """Every encoding with its parameters, by where it acts; and the views that suit each."""
    t = translator(lang)
    titles = {
        "additive": t("added to the embeddings"),
        "rotary": t("rotates queries and keys"),
        "bias": t("added to the logits"),
        "scores": t("makes the logits"),
    }
    listed = [row for row in _listed() if row["name"] not in loaded]
    listed += [told(name, loaded) | {"title": name} for name in loaded]
    return {
        "groups": [
            {
                "acts": acts,
                "title": title,
                "encodings": [row for row in listed if row["acts"] == acts],
            }
            for acts, title in titles.items()
        ],
        "limits": {
            "text": limits.TEXT,
            "positions": limits.POSITIONS,
            "cells": limits.CELLS,
            "encodings": limits.ENCODINGS,
            "tokenizer": tokenizer,
        },
    }


@cache
def _listed() -> tuple[dict[str, Any], ...]:
    examples = {name: (kind.__name__, example(kind)) for name, kind in catalogue().items()}
    examples |= {name: (name, make(64)) for name, make in VARIANTS.items()}
    return tuple(
        told(spelling(value), {}) | {"name": name, "title": title}
        for name, (title, value) in examples.items()
    )


def told(
    expression: str,
    loaded: dict[str, Encoding],
    changes: dict[str, str] | None = None,
    maker: str | None = None,
) -> dict[str, Any]:
    """What the page must know of an encoding, some of its arguments changed, or made otherwise."""
    if expression in loaded:
        if changes or maker is not None:
            raise Refused("{name!r} was loaded and cannot be changed", "e", name=expression)
        own = {"expression": expression, "name": expression, "maker": expression, "makers": []}
        return own | {"fields": [], "loaded": True} | _seen(loaded[expression])
    call = controls.read(expression)
    value = controls.encoding(call)
    if maker is not None:
        call, value = controls.remade(call, value, maker)
    for name, text in (changes or {}).items():
        call, value = controls.changed(call, name, text)
    made = {"maker": call.maker, "makers": controls.ways(call), "fields": controls.fields(call)}
    return {"expression": str(call), "name": name_of(call), "loaded": False} | made | _seen(value)


def page_query(
    given: Iterable[Encoding | str],
    own: dict[str, Encoding],
    *,
    text: str | None = None,
    lang: str | None = None,
) -> str:
    """The query of the page that shows these encodings: values, names, expressions or configs.

    What no expression makes is put into `own`, by the name that the page has for it.

    >>> page_query(["rope", "ALiBi(4)"], {}, text="dog bites man")
    '?v=1&e=RoPE%2864%29&e=ALiBi%284%29&text=dog+bites+man'
    """
    names = [name for each in given for name in _page_names(each, own)]
    if len(names) > limits.ENCODINGS:
        raise ValueError(f"encodings must be at most {limits.ENCODINGS}; got {len(names)}")
    state = {"v": 1, "e": names, "text": text, "lang": lang}
    return "?" + urlencode({key: value for key, value in state.items() if value}, doseq=True)


def _page_names(given: Encoding | str, own: dict[str, Encoding]) -> Iterator[str]:
    """What the page calls each encoding: its expression, or the name of one of your own."""
    if isinstance(given, str) and given in own:
        yield given
        return
    for name, value in ({"": given} if isinstance(given, Encoding) else found(given)).items():
        # what was typed as an expression stays as it was typed
        text = name if name == given and "(" in name else spelling(value)
        try:
            known = spelled(text) == value
        except (ValueError, TypeError):
            known = False
        if not known:
            own[text] = value
        yield text


def _seen(value: Encoding) -> dict[str, Any]:
    acting = limits.acting(value)  # what pictures show, where a temperature is put upon it
    columns = number_of_channels(acting)
    pairs = isinstance(acting, Rotary)
    unturned = int(getattr(acting, "dim", 0)) - 2 * columns
    trailing = pairs and getattr(acting, "rotated", "leading") == "trailing"
    neighbours = pairs and getattr(acting, "pairing", "interleaved") == "interleaved"
    return {
        "acts": next(acts for acts, kind in MECHANISMS.items() if isinstance(acting, kind)),
        "views": kinds_for(value),
        "columns": columns or None,
        "first": unturned if trailing else 0,  # the channel of the first column
        "stride": 2 if neighbours else 1,  # and how far it is to that of the next
        "heads": int(getattr(acting, "heads", None) or 1),
        "side": _side(acting),
        "costly": limits.is_costly(value),
        "causal_only": value.causal_only,
    }


def _side(value: Encoding) -> int | None:
    """Rows and columns of the maps of what has positions in a picture."""
    if (value.axes or 1) == 1:
        return None
    return 2 * reach(value) + 1 if isinstance(value, Bias) else SIDE


def name_of(call: Call) -> str | None:
    """The name in the list that is nearest: that of a variant of RoPE, else of the class.

    >>> name_of(called("RoPE(8, scaling=YaRN(2.0, 64))")), name_of(called("RoPE(8)"))
    ('yarn', 'rope')
    """
    names = _names()
    return names.get(_sort(call)) or names.get(call.kind)


@cache  # to look through all installed packages takes longer than the rest of what is told
def _names() -> dict[Any, str]:
    classes: dict[Any, str] = {kind: name for name, kind in catalogue().items()}
    return classes | {_sort(called(spelling(make(64)))): name for name, make in VARIANTS.items()}


def _sort(call: Call) -> tuple[str, str]:
    scaling = None if call.preset else call.arguments.get("scaling")
    return call.maker, scaling.maker if isinstance(scaling, Call) else ""
