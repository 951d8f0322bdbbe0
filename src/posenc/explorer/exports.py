"""What is shown, to take away: pictures, tables, arrays, the code that makes it."""

import io
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np

from posenc.core.mechanisms import Encoding
from posenc.explorer import answers, encodings, limits
from posenc.explorer import parameters as p
from posenc.explorer.asked import Asked, asked
from posenc.explorer.page import npy as array_bytes
from posenc.explorer.parameters import Parameter, Refused
from posenc.names.expressions import called
from posenc.views import Image
from posenc.views.kinds import KINDS
from posenc.views.tables import csv_pieces

VIEW = Parameter("view", "The kind of view.", None, choices=tuple(KINDS))


ARRAY = "application/octet-stream"
DRAWING = Lock()
"""matplotlib's settings are those of the whole program: one picture at a time."""


@dataclass(frozen=True)
class File:
    """A file to save."""

    name: str
    data: bytes | memoryview | Iterator[bytes]
    """All of it, or piece by piece what is too large to be held."""
    media: str

    def whole(self) -> bytes:
        """All of it."""
        data = self.data
        return bytes(data) if isinstance(data, bytes | memoryview) else b"".join(data)


def _of(values: dict[str, Any], loaded: dict[str, Encoding]) -> tuple[Asked, str]:
    wanted = asked(values, loaded)
    return wanted, _kind(values, wanted)


def _kind(values: dict[str, Any], wanted: Asked) -> str:
    return values["view"] or answers.first_kind(wanted)


