"""The page as a single file that works from disk: the bundle, and every answer it asks for."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice, product
from time import monotonic
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np

from posenc.core.encoding import unwrap
from posenc.explorer import answers, encodings, verdicts
from posenc.explorer.calculations import explain_number, prepare
from posenc.explorer.parameters import RequestError
from posenc.explorer.replies import MISSING, STATIC, Reply, to_npy
from posenc.explorer.requests import Request, ViewRequest
from posenc.i18n import LANGUAGES
from posenc.views import Image, cost
from posenc.views.kinds import KINDS, kinds_for

CELLS = 2_048
"""Cells whose worked calculation a saved page includes, from the first row on."""
FEW = 16
"""Positions up to which it also includes the cells of pairs of positions."""
ROWS, COLUMNS = 512, 512
IMAGES = 2**22
"""Cells in the images of all views: 16 MiB, or 21 as text."""
PAIRED = ("bias", "scores")
"""Mechanisms with a number for each query and key."""

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""A file from disk contains its script and makes no requests."""


def save_page(request: ViewRequest) -> Reply:
    """The page as a single file that works from disk."""
    if not (STATIC / "index.html").exists():
        raise RequestError(MISSING, status=503)
    # before seconds of work: other views may be left out, but not this one
    answers.check_view(request, request.kind)
    names = ("text", "by", "e", "n", "seed", "view", "lang")
    names += ("p", "d", "k", "h", "causal", "a", "hide", "theme")
    values = request.values | {"view": request.kind}
    state = {"v": 1} | {name: values[name] for name in names if values[name] is not None}
    page = _page(request.lang, "?" + urlencode(state, doseq=True), responses(request))
    return Reply(page, "text/html; charset=utf-8", "posenc.html")


