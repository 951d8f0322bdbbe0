"""Answers of the explorer as plain data: tokens, views and their values, messages, colours."""

import dataclasses
from collections.abc import Hashable, Mapping
from functools import partial

import numpy as np

from posenc.core.encoding import Encoding, unwrap
from posenc.explorer import limits
from posenc.explorer.cache import SharedCache
from posenc.explorer.parameters import RequestError, check_most
from posenc.explorer.replies import ARRAY, Reply, to_npy
from posenc.explorer.requests import Request, ViewRequest, check_size, refuse_errors
from posenc.i18n import N_, catalogue
from posenc.views import Dials, Image, Lines, Panel, View, colours, view
from posenc.views.kinds import KINDS, kinds_for
from posenc.views.subject import count_channels

UNLIMITED = 2**24
"""Rows and columns of an image that is not averaged."""

STEPS = 300
"""Positions of a line, at least: a plot may be wider than a picture beside others."""

INLINE = 4_096
"""Cells of an image that come within the JSON; more come as an array of their own."""


def _count_bytes(shown: View) -> int:
    return sum(panel.values.nbytes for panel in shown.panels if isinstance(panel, Image))


VIEWS = SharedCache(32, size=_count_bytes, room=2**27)
"""The last views: a page asks for the JSON of one and then for its arrays."""


def tokens(request: ViewRequest) -> dict[str, object]:
    """The tokens of the sentence."""
    names = ("label", "text", "start", "end", "bytes", "part")
    return {"tokens": [{name: getattr(token, name) for name in names} for token in request.tokens]}


def make_requested_view(request: ViewRequest) -> View:
    """The view of the kind and of the channels that are requested."""
    return make_view(request, request.kind, request.values["channels"])


def make_view(
    request: ViewRequest, kind: str, channels: str | None = None, *, keep: bool = True
) -> View:
    """A view of the requested encodings.

    channels  numbers separated by commas, for waves
    keep      whether to cache it
    """
    chosen, beyond = split_channels(request, kind, channels)
    check_view(request, kind)
    labels = None if request.gridded else request.labels
    options: dict[str, object] = {
        "tokens": labels,
        "length": None if labels or request.gridded else request.length,
        "channels": chosen,
        "head": request.head if KINDS[kind].head else None,
        "causal": request.causal if KINDS[kind].causal else None,
        "seed": request.seed,
        "lang": request.lang,
    }
    key = (*map(cache_key, request.encodings), kind, *options.values())
    with refuse_errors("e"):
        compute = partial(view, list(request.encodings), kind, **options)
        shown: View = VIEWS.get(key, compute, keep=keep)
    if not beyond:
        return shown
    note = request.t(
        "not shown, as some encodings lack them: {channels}", channels=", ".join(map(str, beyond))
    )
    return dataclasses.replace(shown, notes=(*shown.notes, note))


def check_head(request: ViewRequest) -> None:
    """Refuse a head that some encoding lacks; one without heads shows the same for every head."""
    if request.head is None:
        return
    template = N_("h must be 1 .. {most}, the heads of {name}; got {head}")
    for encoding in map(unwrap, request.encodings):
        heads, name = encoding.heads or 1, type(encoding).__name__
        if 1 < heads <= request.head:
            raise RequestError(template, "h", most=heads, name=name, head=request.head + 1)


def check_view(request: ViewRequest, kind: str) -> None:
    """Refuse a kind that does not suit all encodings, or a view beyond the limits."""
    suitable = kinds_for(*request.encodings)
    if not suitable:
        names = ", ".join(request.names)
        raise RequestError("these encodings have no view in common: {names}", "e", 404, names=names)
    if kind not in suitable:
        template = N_("kind must suit every encoding, one of {suitable}; got {kind!r}")
        suit = ", ".join(suitable)
        raise RequestError(template, "kind", 404, suitable=suit, kind=kind[:80])
    most = KINDS[kind].max_tokens or limits.POSITIONS
    check_most(N_("n must be at most {most} here; got {count:,}"), "n", request.length, most)
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
    given = dict.fromkeys(map(int, words))
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


def show_view(request: ViewRequest) -> dict[str, object]:
    """A view of the encodings."""
    return view_json(
        make_requested_view(request), request.values["rows"], request.values["columns"]
    )


def view_json(shown: View, rows: int, columns: int) -> dict[str, object]:
    """The view as plain data, averaged to so many cells; large images come without values."""
    panels: list[dict[str, object]] = []
    for panel in shown.panels:
        if isinstance(panel, Image):
            panels.append(_image_json(panel, rows or UNLIMITED, columns or UNLIMITED))
        elif isinstance(panel, Lines):
            panels.append(panel.average(max(columns, STEPS) if columns else UNLIMITED).to_json())
        else:
            panels.append(panel.to_json())
    return dataclasses.replace(shown, panels=()).to_json() | {"panels": panels}


def _image_json(image: Image, rows: int, columns: int) -> dict[str, object]:
    ratio, whole = image.box(rows, columns), image.values.shape
    shape = [-(-size // step) for size, step in zip(whole, ratio, strict=True)]
    sizes = {"shape": shape, "whole": list(whole)}
    if shape[0] * shape[1] <= INLINE:
        return image.average(rows, columns).to_json() | sizes
    empty = dataclasses.replace(image, values=np.zeros((0, 0)), ratio=ratio)
    return empty.to_json() | sizes | {"values": None}


def show_panel(request: ViewRequest) -> Reply:
    """The values of a panel.

    They are in float32, averaged or cut out as requested.
    """
    values = request.values
    panel = get_panel(make_requested_view(request), values["panel"])
    numbers = panel_values(panel)
    if isinstance(panel, Image) and values["height"] and values["width"]:
        top, left = values["top"], values["left"]
        numbers = numbers[top : top + values["height"], left : left + values["width"]]
    elif isinstance(panel, Image):
        rows, columns = (values[name] or UNLIMITED for name in ("rows", "columns"))
        numbers = panel.average(rows, columns).values
    return Reply(to_npy(numbers.astype(np.float32)), ARRAY)


def get_panel(shown: View, number: int) -> Panel:
    """The panel of this number, which may be too large."""
    if number >= len(shown.panels):
        last = len(shown.panels) - 1
        raise RequestError(
            "panel must be 0 .. {last}; got {number}", "panel", last=last, number=number
        )
    return shown.panels[number]


def panel_values(panel: Panel) -> np.ndarray:
    """The numbers of a panel: of an image its cells, of lines x and then each line."""
    if isinstance(panel, Lines):
        return np.stack([panel.x, *(line.y for line in panel.lines)])
    return panel.hands if isinstance(panel, Dials) else panel.values


def messages(request: Request) -> dict[str, object]:
    """The page's messages in a language."""
    return {"lang": request.lang, "messages": catalogue(request.lang)}


def colour_maps(request: Request) -> Mapping[str, object]:
    """Colour maps, and the colours of lines and tokens."""
    dark = request.values["theme"] == "dark"
    maps = {name: colours.table(name, dark=dark) for name in colours.MAPS}
    return maps | {"lines": colours.lines(dark=dark), "tokens": colours.tokens(dark=dark)}
