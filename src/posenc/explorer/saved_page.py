"""The page as a single file that works from disk: the bundle, and every answer it asks for."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice, product
from time import monotonic
from typing import Any
from urllib.parse import urlencode

import numpy as np

from posenc.core.encoding import Encoding, unwrap
from posenc.core.mechanisms import Bias, Rotary
from posenc.explorer import answers, encodings, limits, verdicts
from posenc.explorer.calculations import Prepared, explain_cell, prepare
from posenc.explorer.page import MISSING, STATIC, npy
from posenc.explorer.parameters import RequestError
from posenc.explorer.requests import ViewRequest
from posenc.i18n import LANGUAGES, Language
from posenc.views import Image
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


def save_page(
    request: ViewRequest, values: dict[str, Any], loaded: dict[str, Encoding]
) -> Iterator[bytes]:
    """The page of a request as the pieces of an HTML file, answer by answer."""
    if not (STATIC / "index.html").exists():
        raise RequestError(MISSING, status=503)
    kind = values["view"] or answers.choose_kind(request)
    # before seconds of work: other views may be left out, but not this one
    answers.check_view(request, kind)
    state = {
        "v": 1,
        "text": values["text"],
        "by": values["by"],
        "e": list(request.names),
        "n": values["n"],
        "seed": request.seed,
        "view": kind,
        "lang": request.lang,
        **{name: values[name] for name in ("p", "d", "k", "h", "causal", "a", "hide", "theme")},
    }
    query = "?" + urlencode({k: v for k, v in state.items() if v is not None}, doseq=True)
    return _page(request.lang, query, responses(request, kind, loaded))


def responses(request: ViewRequest, first: str, loaded: dict[str, Encoding]) -> dict[str, Any]:
    """Every answer by the name that the page gives it (`savedName` in web/src/api.ts).

    It includes the view `first`, and others while there is room for their images.
    """
    end = monotonic() + verdicts.CHECK_SECONDS  # for all checks together: the page has 90 seconds
    saved: dict[str, Any] = {
        "encodings": encodings.list_encodings(request.lang, loaded),
        "tokens": answers.tokens(request),
    }
    for one in _split(request):
        with suppress(RequestError):  # too slow or too large: the page says that it is missing
            left = max(0.0, end - monotonic())
            saved[_answer_name("check", one)] = verdicts.check_encoding(one, loaded, seconds=left)
        saved[_answer_name("spell", one)] = encodings.describe_encoding(one.names[0], loaded)
        saved |= _cells(one, len(request.names))
    saved |= {f"messages?lang={lang}": answers.messages(lang) for lang in LANGUAGES}
    saved |= {f"colours?theme={theme}": answers.colour_maps(theme) for theme in ("light", "dark")}
    cells, others = 0, [kind for kind in kinds_for(*request.encodings) if kind != first]
    for kind in (first, *others):
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
            saved[f"view/{kind}.npy?panel={number}"] = {"npy": _base64(npy(image))}
    return saved


def _split(request: ViewRequest) -> list[ViewRequest]:
    """The request for each encoding alone, as cells and properties are of one."""
    each = dict(zip(request.names, request.encodings, strict=True))
    return [replace(request, names=(name,), encodings=(one,)) for name, one in each.items()]


def _answer_name(path: str, request: ViewRequest, **more: int | str) -> str:
    """The name of an answer about one encoding, encoded as a browser would."""
    return f"{path}?{urlencode(sorted({'e': request.names[0], **more}.items()), safe='*')}"


def _cells(request: ViewRequest, among: int) -> dict[str, Any]:
    """The cells that a reader comes to first, as many as there is room for."""
    prepared, most = prepare(request), CELLS // among
    if (prepared.encoding.axes or 1) > 1:
        return dict(islice(_cells_of_maps(request, prepared), most))
    columns, heads = _columns(request), _heads(request)
    # for a rotation also its angles
    views = [None, "heatmap"] if isinstance(prepared.encoding, Rotary) else [None]
    rows = min(request.length, max(1, most // (len(columns) * len(heads) * len(views))))
    return dict(islice(_cells_of_views(request, prepared), most)) | {
        _answer_name(
            "cell", request, d=column, p=row, **_head_query(head), **_view_query(view)
        ): explain_cell(replace(request, head=head), row, column, prepared=prepared, view=view)
        for row in range(rows)
        for column in columns[:most]
        for head in heads
        for view in views
    }


def _cells_of_views(request: ViewRequest, prepared: Prepared) -> Iterator[tuple[str, Any]]:
    """Cells of the views with numbers of their own, for short sentences."""
    for view in kinds_for(*request.encodings):
        kind = KINDS[view]
        if kind.working is not None and request.length <= FEW:
            columns = request.length if kind.pairwise else limits.width(prepared.encoding)
            for row, column in product(range(request.length), range(columns)):
                head = _head_query(request.head or 0) if kind.head else {}
                name = _answer_name("cell", request, d=column, p=row, view=view, **head)
                yield name, explain_cell(request, row, column, view=view, prepared=prepared)


def _head_query(head: int) -> dict[str, int]:
    """A head as a query has it: from 1, and the first not at all."""
    return {"h": head + 1} if head else {}


def _view_query(view: str | None) -> dict[str, str]:
    return {} if view is None else {"view": view}


def _columns(request: ViewRequest) -> range:
    """What the page asks for in a row: keys, dimensions, or the first dimension of each pair."""
    facts = _facts(request)
    if facts["acts"] in PAIRED or facts["columns"] is None:
        return range(request.length)
    first, stride = facts["first"], facts["stride"]
    return range(first, first + stride * facts["columns"], stride)


def _facts(request: ViewRequest) -> dict[str, Any]:
    return encodings.describe_encoding(request.names[0], {request.names[0]: request.encodings[0]})


def _heads(request: ViewRequest) -> list[int]:
    """The heads whose biases are shown; the first where heads have no pictures."""
    if not isinstance(unwrap(request.encodings[0]), Bias):
        return [0]
    panels = answers.make_view(request, "bias", keep=False).panels
    return sorted({panel.channel or 0 for panel in panels if isinstance(panel, Image)}) or [0]


def _cells_of_maps(request: ViewRequest, prepared: Prepared) -> Iterator[tuple[str, Any]]:
    """Cells of the maps that are shown, one map after the other."""
    facts = _facts(request)
    paired = facts["acts"] in PAIRED
    for panel in answers.make_view(request, answers.choose_kind(request), keep=False).panels:
        assert isinstance(panel, Image), "maps are images"
        channel, shape = panel.channel or 0, panel.values.shape
        where = _head_query(channel) if paired else {}
        view = "maps" if isinstance(prepared.encoding, Rotary) else None
        d = min(2, shape[1] - 1) if paired else facts["first"] + facts["stride"] * channel
        for row, column in product(*map(range, shape)):
            name = _answer_name("cell", request, d=d, p=row, k=column, **where, **_view_query(view))
            one = replace(request, head=channel if paired else None)
            yield name, explain_cell(one, row, d, column, prepared=prepared, view=view)


def _base64(data: memoryview) -> str:
    return base64.b64encode(data).decode()


def _page(lang: Language, state: str, saved: dict[str, Any]) -> Iterator[bytes]:
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
