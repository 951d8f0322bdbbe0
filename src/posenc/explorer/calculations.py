"""Worked calculations of a single number and of a whole encoding."""

from typing import Any, NamedTuple

import numpy as np

from posenc.core.encoding import Encoding, unwrap
from posenc.core.mechanisms import Bias, Rotary
from posenc.explanation.cell import DualPrecisionParams, convention
from posenc.explanation.cell import cell as worked
from posenc.explorer import limits
from posenc.explorer.answers import LIBRARY_ERRORS, check_head, check_view
from posenc.explorer.parameters import RequestError
from posenc.explorer.requests import ViewRequest, check_size
from posenc.i18n import Translate, translator
from posenc.names.expressions import to_source
from posenc.temperatures import Tempered
from posenc.views.kind import Kind
from posenc.views.kinds import KINDS
from posenc.views.kinds.bias import reach
from posenc.views.kinds.maps import point
from posenc.views.scene import Scene
from posenc.views.subject import Subject


class Prepared(NamedTuple):
    """An encoding as pictures show it, without temperatures, and its parameters."""

    encoding: Encoding
    params: DualPrecisionParams


def prepare(request: ViewRequest) -> Prepared:
    """The first encoding of a request at its length, with parameters drawn by its seed."""
    encoding = unwrap(request.encodings[0])
    try:
        if isinstance(encoding, Rotary) and not encoding.fits_any_length:
            encoding = encoding.at(request.length)
        return Prepared(
            encoding, DualPrecisionParams(encoding.init(np.random.default_rng(request.seed)))
        )
    except LIBRARY_ERRORS as error:
        raise RequestError(error, "e") from error


def explain_cell(
    request: ViewRequest,
    place: int,
    other: int,
    beside: int = 0,
    *,
    view: str | None = None,
    prepared: Prepared | None = None,
) -> dict[str, Any]:
    """The worked calculation of one number of the first encoding.

    place     a position; in a picture, a row
    other     a dimension or a key
    beside    in a picture, the column
    view      the kind of view that shows the number; one with numbers of its own, such as
              similarity, has its row in `place` and its column in `other`, and some show the
              angle of a rotation, not its cosine
    prepared  what `prepare` returns, for callers that ask for many cells
    """
    encoding, params = prepared or prepare(request)
    try:
        kind = None if view is None else KINDS[view]
        if kind is not None and kind.working is not None and encoding.axes in (None, 1):
            answer = _explain_in_view(request, kind, encoding, params.given, place, other)
        else:
            position = _place_of(encoding, place, other, beside)
            angle = isinstance(encoding, Rotary) and kind is not None and kind.angles
            answer = worked(
                encoding, *position, params, head=_head(request), angle=angle, lang=request.lang
            ).to_json()
    except LIBRARY_ERRORS as error:
        raise RequestError(error, "p") from error
    t = translator(request.lang)
    answer["steps"] += _temperatures(request.encodings[0], t)
    first = {t("first position"): 0, "dtype": "float32"}
    named = convention(unwrap(request.encodings[0])) | first
    return answer | {
        "convention": [{"name": name, "value": value} for name, value in named.items()]
    }


def _head(request: ViewRequest) -> int:
    """The head that the number belongs to; 0 where there is only one."""
    check_head(request)
    heads = limits.count_heads(request.encodings[0])
    return 0 if request.head is None or heads == 1 else request.head


def _explain_in_view(
    request: ViewRequest, kind: Kind, encoding: Encoding, params: Any, place: int, other: int
) -> dict[str, Any]:
    """A number that a view computes from an encoding, in float64 only."""
    assert kind.working is not None
    check_view(request, kind.name)
    tempered = kind.name == "attention"  # its weights come after the temperature
    subject = Subject(request.encodings[0] if tempered else encoding, params)
    labels = request.labels
    words = None if labels is None else tuple(labels)
    scene = Scene(
        (subject,), translator(request.lang), words, request.length if words is None else None,
        None, request.seed, head=request.head, causal=request.causal,
    )  # fmt: skip
    answer = kind.working(scene, place, other).to_json()
    return answer | {"value": answer["truth"], "truth": None, "ulps": None}


def _temperatures(encoding: Encoding, t: Translate) -> list[dict[str, Any]]:
    """Steps about what happens to the logits afterwards, the inner temperature first."""
    if not isinstance(encoding, Tempered):
        return []
    words = t(
        "This number is without the temperature {temperature}, by which the logits of each query "
        "are multiplied afterwards.",
        temperature=to_source(encoding.temperature),
    )
    return [*_temperatures(encoding.encoding, t), _step("temperature", words)]


def _step(name: str, words: str) -> dict[str, Any]:
    from posenc.explanation import Step

    return Step(name, words).to_json()


def _place_of(encoding: Encoding, place: int, other: int, beside: int) -> tuple[Any, Any]:
    """The position and dimension (or query and key) of a cell; on a grid, positions are points."""
    axes = encoding.axes
    if axes is None:
        return place, other
    if isinstance(encoding, Bias):  # keys around a query at the centre of the map
        middle = reach(encoding)
        return (middle,) * axes, (place, beside)
    if axes == 1:
        return (place,), other
    return tuple(point(encoding, place, beside).tolist()), other


def explain_encoding(request: ViewRequest, position: int) -> dict[str, Any]:
    """The worked calculation of the whole first encoding."""
    from posenc.explanation import explain

    encoding, labels = request.encodings[0], request.labels
    shown = min(request.length, limits.EXPLAINED)
    tokens = labels[:shown] if labels else None
    dim = limits.width(encoding)
    if dim > limits.EXPLAINED and not isinstance(encoding, Rotary):  # which shows no matrices
        raise RequestError(
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
            lang=request.lang,
            seed=request.seed,
        ).to_json()
    except LIBRARY_ERRORS as error:
        raise RequestError(error, "p") from error
    if shown < request.length:
        t = translator(request.lang)
        words = t(
            "Only the first {shown:,} of {count:,} positions are worked out here.",
            count=request.length,
            shown=shown,
        )
        explained["steps"].insert(0, _step("first", words))
    return explained