def responses(request: ViewRequest) -> dict[str, object]:
    """Every answer by the name that the page gives it (`savedName` in web/src/api.ts).

    It includes the requested view, and others while there is room for their images.
    """
    end = monotonic() + verdicts.CHECK_SECONDS  # for all checks together: the page has 90 seconds
    saved: dict[str, object] = {
        "encodings": encodings.list_encodings(replace(request, tokenizer=None)),
        "tokens": answers.tokens(request),
    }
    for name, encoding in dict(zip(request.names, request.encodings, strict=True)).items():
        one = replace(request, names=(name,), encodings=(encoding,))
        with suppress(RequestError):  # too slow or too large: the page says that it is missing
            left = max(0.0, end - monotonic())
            saved[_answer_name("check", one)] = verdicts.check_encoding(one, seconds=left)
        saved[_answer_name("spell", one)] = encodings.describe_encoding(name, request.loaded)
        saved |= _cells(one, CELLS // len(request.names))
    for lang in LANGUAGES:
        saved[f"messages?lang={lang}"] = answers.messages(Request(values={"lang": lang}))
    for theme in ("light", "dark"):
        saved[f"colours?theme={theme}"] = answers.colour_maps(Request(values={"theme": theme}))
    cells, first = 0, request.kind
    for kind in (first, *(kind for kind in kinds_for(*request.encodings) if kind != first)):
        try:
            shown = answers.make_view(request, kind, keep=False)
        except RequestError:  # a text short enough for a heatmap may be too long for similarities
            continue
        images = {
            number: panel.average(ROWS, COLUMNS).values.astype(np.float32)
            for number, panel in enumerate(shown.panels)
            if isinstance(panel, Image)
        }
        more = sum(image.size for image in images.values())
        if kind != first and more and cells + more > IMAGES:
            continue
        cells += more
        saved[f"view/{kind}"] = answers.view_json(shown, ROWS, COLUMNS)
        for number, image in images.items():
            text = base64.b64encode(to_npy(image)).decode()
            saved[f"view/{kind}.npy?panel={number}"] = {"npy": text}
    return saved


def _answer_name(path: str, request: ViewRequest, **more: int | str) -> str:
    """The name of an answer about one encoding, encoded as a browser would."""
    return f"{path}?{urlencode(sorted({'e': request.names[0], **more}.items()), safe='*')}"


class Cell(NamedTuple):
    """A cell as the page asks for it; `posenc.explorer.calculations.explain_number` explains."""

    p: int
    d: int
    k: int | None = None
    view: str | None = None
    head: int | None = None

    def query(self) -> dict[str, int | str]:
        """Its query: heads count from 1, and the first is left out."""
        query = self._asdict() | {"head": None, "h": self.head + 1 if self.head else None}
        return {name: value for name, value in query.items() if value is not None}


def _cells(request: ViewRequest, most: int) -> dict[str, object]:
    """The cells of one encoding that a reader comes to first, as many as there is room for."""
    prepared, name = prepare(request), request.names[0]
    facts = encodings.describe_encoding(name, {name: request.encodings[0]})
    if (prepared.encoding.axes or 1) > 1:
        cells = islice(_map_cells(request, facts), most)
    else:
        cells = chain(islice(_view_cells(request), most), _text_cells(request, facts, most))
    found = dict[str, Any]()
    for cell in cells:
        values = request.values | cell._asdict() | {"k": cell.k or 0}
        one = replace(request, values=values, head=cell.head)
        found[_answer_name("cell", request, **cell.query())] = explain_number(one, prepared)
    return found


def _text_cells(request: ViewRequest, facts: dict[str, Any], most: int) -> Iterator[Cell]:
    """Cells of the first rows: of keys, dimensions, or the first dimension of each pair."""
    columns = range(request.length)
    if facts["acts"] not in PAIRED and facts["columns"] is not None:
        first, stride = facts["first"], facts["stride"]
        columns = range(first, first + stride * facts["columns"], stride)
    heads = [0]
    if facts["acts"] == "bias":  # those that are shown
        panels = answers.make_view(request, "bias", keep=False).panels
        heads = sorted({panel.channel or 0 for panel in panels if isinstance(panel, Image)}) or [0]
    views = [None, "heatmap"] if facts["acts"] == "rotary" else [None]  # a rotation: also angles
    rows = min(request.length, max(1, most // (len(columns) * len(heads) * len(views))))
    for row, column, head, view in product(range(rows), columns[:most], heads, views):
        yield Cell(row, column, view=view, head=head)


def _view_cells(request: ViewRequest) -> Iterator[Cell]:
    """Cells of the views with numbers of their own, for short sentences."""
    for kind in map(KINDS.__getitem__, kinds_for(*request.encodings)):
        if kind.working is not None and request.length <= FEW:
            columns = request.length if kind.pairwise else cost.width(unwrap(request.encodings[0]))
            for row, column in product(range(request.length), range(columns)):
                yield Cell(row, column, view=kind.name, head=request.head if kind.head else None)


def _map_cells(request: ViewRequest, facts: dict[str, Any]) -> Iterator[Cell]:
    """Cells of the maps that are shown, one map after the other."""
    paired, view = facts["acts"] in PAIRED, "maps" if facts["acts"] == "rotary" else None
    for panel in answers.make_view(request, facts["default_view"], keep=False).panels:
        assert isinstance(panel, Image), "maps are images"
        channel, shape = panel.channel or 0, panel.values.shape
        d = min(2, shape[1] - 1) if paired else facts["first"] + facts["stride"] * channel
        for row, column in product(*map(range, shape)):
            yield Cell(row, d, column, view, channel if paired else None)


def _page(lang: str, state: str, saved: dict[str, object]) -> Iterator[bytes]:
    """The page in pieces, so that it is not held twice; consumes the answers on the way."""
    index = (STATIC / "index.html").read_text(encoding="utf-8")
    script = _asset(r'src="\./(assets/[^"]+\.js)"', index).replace("</script", "<\\/script")
    style = _asset(r'href="\./(assets/[^"]+\.css)"', index)
    yield (
        f'<!doctype html>\n<html lang="{lang}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>posenc</title>'
        f'<link rel="icon" href="data:,"><style>{style}</style></head>\n'
        f'<body><div id="posenc"></div>\n<script type="application/json" id="posenc-data">'
        f'{{"state": {_text(state)}, "responses": {{'
    ).encode()
    comma = ""
    for name in list(saved):
        yield f"{comma}{_text(name)}: {_text(saved.pop(name))}".encode()
        comma = ",\n"
    yield f'}}}}</script>\n<script type="module">{script}</script></body></html>\n'.encode()


def _text(value: object) -> str:
    """JSON that cannot end a script element."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _asset(pattern: str, index: str) -> str:
    match = re.search(pattern, index)
    assert match is not None, "the build writes both"
    return (STATIC / match[1]).read_text(encoding="utf-8")
