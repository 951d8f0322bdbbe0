"""Answers of the explorer as plain data: tokens, views and their values, messages, colours."""

import dataclasses
from collections.abc import Hashable
from typing import Any

import numpy as np

from posenc.core.encoding import Encoding, unwrap
from posenc.explorer import limits
from posenc.explorer.cache import SharedCache
from posenc.explorer.parameters import RequestError
from posenc.explorer.requests import ViewRequest, check_size
from posenc.i18n import Language, Phrase, catalogue, translator
from posenc.views import Dials, Image, Lines, View, colours, view
from posenc.views.kinds import KINDS, default_kind, kinds_for
from posenc.views.subject import count_channels

UNLIMITED = 2**24
"""Rows and columns of an image that is not averaged."""

STEPS = 300
"""Positions of a line, at least: a plot may be wider than a picture beside others."""

INLINE = 4_096
"""Cells of an image that come within the JSON; more come as an array of their own."""

LIBRARY_ERRORS = (ValueError, TypeError, IndexError, ArithmeticError)
"""What the library raises, with a sentence, for a request that it cannot fulfil."""


def _count_bytes(shown: View) -> int:
    return sum(panel.values.nbytes for panel in shown.panels if isinstance(panel, Image))


VIEWS = SharedCache(32, size=_count_bytes, room=2**27)
"""The last views: a page asks for the JSON of one and then for its arrays."""


def tokens(request: ViewRequest) -> dict[str, Any]:
    """The tokens of the sentence, each with the text that it covers."""
    rows = [
        {
            "label": token.label,
            "text": token.text,
            "start": token.start,
            "end": token.end,
            "bytes": token.data.hex(" ").upper(),
            "part": token.part,
        }
        for token in request.tokens
    ]
    return {"tokens": rows}


def choose_kind(request: ViewRequest) -> str:
    """The kind of view that is shown unless another is requested."""
    kind = default_kind(*map(unwrap, request.encodings))
    suitable = kinds_for(*request.encodings)
    return kind if kind in suitable or not suitable else suitable[0]


def make_view(
    request: ViewRequest, kind: str, channels: str | None = None, *, keep: bool = True
) -> View:
    """The requested view.

    channels  numbers separated by commas, for waves
    keep      whether to cache it
    """
    chosen, beyond = split_channels(request, kind, channels)
    check_view(request, kind)
    gridded = any(encoding.axes not in (None, 1) for encoding in request.encodings)
    labels = None if gridded else request.labels
    length = None if labels or gridded else request.length
    keys = tuple(map(cache_key, request.encodings))
    head = request.head if KINDS[kind].head else None
    causal = request.causal if KINDS[kind].causal else None
    looks = (kind, labels and tuple(labels), length, chosen, head, causal)
    key = (keys, *looks, request.seed, request.lang)

    def compute() -> View:
        return view(
            list(request.encodings),
            kind,
            tokens=labels,
            length=length,
            channels=chosen,
            head=head,
            causal=causal,
            seed=request.seed,
            lang=request.lang,
        )

    try:
        shown: View = VIEWS.get(key, compute, keep=keep)
    except LIBRARY_ERRORS as error:
        raise RequestError(error, _argument(error)) from error
    if not beyond:
        return shown
    t = translator(request.lang)
    note = t(
        "not shown, as some encodings lack them: {channels}", channels=", ".join(map(str, beyond))
    )
    return dataclasses.replace(shown, notes=(*shown.notes, note))


def _argument(error: Exception) -> str:
    """The parameter that an error of the library names, or the encodings."""
    words: Phrase | None = getattr(error, "words", None)
    return words.values.get("argument", "e") if words else "e"


def check_head(request: ViewRequest) -> None:
    """Refuse a head that some encoding lacks; one without heads shows the same for every head."""
    for encoding in map(unwrap, request.encodings):
        heads = limits.count_heads(encoding)
        if request.head is not None and 1 < heads <= request.head:
            raise RequestError(
                "h must be 1 .. {most}, the heads of {name}; got {head}",
                "h",
                most=heads,
                name=type(encoding).__name__,
                head=request.head + 1,
            )


