"""Exports of a view: pictures, tables, arrays, the page, and the code that makes it."""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np

from posenc.core.encoding import Encoding, unwrap
from posenc.explorer import answers, encodings, limits
from posenc.explorer import parameters as p
from posenc.explorer.page import npy as array_bytes
from posenc.explorer.parameters import Parameter, RequestError
from posenc.explorer.requests import ViewRequest
from posenc.names.expressions import parse_call
from posenc.views import Image
from posenc.views.kind import is_plain
from posenc.views.kinds import KINDS
from posenc.views.tables import csv_pieces

VIEW = Parameter("view", "The kind of view.", None, choices=tuple(KINDS))
ARRAY = "application/octet-stream"
DRAWING = Lock()
"""matplotlib's settings are global: one picture at a time."""


@dataclass(frozen=True)
class File:
    """A file to save."""

    name: str
    data: bytes | memoryview | Iterator[bytes]
    """All of it, or an iterator over the pieces of one that is too large to hold."""
    media: str

    def whole(self) -> bytes:
        """All of its bytes."""
        data = self.data
        return bytes(data) if isinstance(data, bytes | memoryview) else b"".join(data)


def _parse(values: dict[str, Any], loaded: dict[str, Encoding]) -> tuple[ViewRequest, str]:
    request = ViewRequest.parse(values, loaded)
    return request, _kind(values, request)


def _kind(values: dict[str, Any], request: ViewRequest) -> str:
    return values["view"] or answers.choose_kind(request)


