"""What the explorer answers: each function makes plain data of what was asked."""

import dataclasses
import json
from collections.abc import Hashable
from typing import Any, cast

import numpy as np

from posenc.core.mechanisms import Encoding, Rotary
from posenc.explorer import limits
from posenc.explorer.asked import Asked, check_size
from posenc.explorer.once import Once
from posenc.explorer.parameters import Refused
from posenc.explorer.unread import unread
from posenc.i18n import Phrase, translator
from posenc.i18n import catalogue as messages_in
from posenc.i18n import told as said_in
from posenc.names.expressions import spelling
from posenc.views import Dials, Image, Lines, View, colours, view
from posenc.views.kinds import KINDS, default_kind, kinds_for
from posenc.views.kinds.attention import MOST_TOKENS

WHOLE = 2**24
"""Rows and columns of an image that is not averaged."""

STEPS = 300
"""Positions of a line, at least: a plot may be wider than a picture beside others."""

INLINE = 4_096
"""Cells of an image that come within the JSON; more come as an array of their own."""

WRONG = (ValueError, TypeError, IndexError, ArithmeticError)
"""What the library raises, with a sentence, where it is asked for what it cannot do."""


def _bytes(made: View) -> int:
    return sum(panel.values.nbytes for panel in made.panels if isinstance(panel, Image))


VIEWS = Once(32, size=_bytes, room=2**27)
"""The last views: a page asks for the JSON of one and then for its arrays."""


def tokens(asked: Asked) -> dict[str, Any]:
    """The tokens of the sentence, each with what it covers."""
    told = [
        {
            "label": token.label,
            "text": token.text,
            "start": token.start,
            "end": token.end,
            "bytes": token.data.hex(" ").upper(),
            "part": token.part,
        }
        for token in asked.tokens
    ]
    return {"tokens": told}


def first_kind(asked: Asked) -> str:
    """The kind of view that is shown unless another is asked for."""
    kind, suitable = default_kind(*map(limits.acting, asked.encodings)), kinds_for(*asked.encodings)
    return kind if kind in suitable or not suitable else suitable[0]


def seen(asked: Asked, kind: str, channels: str | None = None, *, keep: bool = True) -> View:
    """The view that was asked for; `channels` are numbers with commas, for waves."""
    chosen, beyond = chosen_channels(asked, kind, channels)
    check_view(asked, kind)
    gridded = any(encoding.axes not in (None, 1) for encoding in asked.encodings)
    labels = None if gridded else asked.labels
    length = None if labels or gridded else asked.length
    known = tuple(map(key_of, asked.encodings))
    head = asked.head if KINDS[kind].head else None
    causal = asked.causal if kind == "attention" else None
    shown = (kind, labels and tuple(labels), length, chosen, head, causal)
    key = (known, *shown, asked.seed, asked.lang)

    def make() -> View:
        return view(
            list(asked.encodings),
            kind,
            tokens=labels,
            length=length,
            channels=chosen,
            head=head,
            causal=causal,
            seed=asked.seed,
            lang=asked.lang,
        )

    try:
        made: View = VIEWS.get(key, make, keep=keep)
    except WRONG as error:
        raise Refused(error, _argument(error)) from error
    if not beyond:
        return made
    t = translator(asked.lang)
    said = t(
        "not shown, as some encodings lack them: {channels}", channels=", ".join(map(str, beyond))
    )
    return dataclasses.replace(made, notes=(*made.notes, said))


def _argument(error: Exception) -> str:
    """The parameter that an error of the library names, or the encodings."""
    words: Phrase | None = getattr(error, "words", None)
    return words.values.get("argument", "e") if words else "e"


def check_head(asked: Asked) -> None:
    """Refuse a head that some encoding does not have; what has one for all heads shows that."""
    for encoding in map(limits.acting, asked.encodings):
        heads = int(getattr(encoding, "heads", None) or 1)
        if asked.head is not None and 1 < heads <= asked.head:
            raise Refused(
                "h must be 1 .. {most}, the heads of {name}; got {head}",
                "h",
                most=heads,
                name=type(encoding).__name__,
                head=asked.head + 1,
            )


def check_view(asked: Asked, kind: str) -> None:
    """Say that the kind must suit all encodings, and what it takes be within the limits."""
    suitable = kinds_for(*asked.encodings)
    if not suitable:
        raise Refused(
            "these encodings have no view in common: {names}",
            "e",
            404,
            names=", ".join(asked.names),
        )
    if kind not in suitable:
        raise Refused(
            "kind must be one that suits, {suitable}; got {kind!r}",
            "kind",
            404,
            suitable=", ".join(suitable),
            kind=kind[:80],
        )
    if kind == "attention" and asked.length > MOST_TOKENS:
        raise Refused(
            "n must be at most {most} here; got {count:,}",
            "n",
            413,
            most=MOST_TOKENS,
            count=asked.length,
        )
    if KINDS[kind].head:
        check_head(asked)
    check_size(kind, asked.encodings, asked.length)


def chosen_channels(
    asked: Asked, kind: str, channels: str | None
) -> tuple[tuple[int, ...] | None, tuple[int, ...]]:
    """The channels that every encoding has (None are those that the view would take), and others.

    Only waves have them: a page asks for that of its cursor, which may be of another encoding.
    """
    if kind != "waves" or not channels:
        return None, ()
    words = channels.split(",")
    if not all(word.isascii() and word.isdigit() and len(word) < 9 for word in words):
        raise Refused(
            "channels must be numbers such as 0,1,7; got {channels!r}",
            "channels",
            channels=channels,
        )
    count = min(number_of_channels(encoding) for encoding in asked.encodings)
    given = tuple(dict.fromkeys(map(int, words)))
    known = tuple(channel for channel in given if channel < count)
    return known or None, tuple(channel for channel in given if channel >= count)


