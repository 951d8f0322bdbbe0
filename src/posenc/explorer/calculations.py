"""Worked calculations: of one number of an encoding, and of the whole of it."""

from typing import Any

import numpy as np

from posenc.core.mechanisms import Bias, Encoding, Rotary
from posenc.explanation.cell import DualPrecisionParams, convention
from posenc.explanation.cell import cell as worked
from posenc.explorer import limits
from posenc.explorer.answers import WRONG, check_head, check_view
from posenc.explorer.asked import Asked, check_size
from posenc.explorer.parameters import Refused
from posenc.i18n import Translate, translator
from posenc.names.expressions import spelling
from posenc.temperatures import Tempered
from posenc.views.kind import Kind
from posenc.views.kinds import KINDS
from posenc.views.kinds.bias import reach
from posenc.views.kinds.maps import point
from posenc.views.scene import Scene
from posenc.views.subject import Subject

Drawn = tuple[Encoding, DualPrecisionParams]


def drawn(asked: Asked) -> Drawn:
    """The first encoding as pictures show it, without a temperature, and its parameters."""
    encoding = limits.acting(asked.encodings[0])
    try:
        if isinstance(encoding, Rotary) and not encoding.fits_any_length:
            encoding = encoding.at(asked.length)
        return encoding, DualPrecisionParams(encoding.init(np.random.default_rng(asked.seed)))
    except WRONG as error:
        raise Refused(error, "e") from error


def cell(
    asked: Asked,
    place: int,
    other: int,
    beside: int = 0,
    *,
    view: str | None = None,
    of: Drawn | None = None,
) -> dict[str, Any]:
    """The worked calculation of one number of the first encoding.

    place, other  a position and a dimension or a key; in a view that has numbers of its own, such
                  as similarity, the row and the column of its picture
    beside        over a map, the column; `place` is then the row
    view          the kind of view; of a rotation, some show the angle, not its cosine
    of            the encoding and its parameters, drawn once for many cells
    """
    encoding, params = drawn(asked) if of is None else of
    try:
        kind = None if view is None else KINDS[view]
        if kind is not None and kind.working is not None and encoding.axes in (None, 1):
            told = _of_view(asked, kind, encoding, params.given, place, other)
        else:
            where = _where(encoding, place, other, beside)
            angle = isinstance(encoding, Rotary) and kind is not None and kind.angles
            told = worked(
                encoding, *where, params, head=_head(asked), angle=angle, lang=asked.lang
            ).to_json()
    except WRONG as error:
        raise Refused(error, "p") from error
    t = translator(asked.lang)
    told["steps"] += _temperatures(asked.encodings[0], t)
    first = {t("first position"): 0, "dtype": "float32"}
    named = convention(limits.acting(asked.encodings[0])) | first
    return told | {"convention": [{"name": name, "value": value} for name, value in named.items()]}


def _head(asked: Asked) -> int:
    """The head of the number; what has no heads has one."""
    check_head(asked)
    heads = int(getattr(limits.acting(asked.encodings[0]), "heads", None) or 1)
    return 0 if asked.head is None or heads == 1 else asked.head


def _of_view(
    asked: Asked, kind: Kind, encoding: Encoding, params: Any, place: int, other: int
) -> dict[str, Any]:
    """A number that a view makes of an encoding: it is made in float64 only."""
    assert kind.working is not None
    check_view(asked, kind.name)
    tempered = kind.name == "attention"  # whose weights come after the temperature
    subject = Subject(asked.encodings[0] if tempered else encoding, params)
    labels = asked.labels
    words = None if labels is None else tuple(labels)
    scene = Scene(
        (subject,), translator(asked.lang), words, asked.length if words is None else None,
        None, asked.seed, head=asked.head, causal=asked.causal,
    )  # fmt: skip
    told = kind.working(scene, place, other).to_json()
    return told | {"value": told["truth"], "truth": None, "ulps": None}


def _temperatures(encoding: Encoding, t: Translate) -> list[dict[str, Any]]:
    """What is done to the logits afterwards, the inner temperature first."""
    if not isinstance(encoding, Tempered):
        return []
    words = t(
        "This number is without the temperature {temperature}, by which the logits of each query "
        "are multiplied afterwards.",
        temperature=spelling(encoding.temperature),
    )
    return [*_temperatures(encoding.encoding, t), _step("temperature", words)]


def _step(name: str, words: str) -> dict[str, Any]:
    from posenc.explanation import Step

    return Step(name, words).to_json()


def _where(encoding: Encoding, place: int, other: int, beside: int) -> tuple[Any, Any]:
    """What `worked.cell` takes for the cell of a picture: positions are points in some of them."""
    axes = encoding.axes
    if axes is None:
        return place, other
    if isinstance(encoding, Bias):  # keys around a query in the middle of the map
        middle = reach(encoding)
        return (middle,) * axes, (place, beside)
    if axes == 1:
        return (place,), other
    return tuple(point(encoding, place, beside).tolist()), other


def explanation(asked: Asked, position: int) -> dict[str, Any]:
    """The whole worked calculation of the first encoding."""
    from posenc.explanation import explain

    encoding, labels = asked.encodings[0], asked.labels
    shown = min(asked.length, limits.EXPLAINED)
    tokens = labels[:shown] if labels else None
    dim = limits.width(encoding)
    if dim > limits.EXPLAINED and not isinstance(encoding, Rotary):  # which has no matrices
        raise Refused(
            "dim of a worked calculation must be at most {most}; got {dim}",
            "e",
            413,
            most=limits.EXPLAINED,
            dim=dim,
        )
    check_size("explain", (encoding,), shown)
    try:
        explained = explain(
            encoding,
            position=position,
            tokens=tokens,
            length=None if tokens else shown,
            lang=asked.lang,
            seed=asked.seed,
        ).to_json()
    except WRONG as error:
        raise Refused(error, "p") from error
    if shown < asked.length:
        t = translator(asked.lang)
        words = t(
            "Only the first {shown:,} of {count:,} positions are worked out here.",
            count=asked.length,
            shown=shown,
        )
        explained["steps"].insert(0, _step("first", words))
    return explained
