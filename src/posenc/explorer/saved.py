"""The page as one file that works from disk: the bundle, and every answer it will ask for."""

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

from posenc.core.mechanisms import Bias, Encoding, Rotary
from posenc.explorer import answers, encodings, limits, verdicts
from posenc.explorer.asked import Asked
from posenc.explorer.calculations import Drawn, cell, drawn
from posenc.explorer.page import MISSING, STATIC, npy
from posenc.explorer.parameters import Refused
from posenc.i18n import LANGUAGES
from posenc.views import Image
from posenc.views.kinds import KINDS, kinds_for

CELLS = 2_048
"""Cells whose worked calculation a saved page has, from the first row on."""
FEW = 16
"""Positions up to which it has the cells of pairs of them too."""
ROWS, COLUMNS = 512, 512
IMAGES = 2**22
"""Cells of the images of all views: 16 MiB, and 21 as text."""
PAIRED = ("bias", "scores")
"""What has a number for a query and a key."""

POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; font-src data:"
)
"""A file from disk has its script within it, and asks nobody for anything."""


def saved(asked: Asked, values: dict[str, Any], loaded: dict[str, Encoding]) -> Iterator[bytes]:
    """The page for what is asked, as the bytes of an HTML file, answer by answer."""
    if not (STATIC / "index.html").exists():
        raise Refused(MISSING, status=503)
    kind = values["view"] or answers.first_kind(asked)
    # before seconds of work: other views may be left out, not this one
    answers.check_view(asked, kind)
    state = {
        "v": 1,
        "text": values["text"],
        "by": values["by"],
        "e": list(asked.names),
        "n": values["n"],
        "seed": asked.seed,
        "view": kind,
        "lang": asked.lang,
        **{name: values[name] for name in ("p", "d", "k", "h", "causal", "a", "hide", "theme")},
    }
    query = "?" + urlencode({k: v for k, v in state.items() if v is not None}, doseq=True)
    return _page(asked.lang, query, responses(asked, kind, loaded))


def responses(asked: Asked, first: str, loaded: dict[str, Encoding]) -> dict[str, Any]:
    """Every answer by the name that the page gives it (`savedName` in web/src/api.ts).

    The view `first` is among them, others while there is room for their images.
    """
    end = monotonic() + verdicts.CHECK_SECONDS  # of all checks: the page has 90 seconds
    told: dict[str, Any] = {
        "encodings": encodings.encodings(asked.lang, loaded),
        "tokens": answers.tokens(asked),
    }
    for one in _each(asked):
        with suppress(Refused):  # too long, or too large: the page says that it is not there
            left = max(0.0, end - monotonic())
            told[_named("check", one)] = verdicts.checked(one, loaded, seconds=left)
        told[_named("spell", one)] = encodings.told(one.names[0], loaded)
        told |= _cells(one, len(asked.names))
    told |= {f"messages?lang={lang}": answers.messages(lang) for lang in LANGUAGES}
    told |= {f"colours?theme={theme}": answers.colour_maps(theme) for theme in ("light", "dark")}
    cells, others = 0, [kind for kind in kinds_for(*asked.encodings) if kind != first]
    for kind in (first, *others):
        try:
            made = answers.seen(asked, kind, keep=False)
        except Refused:  # a text that has a heatmap may be too long for its similarities
            continue
        images = {
            number: panel.averaged(ROWS, COLUMNS).values.astype(np.float32)
            for number, panel in enumerate(made.panels)
            if isinstance(panel, Image)
        }
        more = sum(image.size for image in images.values())
        if kind != first and more and cells + more > IMAGES:
            continue
        cells += more
        told[f"view/{kind}"] = answers.view_json(made, ROWS, COLUMNS)
        for number, image in images.items():
            told[f"view/{kind}.npy?panel={number}"] = {"npy": _base64(npy(image))}
    return told


def _each(asked: Asked) -> list[Asked]:
    """What is asked, of each encoding alone: the cell and the properties are of one."""
    each = dict(zip(asked.names, asked.encodings, strict=True))
    return [replace(asked, names=(name,), encodings=(one,)) for name, one in each.items()]


def _named(path: str, asked: Asked, **more: int | str) -> str:
    """The name of an answer about one encoding, spelled as a browser would."""
    return f"{path}?{urlencode(sorted({'e': asked.names[0], **more}.items()), safe='*')}"