def picture(form: str, media: str) -> Callable[..., File]:
    """An export of the view as a picture, as `pe.show` draws it."""

    def export(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
        try:
            from posenc.plot import draw
        except ModuleNotFoundError as error:
            raise RequestError(
                "{name} is not installed; pictures need: pip install '.[plot]' "
                "in a clone of posenc",
                status=503,
                name=error.name,
            ) from error
        request, kind = _parse(values, loaded)
        shown = answers.make_view(request, kind, values["channels"])
        dark, buffer = values["theme"] == "dark", io.BytesIO()
        try:
            with DRAWING:
                draw(shown, dark=dark, lang=request.lang).savefig(buffer, format=form)
        except ValueError as error:
            raise RequestError(error, "view") from error
        return File(f"posenc-{kind}.{form}", buffer.getvalue(), media)

    return export


def csv(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
    """The numbers of the view as a table, with the byte order mark that spreadsheets expect."""
    request, kind = _parse(values, loaded)
    answers.check_view(request, kind)
    _check_table(sum(_cells(kind, encoding, request.length) for encoding in request.encodings))
    shown = answers.make_view(request, kind, values["channels"])
    _check_table(sum(panel.values.size for panel in shown.panels if isinstance(panel, Image)))
    pieces = chain(["\ufeff"], csv_pieces(shown, text=plain_label))
    data = (piece.encode() for piece in pieces)
    return File(f"posenc-{kind}.csv", data, "text/csv; charset=utf-8")


def _cells(kind: str, encoding: Encoding, length: int) -> int:
    """Cells of an encoding's images, where that is known before they are computed; else 0."""
    inner = unwrap(encoding)
    return KINDS[kind].cells(inner, length) if is_plain(inner) else 0


def _check_table(cells: int) -> None:
    if cells > limits.TABLE:
        raise RequestError(
            "a table must have at most {most:,} cells; got {cells:,} (an .npy file can hold them)",
            "n",
            413,
            most=limits.TABLE,
            cells=cells,
        )


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


def npy(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
    """The values of one panel in float64; of a view of several, all of them as an .npz."""
    request, kind = _parse(values, loaded)
    shown = answers.make_view(request, kind, values["channels"])
    whole = values | {"rows": 0, "columns": 0, "height": 0, "width": 0}

    def array(panel: int) -> np.ndarray:
        numbers = answers.panel_values(shown, whole | {"panel": panel})
        return np.asarray(numbers, dtype=np.float64)

    if values["panel"] is None and len(shown.panels) > 1:
        buffer = io.BytesIO()
        arrays = {f"panel_{place}": array(place) for place in range(len(shown.panels))}
        arrays["titles"] = np.array([panel.title for panel in shown.panels])
        np.savez(buffer, allow_pickle=False, **arrays)
        return File(
            f"posenc-{kind}.npz", buffer.getbuffer(), ARRAY
        )  # not copied, as it may be large
    data = array_bytes(array(values["panel"] or 0))
    return File(f"posenc-{kind}.npy", data, ARRAY)


def code(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
    """Python that draws the view."""
    request, kind = _parse(values, loaded)
    expressions = [
        f"mine[{name!r}]" if name in loaded else _with_module(str(parse_call(name)))
        for name in request.names
    ]
    own = set(request.names) & set(loaded)
    gridded = any(encoding.axes not in (None, 1) for encoding in request.encodings)
    labels = None if gridded else request.labels
    channels, _ = answers.split_channels(request, kind, values["channels"])
    chosen = f"channels={list(channels)}, " if channels else ""
    if KINDS[kind].head and request.head is not None:
        chosen += f"head={request.head}, "
    if KINDS[kind].causal and request.causal is not None:
        chosen += f"causal={request.causal}, "
    positions = "" if gridded else "tokens=tokens, " if labels else "length=length, "
    lines = [
        "import posenc as pe",
        *(["from posenc.names.resolve import load_file"] if own else []),
        "",
        *(['mine = load_file("mine.py")  # your file'] if own else []),
        f"encodings = [{', '.join(expressions)}]",
        *([f"tokens = {labels!r}"] if labels else []),
        *([f"length = {request.length}"] if positions.startswith("length") else []),
        f"figure = pe.show(encodings, {kind!r}, {positions}{chosen}seed={request.seed}, "
        f"lang={request.lang!r}, dark={values['theme'] == 'dark'})",
        f'figure.savefig("posenc-{kind}.png")',
    ]
    return File("posenc.py", ("\n".join(lines) + "\n").encode(), "text/x-python; charset=utf-8")


def _with_module(expression: str) -> str:
    return re.sub(r"\b(?=[A-Z]\w*[.(])", "pe.", expression)


def _spell(values: dict[str, Any], loaded: dict[str, Encoding]) -> dict[str, Any]:
    return encodings.describe_encoding(values["e"][0], loaded, values["changes"], values["as"])


def html(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
    """The page as a single file that needs no server."""
    from posenc.explorer.saved_page import save_page

    data = save_page(ViewRequest.parse(values, loaded), values, loaded)
    return File("posenc.html", data, "text/html; charset=utf-8")


def endpoints(endpoint: Callable[..., Any], common: tuple[Parameter, ...]) -> list[Any]:
    """The endpoints of all exports, and of the facts about an encoding."""
    panel = replace(p.PANEL, about="Which panel of the view, from 0; by default all.", default=None)
    looks = (p.CHANNELS, p.HEAD, p.CAUSAL)
    parameters = (*common, VIEW, p.THEME, *looks)
    places = (p.POSITION, p.DIMENSION, p.COLUMN, p.ACTIVE)
    page = (*common, VIEW, *looks, p.HIDE)
    page += tuple(replace(each, default=None) for each in (*places, p.THEME))
    slow = {"crew": "large"}  # one at a time, a second each
    sized = {"kind": _kind}
    files: tuple[tuple[Any, ...], ...] = (
        ("png", "A picture.", picture("png", "image/png"), "image/png", slow),
        ("svg", "A picture.", picture("svg", "image/svg+xml"), "image/svg+xml", slow),
        ("csv", "The numbers of the view as a table.", csv, "text/csv", sized),
        ("npy", "Values in float64: an .npy of one panel, an .npz of several.", npy, ARRAY, sized),
        ("py", "Python that draws the view.", code, "text/x-python", {}),
    )
    return [
        *[
            endpoint(
                f"/api/v1/export/{form}",
                about,
                (*parameters, panel) if form == "npy" else parameters,
                export,
                media,
                **options,
            )
            for form, about, export, media, options in files
        ],
        endpoint(
            "/api/v1/export/html",
            "The page as a single file that works from disk.",
            page,
            html,
            "text/html",
            crew="pages",
        ),
        endpoint(
            "/api/v1/spell",
            "The facts about an encoding, with arguments changed by set.PARAMETER=VALUE.",
            (p.ENCODINGS, p.AS, p.LANG),
            _spell,
            schema="EncodingFacts",
            changes=True,
        ),
    ]
