"""Worked calculations of a single number and of a whole encoding."""

from typing import Any, NamedTuple

import numpy as np

from posenc.core.encoding import Encoding, Params, unwrap
from posenc.core.mechanisms import Bias, Rotary
from posenc.explanation import Step, explain
from posenc.explanation.cell import DualPrecisionParams, cell, convention
from posenc.explanation.place import Point
from posenc.explorer import limits
from posenc.explorer.answers import check_head, check_view
from posenc.explorer.parameters import check_most
from posenc.explorer.requests import ViewRequest, check_size, refuse_errors
from posenc.i18n import N_, Translate
from posenc.names.expressions import to_source
from posenc.views import cost
from posenc.views.kind import Kind, is_plain
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
    with refuse_errors("e"):
        if isinstance(encoding, Rotary) and not encoding.fits_any_length:
            encoding = encoding.at(request.length)
        params = encoding.init(np.random.default_rng(request.seed))
        return Prepared(encoding, DualPrecisionParams(params))


def explain_number(request: ViewRequest, prepared: Prepared | None = None) -> dict[str, Any]:
    """The worked calculation of one number.

    It is of the first encoding: at position `p` and dimension or key `d`, in a picture at row `p`
    and column `k`, as `view` shows it. A view with numbers of its own, such as similarity, has its
    row in `p` and its column in `d`, and some show the angle of a rotation, not its cosine.

    prepared  what `prepare` returns, for callers that ask for many numbers
    """
    place, other, beside, view = (request.values[name] for name in ("p", "d", "k", "view"))
    encoding, params = prepared or prepare(request)
    kind = None if view is None else KINDS[view]
    with refuse_errors("p"):
        if kind is not None and kind.working is not None and is_plain(encoding):
            answer = _explain_in_view(request, kind, encoding, params.given, place, other)
        else:
            position = _place_of(encoding, place, other, beside)
            angle = isinstance(encoding, Rotary) and kind is not None and kind.angles
            answer = cell(
                encoding, *position, params, head=_head(request), angle=angle, lang=request.lang
            ).to_json()
    answer["steps"] += _explain_temperatures(request.encodings[0], request.t)
    facts = convention(unwrap(request.encodings[0]))
    facts |= {request.t("first position"): 0, "dtype": "float32"}
    answer["convention"] = [{"name": name, "value": value} for name, value in facts.items()]
    return answer


def _head(request: ViewRequest) -> int:
    """The head that the number belongs to; 0 where there is only one."""
    check_head(request)
    heads = unwrap(request.encodings[0]).heads or 1
    return 0 if request.head is None or heads == 1 else request.head


def _explain_in_view(
    request: ViewRequest, kind: Kind, encoding: Encoding, params: Params, place: int, other: int
) -> dict[str, Any]:
    """A number that a view computes from an encoding, in float64 only."""
    assert kind.working is not None
    check_view(request, kind.name)
    tempered = kind.name == "attention"  # its weights come after the temperature
    subject = Subject(request.encodings[0] if tempered else encoding, params)
    words = request.labels
    scene = Scene(
        (subject,), request.t, words, None if words else request.length, None, request.seed,
        head=request.head, causal=request.causal,
    )  # fmt: skip
    answer = kind.working(scene, place, other).to_json()
    return answer | {"value": answer["truth"], "truth": None, "ulps": None}


def _explain_temperatures(encoding: Encoding, t: Translate) -> list[dict[str, object]]:
    """Steps about what happens to the logits afterwards, the inner temperature first."""
    if encoding.inner is None:
        return []
    steps = _explain_temperatures(encoding.inner, t)
    if encoding.temperature is not None:
        words = t(
            "This number is without the temperature {temperature}, by which the logits of each "
            "query are multiplied afterwards.",
            temperature=to_source(encoding.temperature),
        )
        steps.append(Step("temperature", words).to_json())
    return steps


def _place_of(encoding: Encoding, place: int, other: int, beside: int) -> tuple[Point, Point]:
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


def explain_encoding(request: ViewRequest) -> dict[str, Any]:
    """The worked calculation of the first encoding."""
    encoding, shown = request.encodings[0], min(request.length, limits.EXPLAINED)
    tokens = list(request.labels[:shown]) if request.labels else None
    if not isinstance(encoding, Rotary):  # which shows no matrices
        too_wide = N_("dim of a worked calculation must be at most {most}; got {count}")
        check_most(too_wide, "e", cost.width(unwrap(encoding)), limits.EXPLAINED)
    check_size("explain", (encoding,), shown)
    with refuse_errors("p"):
        explained = explain(
            encoding,
            position=request.values["p"],
            tokens=tokens,
            length=None if tokens else shown,
            lang=request.lang,
            seed=request.seed,
        ).to_json()
    if shown < request.length:
        words = request.t(
            "Only the first {shown:,} of {count:,} positions are worked out here.",
            count=request.length,
            shown=shown,
        )
        explained["steps"].insert(0, Step("first", words).to_json())
    return explained