def check_view(request: ViewRequest, kind: str) -> None:
    """Refuse a kind that does not suit all encodings, or a view beyond the limits."""
    suitable = kinds_for(*request.encodings)
    if not suitable:
        raise RequestError(
            "these encodings have no view in common: {names}",
            "e",
            404,
            names=", ".join(request.names),
        )
    if kind not in suitable:
        raise RequestError(
            "kind must suit every encoding, one of {suitable}; got {kind!r}",
            "kind",
            404,
            suitable=", ".join(suitable),
            kind=kind[:80],
        )
    most = KINDS[kind].max_tokens
    if most is not None and request.length > most:
        raise RequestError(
            "n must be at most {most} here; got {count:,}",
            "n",
            413,
            most=most,
            count=request.length,
        )
    if KINDS[kind].head:
        check_head(request)
    check_size(kind, request.encodings, request.length)


def split_channels(
    request: ViewRequest, kind: str, channels: str | None
) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """The channels that every encoding has, and those that some lack; None: the view's own choice.

    Only waves have channels. A page asks for the one at its cursor, which may be of an encoding
    with more of them.
    """
    if kind != "waves" or not channels:
        return None, ()
    words = channels.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) < 9 for word in words):
        raise RequestError(
            "channels must be numbers such as 0,1,7; got {channels!r}",
            "channels",
            channels=channels,
        )
    count = min(count_channels(unwrap(encoding)) for encoding in request.encodings)
    given = tuple(dict.fromkeys(map(int, words)))
    known = tuple(channel for channel in given if channel < count)
    return known or None, tuple(channel for channel in given if channel >= count)


class ByIdentity:
    """A key for an encoding that is not hashable; it keeps the encoding, so its id stays unique."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByIdentity) and other.encoding is self.encoding

    def __hash__(self) -> int:
        return id(self.encoding)


def cache_key(encoding: Encoding) -> Hashable:
    """The encoding's value, or its identity where its fields are arrays or lists."""
    try:
        return hash(encoding), encoding
    except TypeError:
        return ByIdentity(encoding)


def view_json(shown: View, rows: int, columns: int) -> dict[str, Any]:
    """The view as plain data, averaged to so many cells; large images come without values."""
    panels: list[dict[str, Any]] = []
    for panel in shown.panels:
        if isinstance(panel, Image):
            panels.append(_image_json(panel, rows or UNLIMITED, columns or UNLIMITED))
        elif isinstance(panel, Lines):
            panels.append(panel.average(max(columns, STEPS) if columns else UNLIMITED).to_json())
        else:
            panels.append(panel.to_json())
    return {
        "kind": shown.kind,
        "title": shown.title,
        "notes": list(shown.notes),
        "panels": panels,
        "columns": shown.columns,
    }


def _image_json(image: Image, rows: int, columns: int) -> dict[str, Any]:
    ratio, whole = image.box(rows, columns), image.values.shape
    shape = [-(-size // step) for size, step in zip(whole, ratio, strict=True)]
    sizes = {"shape": shape, "whole": list(whole)}
    if shape[0] * shape[1] <= INLINE:
        return image.average(rows, columns).to_json() | sizes
    empty = dataclasses.replace(image, values=np.zeros((0, 0)), ratio=ratio)
    return empty.to_json() | sizes | {"values": None}


def panel_values(shown: View, values: dict[str, Any]) -> np.ndarray:
    """The values of one panel of the view, averaged or cut out as requested."""
    panel = _panel(shown, values["panel"])
    if isinstance(panel, Lines):  # x, then each line
        return np.stack([panel.x, *(line.y for line in panel.lines)])
    if isinstance(panel, Dials):
        return panel.hands
    if values["height"] and values["width"]:
        top, left = values["top"], values["left"]
        return panel.values[top : top + values["height"], left : left + values["width"]]
    return panel.average(values["rows"] or UNLIMITED, values["columns"] or UNLIMITED).values


def _panel(shown: View, number: int) -> Any:
    if number >= len(shown.panels):
        raise RequestError(
            "panel must be 0 .. {last}; got {number}",
            "panel",
            last=len(shown.panels) - 1,
            number=number,
        )
    return shown.panels[number]


def messages(lang: Language) -> dict[str, Any]:
    """The page's messages in a language."""
    return {"lang": lang, "messages": catalogue(lang)}


def colour_maps(theme: str) -> dict[str, Any]:
    """The colour maps, 256 colours each, and the colours of lines and tokens."""
    dark = theme == "dark"
    maps = {name: colours.table(name, dark=dark) for name in colours.MAPS}
    return maps | {"lines": colours.lines(dark=dark), "tokens": colours.tokens(dark=dark)}
