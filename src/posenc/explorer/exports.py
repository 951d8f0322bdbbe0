"""Exports of a view: pictures, tables, arrays, the page, and the code that makes it."""

import io
import re
from itertools import chain
from threading import Lock

import numpy as np

from posenc.core.encoding import unwrap
from posenc.explorer import answers, limits
from posenc.explorer.parameters import RequestError, check_most
from posenc.explorer.replies import ARRAY, Reply, to_npy
from posenc.explorer.requests import ViewRequest, refuse_errors
from posenc.i18n import N_
from posenc.names.expressions import parse_call
from posenc.views import Image, Panel
from posenc.views.kind import is_plain
from posenc.views.kinds import KINDS
from posenc.views.tables import csv_pieces

DRAWING = Lock()
"""matplotlib's settings are global: one picture at a time."""


def png(request: ViewRequest) -> Reply:
    """A picture."""
    return _draw(request, "png", "image/png")


def svg(request: ViewRequest) -> Reply:
    """A picture."""
    return _draw(request, "svg", "image/svg+xml")


def _draw(request: ViewRequest, form: str, media: str) -> Reply:
    """The view as `pe.show` draws it."""
    try:
        from posenc.plot import draw
    except ModuleNotFoundError as error:
        raise RequestError(
            "{name} is not installed; pictures need: pip install '.[plot]' in a clone of posenc",
            status=503,
            name=error.name,
        ) from error
    shown, buffer = answers.make_requested_view(request), io.BytesIO()
    dark = request.values["theme"] == "dark"
    with DRAWING, refuse_errors("view"):
        draw(shown, dark=dark, lang=request.lang).savefig(buffer, format=form)
    return Reply(buffer.getvalue(), media, f"posenc-{request.kind}.{form}")


def csv(request: ViewRequest) -> Reply:
    """The numbers of the view as a table."""
    answers.check_view(request, request.kind)
    kind, plain = KINDS[request.kind], filter(is_plain, map(unwrap, request.encodings))
    _check_table(sum(kind.cells(encoding, request.length) for encoding in plain))
    shown = answers.make_requested_view(request)
    _check_table(sum(panel.values.size for panel in shown.panels if isinstance(panel, Image)))
    pieces = chain(["\ufeff"], csv_pieces(shown, text=plain_label))  # a spreadsheet needs the mark
    data = (piece.encode() for piece in pieces)
    return Reply(data, "text/csv; charset=utf-8", f"posenc-{kind.name}.csv")


def _check_table(cells: int) -> None:
    too_large = N_(
        "a table must have at most {most:,} cells; got {count:,} (an .npy file can hold them)"
    )
    check_most(too_large, "n", cells, limits.TABLE)


def plain_label(cell: str) -> str:
    """The label, after an apostrophe if a spreadsheet would take it for a formula, such as =1+1.

    >>> plain_label("=1+1"), plain_label("-"), plain_label("-0.5"), plain_label("token")
    ("'=1+1", "'-", '-0.5', 'token')
    """
    return f"'{cell}" if _is_formula(cell) else cell


def _is_formula(cell: str) -> bool:
    if not cell.startswith(("=", "+", "-", "@", "\t", "\r")):
        return False
    try:
        float(cell)
    except ValueError:
        return True
    return False


def npy(request: ViewRequest) -> Reply:
    """Values in float64: an .npy of one panel, an .npz of several."""
    shown, number = answers.make_requested_view(request), request.values["panel"]
    if number is None and len(shown.panels) > 1:
        buffer = io.BytesIO()
        arrays = {f"panel_{place}": _float64(panel) for place, panel in enumerate(shown.panels)}
        arrays["titles"] = np.array([panel.title for panel in shown.panels])
        np.savez(buffer, allow_pickle=False, **arrays)
        return Reply(buffer.getbuffer(), ARRAY, f"posenc-{request.kind}.npz")
    data = to_npy(_float64(answers.get_panel(shown, number or 0)))
    return Reply(data, ARRAY, f"posenc-{request.kind}.npy")


def _float64(panel: Panel) -> np.ndarray:
    return np.asarray(answers.panel_values(panel), dtype=np.float64)


def code(request: ViewRequest) -> Reply:
    """Python that draws the view."""
    own, kind = set(request.names) & set(request.loaded), KINDS[request.kind]
    expressions = [
        f"mine[{name!r}]" if name in own else _with_module(str(parse_call(name)))
        for name in request.names
    ]
    labels = None if request.gridded else request.labels
    channels, _ = answers.split_channels(request, kind.name, request.values["channels"])
    options = {
        "channels": list(channels) if channels else None,
        "head": request.head if kind.head else None,
        "causal": request.causal if kind.causal else None,
        "seed": request.seed,
        "lang": request.lang,
        "dark": request.values["theme"] == "dark",
    }
    words = [f"{name}={value!r}" for name, value in options.items() if value is not None]
    if not request.gridded:
        words.insert(0, "tokens=tokens" if labels else "length=length")
    lines = [
        "import posenc as pe",
        *(["from posenc.names.resolve import load_file"] if own else []),
        "",
        *(['mine = load_file("mine.py")  # your file'] if own else []),
        f"encodings = [{', '.join(expressions)}]",
        *([f"tokens = {list(labels)!r}"] if labels else []),
        *([f"length = {request.length}"] if not labels and not request.gridded else []),
        f"figure = pe.show(encodings, {kind.name!r}, {', '.join(words)})",
        f'figure.savefig("posenc-{kind.name}.png")',
    ]
    return Reply(("\n".join(lines) + "\n").encode(), "text/x-python; charset=utf-8", "posenc.py")


def _with_module(expression: str) -> str:
    return re.sub(r"\b(?=[A-Z]\w*[.(])", "pe.", expression)