def _cells(asked: Asked, among: int) -> dict[str, Any]:
    """The cells that a reader comes to first: as many as there is room for."""
    of, most = drawn(asked), CELLS // among
    if (of[0].axes or 1) > 1:
        return dict(islice(_cells_of_maps(asked, of), most))
    columns, heads = _columns(asked), _heads(asked)
    # of a rotation its angles too
    views = [None, "heatmap"] if isinstance(of[0], Rotary) else [None]
    rows = min(asked.length, max(1, most // (len(columns) * len(heads) * len(views))))
    return dict(islice(_cells_of_views(asked, of), most)) | {
        _named("cell", asked, d=column, p=row, **_counted(head), **_of(view)): cell(
            replace(asked, head=head), row, column, of=of, view=view
        )
        for row in range(rows)
        for column in columns[:most]
        for head in heads
        for view in views
    }


def _cells_of_views(asked: Asked, of: Drawn) -> Iterator[tuple[str, Any]]:
    """Those of the views that have numbers of their own, of sentences that are not long."""
    for view in kinds_for(*asked.encodings):
        if KINDS[view].working is not None and asked.length <= FEW:
            columns = asked.length if view != "sum" else limits.width(of[0])
            for row, column in product(range(asked.length), range(columns)):
                head = _counted(asked.head or 0) if view == "attention" else {}
                name = _named("cell", asked, d=column, p=row, view=view, **head)
                yield name, cell(asked, row, column, view=view, of=of)


def _counted(head: int) -> dict[str, int]:
    """A head as addresses have it: from 1, and the first not at all."""
    return {"h": head + 1} if head else {}


def _of(view: str | None) -> dict[str, str]:
    return {} if view is None else {"view": view}


def _columns(asked: Asked) -> range:
    """What the page asks for in a row: keys, dimensions, the first dimension of each pair."""
    seen = _seen(asked)
    if seen["acts"] in PAIRED or seen["columns"] is None:
        return range(asked.length)
    first, stride = seen["first"], seen["stride"]
    return range(first, first + stride * seen["columns"], stride)


def _seen(asked: Asked) -> dict[str, Any]:
    return encodings.told(asked.names[0], {asked.names[0]: asked.encodings[0]})


def _heads(asked: Asked) -> list[int]:
    """The heads whose biases are shown; the first, of what has no pictures of heads."""
    if not isinstance(limits.acting(asked.encodings[0]), Bias):
        return [0]
    panels = answers.seen(asked, "bias", keep=False).panels
    return sorted({panel.channel or 0 for panel in panels if isinstance(panel, Image)}) or [0]


def _cells_of_maps(asked: Asked, of: Drawn) -> Iterator[tuple[str, Any]]:
    """Those of the maps that are shown, one map after the other."""
    seen = _seen(asked)
    paired = seen["acts"] in PAIRED
    for panel in answers.seen(asked, answers.first_kind(asked), keep=False).panels:
        assert isinstance(panel, Image), "maps are images"
        channel, shape = panel.channel or 0, panel.values.shape
        where = _counted(channel) if paired else {}
        view = "maps" if isinstance(of[0], Rotary) else None
        d = min(2, shape[1] - 1) if paired else seen["first"] + seen["stride"] * channel
        for row, column in product(*map(range, shape)):
            name = _named("cell", asked, d=d, p=row, k=column, **where, **_of(view))
            one = replace(asked, head=channel if paired else None)
            yield name, cell(one, row, d, column, of=of, view=view)


def _base64(data: memoryview) -> str:
    return base64.b64encode(data).decode()


def _page(lang: str, state: str, told: dict[str, Any]) -> Iterator[bytes]:
    """The page in pieces, so that it is not held twice; what is told is forgotten on the way."""
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
    for name in list(told):
        yield f"{comma}{_text(name)}: {_text(told.pop(name))}".encode()
        comma = ",\n"
    yield f'}}}}</script>\n<script type="module">{script}</script></body></html>\n'.encode()


def _text(value: Any) -> str:
    """JSON that has no end of a script within it."""
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _asset(pattern: str, index: str) -> str:
    found = re.search(pattern, index)
    assert found is not None, "the build writes both"
    return (STATIC / found[1]).read_text(encoding="utf-8")