def picture(form: str, media: str) -> Callable[..., File]:
    """The view as a picture, as `pe.show` draws it."""

    def export(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
        try:
            from posenc.plot import draw
        except ModuleNotFoundError as error:
            raise Refused(
                "{name} is not installed; pictures need: pip install '.[plot]' "
                "in a clone of posenc",
                status=503,
                name=error.name,
            ) from error
        wanted, kind = _of(values, loaded)
        made = answers.seen(wanted, kind, values["channels"])
        dark, buffer = values["theme"] == "dark", io.BytesIO()
        try:
            with DRAWING:
                draw(made, dark=dark, lang=wanted.lang).savefig(buffer, format=form)
        except ValueError as error:
            raise Refused(error, "view") from error
        return File(f"posenc-{kind}.{form}", buffer.getvalue(), media)

    return export


def csv(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
    """The numbers of the view as a table; it begins with a mark that spreadsheets know UTF-8 by."""
    wanted, kind = _of(values, loaded)
    answers.check_view(wanted, kind)
    _check_table(sum(_cells(kind, encoding, wanted.length) for encoding in wanted.encodings))
    made = answers.seen(wanted, kind, values["channels"])
    _check_table(sum(panel.values.size for panel in made.panels if isinstance(panel, Image)))
    pieces = chain(["\ufeff"], csv_pieces(made, text=plain_label))
    data = (piece.encode() for piece in pieces)
    return File(f"posenc-{kind}.csv", data, "text/csv; charset=utf-8")


def _cells(kind: str, encoding: Encoding, length: int) -> int:
    """Cells that the images of an encoding have, where that is known before they are made."""
    if (encoding.axes or 1) > 1:
        return 0
    columns = {
        "heatmap": answers.number_of_channels(encoding),
        "sum": 3 * limits.width(encoding),
        "similarity": length,
        "products": length,
    }
    return length * columns.get(kind, 0)


def _check_table(cells: int) -> None:
    if cells > limits.TABLE:
        raise Refused(
            "a table must have at most {most:,} cells; got {cells:,} (an .npy has room)",
            "n",
            413,
            most=limits.TABLE,
            cells=cells,
        )


def plain_label(cell: str) -> str:
    """The label with ' before what a spreadsheet would take for a formula: a token may be =1+1.

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
    wanted, kind = _of(values, loaded)
    made = answers.seen(wanted, kind, values["channels"])
    whole = values | {"rows": 0, "columns": 0, "height": 0, "width": 0}

    def array(panel: int) -> np.ndarray:
        found = answers.panel_values(made, whole | {"panel": panel})
        return np.asarray(found, dtype=np.float64)

    if values["panel"] is None and len(made.panels) > 1:
        buffer = io.BytesIO()
        arrays = {f"panel_{place}": array(place) for place in range(len(made.panels))}
        arrays["titles"] = np.array([panel.title for panel in made.panels])
        np.savez(buffer, allow_pickle=False, **arrays)
        return File(f"posenc-{kind}.npz", buffer.getbuffer(), ARRAY)  # large: not copied
    data = array_bytes(array(values["panel"] or 0))
    return File(f"posenc-{kind}.npy", data, ARRAY)


def code(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
    """Python that makes what is shown."""
    wanted, kind = _of(values, loaded)
    spelled = [
        f"mine[{name!r}]" if name in loaded else _with_module(str(called(name)))
        for name in wanted.names
    ]
    own = set(wanted.names) & set(loaded)
    gridded = any(encoding.axes not in (None, 1) for encoding in wanted.encodings)
    labels = None if gridded else wanted.labels
    channels, _ = answers.chosen_channels(wanted, kind, values["channels"])
    chosen = f"channels={list(channels)}, " if channels else ""
    if KINDS[kind].head and wanted.head is not None:
        chosen += f"head={wanted.head}, "
    if kind == "attention" and wanted.causal is not None:
        chosen += f"causal={wanted.causal}, "
    shown = "" if gridded else "tokens=tokens, " if labels else "length=length, "
    lines = [
        "import posenc as pe",
        *(["from posenc.names.resolve import loaded"] if own else []),
        "",
        *(['mine = loaded("mine.py")  # your file'] if own else []),
        f"encodings = [{', '.join(spelled)}]",
        *([f"tokens = {labels!r}"] if labels else []),
        *([f"length = {wanted.length}"] if shown.startswith("length") else []),
        f"figure = pe.show(encodings, {kind!r}, {shown}{chosen}seed={wanted.seed}, "
        f"lang={wanted.lang!r}, dark={values['theme'] == 'dark'})",
        f'figure.savefig("posenc-{kind}.png")',
    ]
    return File("posenc.py", ("\n".join(lines) + "\n").encode(), "text/x-python; charset=utf-8")


def _with_module(expression: str) -> str:
    return re.sub(r"\b(?=[A-Z]\w*[.(])", "pe.", expression)


def _spell(values: dict[str, Any], loaded: dict[str, Encoding]) -> dict[str, Any]:
    return encodings.told(values["e"][0], loaded, values["changes"], values["as"])


def html(values: dict[str, Any], loaded: dict[str, Encoding]) -> File:
    """The page itself, as one file that needs no server."""
    from posenc.explorer.saved import saved

    data = saved(asked(values, loaded), values, loaded)
    return File("posenc.html", data, "text/html; charset=utf-8")


def endpoints(make: Callable[..., Any], common: tuple[Parameter, ...]) -> list[Any]:
    """The addresses of all exports, and that of respelling an encoding."""
    panel = replace(
        p.PANEL, about="Which panel of the view, from 0; all if not given.", default=None
    )
    looks = (p.CHANNELS, p.HEAD, p.CAUSAL)
    parameters = (*common, VIEW, p.THEME, *looks)
    places = (p.POSITION, p.DIMENSION, p.COLUMN, p.ACTIVE)
    page = (*common, VIEW, *looks, p.HIDE)
    page += tuple(replace(each, default=None) for each in (*places, p.THEME))
    drawn = {"crew": "large"}  # one at a time, and each takes a second
    sized = {"kind": _kind}
    files: tuple[tuple[Any, ...], ...] = (
        ("png", "A picture.", picture("png", "image/png"), "image/png", drawn),
        ("svg", "A picture.", picture("svg", "image/svg+xml"), "image/svg+xml", drawn),
        ("csv", "The numbers of the view as a table.", csv, "text/csv", sized),
        ("npy", "Values in float64: of one panel an .npy, of several an .npz.", npy, ARRAY, sized),
        ("py", "Python that makes what is shown.", code, "text/x-python", {}),
    )
    return [
        *[
            make(
                f"/api/v1/export/{form}",
                about,
                (*parameters, panel) if form == "npy" else parameters,
                export,
                media,
                **options,
            )
            for form, about, export, media, options in files
        ],
        make(
            "/api/v1/export/html",
            "The page as one file that works from disk.",
            page,
            html,
            "text/html",
            crew="pages",
        ),
        make(
            "/api/v1/spell",
            "An encoding's parameters, some of them changed: set.PARAMETER=VALUE.",
            (p.ENCODINGS, p.AS, p.LANG),
            _spell,
            form="Told",
            changes=True,
        ),
    ]