def number_of_channels(encoding: Encoding) -> int:
    """How many columns the picture of an encoding has: dimensions, or pairs of a rotation."""
    encoding = limits.acting(encoding)
    if isinstance(encoding, Rotary):
        origin = np.zeros(1) if encoding.axes is None else np.zeros((1, encoding.axes))
        cos, _ = encoding.at(1).cos_sin(origin)
        return int(cos.shape[-1])
    return int(getattr(encoding, "dim", 0))


class Itself:
    """An encoding that equals itself only; while it is kept, no other has its place in memory."""

    def __init__(self, encoding: Encoding) -> None:
        self.encoding = encoding

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.encoding is self.encoding

    def __hash__(self) -> int:
        return id(self.encoding)


def key_of(encoding: Encoding) -> Hashable:
    """What an encoding is known by: its value, or itself where its fields are arrays or lists."""
    try:
        return hash(encoding), encoding
    except TypeError:
        return Itself(encoding)


def view_json(made: View, rows: int, columns: int) -> dict[str, Any]:
    """The view as plain data, large images without their values."""
    told = {"kind": made.kind, "title": made.title, "notes": list(made.notes)}
    panels: list[dict[str, Any]] = []
    for panel in made.panels:
        if isinstance(panel, Image):
            panels.append(_image_json(panel, rows or WHOLE, columns or WHOLE))
        elif isinstance(panel, Lines):
            panels.append(panel.averaged(max(columns, STEPS) if columns else WHOLE).to_json())
        else:
            panels.append(panel.to_json())
    return told | {"panels": panels, "columns": made.columns}


def _image_json(image: Image, rows: int, columns: int) -> dict[str, Any]:
    ratio, whole = image.box(rows, columns), image.values.shape
    shape = [-(-size // step) for size, step in zip(whole, ratio, strict=True)]
    sizes = {"shape": shape, "whole": list(whole)}
    if shape[0] * shape[1] <= INLINE:
        return image.averaged(rows, columns).to_json() | sizes
    empty = dataclasses.replace(image, values=np.zeros((0, 0)), ratio=ratio)
    return empty.to_json() | sizes | {"values": None}


def panel_values(made: View, values: dict[str, Any]) -> np.ndarray:
    """The values of one panel of the view, averaged or cut out as was asked."""
    panel = _panel(made, values["panel"])
    if isinstance(panel, Lines):  # x, then each line
        return np.stack([panel.x, *(line.y for line in panel.lines)])
    if isinstance(panel, Dials):
        return panel.hands
    if values["height"] and values["width"]:
        top, left = values["top"], values["left"]
        return panel.values[top : top + values["height"], left : left + values["width"]]
    return panel.averaged(values["rows"] or WHOLE, values["columns"] or WHOLE).values


def _panel(made: View, number: int) -> Any:
    if number >= len(made.panels):
        raise Refused(
            "panel must be 0 .. {last}; got {number}",
            "panel",
            last=len(made.panels) - 1,
            number=number,
        )
    return made.panels[number]


def messages(lang: str) -> dict[str, Any]:
    """The page's words in a language."""
    return {"lang": lang, "messages": messages_in(lang)}


def colour_maps(theme: str) -> dict[str, Any]:
    """The colour maps, 256 colours each, the shades of lines and the colours of tokens."""
    dark = theme == "dark"
    maps = {name: colours.table(name, dark=dark) for name in colours.MAPS}
    return maps | {"lines": colours.lines(dark=dark), "tokens": colours.tokens(dark=dark)}


def config(body: bytes | str, lang: str) -> dict[str, Any]:
    """The encodings of a model's config.json, which is data and nothing else."""
    from posenc.interop.config import read_config
    from posenc.interop.model import label_groups

    try:
        given = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise Refused("a config must be JSON: {error}", "config", error=unread(error)) from error
    if not isinstance(given, dict):
        raise Refused("a config must be a JSON object", "config")
    try:
        model = read_config(cast(dict[str, Any], given))
        groups = label_groups(model)
        for encoding in (limits.acting(encoding) for encoding, _ in groups):
            fields = dataclasses.fields(cast(Any, encoding))
            values = {field.name: getattr(encoding, field.name) for field in fields if field.init}
            limits.check_arguments(type(encoding).__name__, values)
        expressions = [spelling(encoding) for encoding, _ in groups]
    except (*WRONG, LookupError, AttributeError, RecursionError) as error:
        raise Refused("the config cannot be read: {error}", "config", error=error) from error
    kind, shown = str(given.get("model_type", ""))[:80], expressions[: limits.ENCODINGS]
    t, count = translator(lang), len(expressions)
    said = t(
        "{count} encodings, of which the first {shown} are shown", count=count, shown=len(shown)
    )
    return {
        "model_type": kind,
        "expressions": shown,
        "parts": [said_in(part, lang) for _, part in groups[: len(shown)]],
        "notes": [
            *([said] if count > len(shown) else []),
            *(said_in(n, lang) for n in model.notes),
        ],
    }
