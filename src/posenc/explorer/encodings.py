"""The catalogue of encodings, and the facts about one that the page needs to show it."""

from collections.abc import Iterable, Iterator
from functools import cache
from urllib.parse import urlencode

from posenc.core.encoding import MECHANISMS, Encoding, unwrap
from posenc.core.mechanisms import Bias, Rotary
from posenc.core.scaling import Scaling
from posenc.encodings.registry import catalogue
from posenc.explorer import controls, limits
from posenc.explorer.parameters import RequestError
from posenc.explorer.requests import Request, refuse_errors
from posenc.i18n import translator
from posenc.layouts import AxisLayout
from posenc.names.expressions import parse_call, to_source
from posenc.names.resolve import VARIANTS, as_encoding, evaluate_encoding, resolve
from posenc.views.kinds import KINDS, default_kind, kinds_for
from posenc.views.kinds.bias import reach
from posenc.views.kinds.maps import SIDE
from posenc.views.subject import count_channels


def list_encodings(request: Request) -> dict[str, object]:
    """Every encoding with its parameters, the kinds of view, and the limits."""
    loaded = request.loaded
    rows = [row for row in _builtin() if row["name"] not in loaded]
    rows += [describe_encoding(name, loaded) | {"title": name} for name in loaded]
    groups = [
        {
            "acts": acts,
            "title": request.t(title),
            "encodings": [row for row in rows if row["acts"] == acts],
        }
        for acts, title in MECHANISMS.items()
    ]
    bounds = ("text", "positions", "cells", "encodings")
    limit = {name: getattr(limits, name.upper()) for name in bounds}
    limit["tokenizer"] = request.tokenizer is not None
    return {"groups": groups, "kinds": _kinds(), "limits": limit}


@cache
def _kinds() -> list[dict[str, object]]:
    """Every kind of view, in English: the page, which has all messages, translates it."""
    return [kind.to_json(translator("en"), most=limits.ENCODINGS) for kind in KINDS.values()]


@cache
def _builtin() -> tuple[dict[str, object], ...]:
    examples = {name: (kind.__name__, kind.example()) for name, kind in catalogue().items()}
    examples |= {name: (name, make(64)) for name, make in VARIANTS.items()}
    return tuple(
        describe_encoding(to_source(value), {}) | {"name": name, "title": title}
        for name, (title, value) in examples.items()
    )


def spell(request: Request) -> dict[str, object]:
    """The facts about an encoding, with arguments changed by set.PARAMETER=VALUE."""
    values = request.values
    return describe_encoding(values["e"][0], request.loaded, values["changes"], values["as"])


def describe_encoding(
    expression: str,
    loaded: dict[str, Encoding],
    changes: dict[str, str] | None = None,
    maker: str | None = None,
) -> dict[str, object]:
    """The facts about an encoding that the page needs.

    changes  arguments to change first, as typed, by name
    maker    a preset or class to make it with first
    """
    if expression in loaded:
        if changes or maker is not None:
            raise RequestError("{name!r} was loaded and cannot be changed", "e", name=expression)
        own = {"expression": expression, "name": expression, "maker": expression, "makers": []}
        return own | {"fields": [], "loaded": True} | _facts(loaded[expression])
    with refuse_errors("e"):
        call = parse_call(expression)
        value = as_encoding(controls.evaluate(call))
    if maker is not None:
        call, value = controls.rebuild(call, value, maker)
    for name, text in (changes or {}).items():
        call, value = controls.change_argument(call, name, text)
    fields = {"maker": call.maker, "makers": controls.makers(call), "fields": controls.fields(call)}
    named = {"expression": str(call), "name": catalogue_name(value), "loaded": False}
    return named | fields | _facts(value)


def page_query(
    given: Iterable[Encoding | str],
    own: dict[str, Encoding],
    *,
    text: str | None = None,
    lang: str | None = None,
) -> str:
    """The query string of the page that shows these encodings.

    given  encodings, names, expressions or configs
    own    receives, by its name on the page, each encoding that no expression makes

    >>> page_query(["rope", "ALiBi(4)"], {}, text="dog bites man")
    '?v=1&e=RoPE%2864%29&e=ALiBi%284%29&text=dog+bites+man'
    """
    names = [name for each in given for name in _page_names(each, own)]
    if len(names) > limits.ENCODINGS:
        raise ValueError(f"encodings must be at most {limits.ENCODINGS}; got {len(names)}")
    state = {"v": 1, "e": names, "text": text, "lang": lang}
    return "?" + urlencode({key: value for key, value in state.items() if value}, doseq=True)


def _page_names(given: Encoding | str, own: dict[str, Encoding]) -> Iterator[str]:
    """The name of each encoding on the page: its expression, or that of a user's own."""
    if isinstance(given, str) and given in own:
        yield given
        return
    for name, value in ({"": given} if isinstance(given, Encoding) else resolve(given)).items():
        # an expression stays as it was typed
        text = name if name == given and "(" in name else to_source(value)
        try:
            known = evaluate_encoding(text) == value
        except (ValueError, TypeError):
            known = False
        if not known:
            own[text] = value
        yield text


def _facts(value: Encoding) -> dict[str, object]:
    acting = unwrap(value)  # what pictures show
    columns = count_channels(acting)
    passed = (acting.dim or 0) - 2 * columns
    trailing = isinstance(acting, Rotary) and acting.rotated == "trailing"
    neighbours = isinstance(acting, Rotary) and acting.pairing == "interleaved"
    return {
        "acts": acting.mechanism,
        "views": kinds_for(value),
        "default_view": default_kind(acting),
        "columns": columns or None,
        "first": passed if trailing else 0,  # channel of the first column
        "stride": 2 if neighbours else 1,  # distance to the channel of the next column
        "heads": acting.heads or 1,
        "side": _side(acting),
        "costly": limits.is_costly(value),
        "causal_only": value.causal_only,
    }


def _side(value: Encoding) -> int | None:
    """Rows and columns of its maps, where positions are places in a picture."""
    if (value.axes or 1) == 1:
        return None
    return 2 * reach(value) + 1 if isinstance(value, Bias) else SIDE


def catalogue_name(value: Encoding) -> str | None:
    """The nearest name in the catalogue: that of a variant of RoPE, else of the class.

    >>> from posenc import RoPE, YaRN
    >>> catalogue_name(RoPE(8, scaling=YaRN(2.0, 64))), catalogue_name(RoPE(8))
    ('yarn', 'rope')
    """
    names = _names()
    return names.get(_variant_key(value)) or names.get((type(value),))


@cache  # searching all installed packages takes longer than everything else here
def _names() -> dict[tuple[type, ...], str]:
    classes: dict[tuple[type, ...], str] = {(kind,): name for name, kind in catalogue().items()}
    return classes | {_variant_key(make(64)): name for name, make in VARIANTS.items()}


def _variant_key(value: Encoding) -> tuple[type, ...]:
    """The class of an encoding and of the scaling or layout that it has."""
    parts = [part for part in vars(value).values() if isinstance(part, Scaling | AxisLayout)]
    return type(value), *map(type, parts)
