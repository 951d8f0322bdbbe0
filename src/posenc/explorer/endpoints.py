"""The explorer's endpoints: parameters in, an answer out, whatever carries them."""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Literal

from posenc.explorer import (
    answers,
    calculations,
    configs,
    encodings,
    exports,
    limits,
    saved_page,
    verdicts,
)
from posenc.explorer import parameters as p
from posenc.explorer.parameters import Parameter, RequestError
from posenc.explorer.replies import JSON, Reply, as_json
from posenc.explorer.requests import Request, ViewRequest

CrewName = Literal["usual", "large", "checks", "pages"]
"""Which workers compute an answer: one that takes seconds must not block others."""


@dataclass(frozen=True)
class Endpoint:
    """An address: its parameters, and the function that answers a request."""

    path: str
    about: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[Any], Any]
    """Plain data or a `Reply`, of a `ViewRequest` where the parameters include a sentence."""
    media: str = JSON
    schema: str | None = None
    """The name of a JSON answer's schema in `posenc.explorer.schemas`."""
    crew: CrewName = "usual"
    kind: Callable[[ViewRequest], str | None] | None = None
    """The kind of view that it computes, if any, where that decides how large the answer is."""
    changes: bool = False
    """Whether it also takes set.PARAMETER=VALUE."""
    method: Literal["GET", "POST"] = "GET"

    def match(self, path: str) -> dict[str, str] | None:
        """The parameters in a path, or None if it is another address."""
        found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", self.path), path)
        return None if found is None else found.groupdict()

    def read(
        self, query: Mapping[str, list[str]], in_path: Mapping[str, str], **rest: Any
    ) -> Request:
        """The request with the values of all parameters, each checked."""
        values = p.read(self.parameters, query, changes=self.changes)
        return Request(values=values | dict(in_path), **rest)

    def parse(self, request: Request) -> tuple[Request, CrewName]:
        """The request with its encodings made, and the workers that are to answer it."""
        if p.TEXT not in self.parameters:
            return request, self.crew
        with _blame_loaded(request):
            parsed = ViewRequest.parse(request)
            kind = self.kind and self.kind(parsed)
            numbers = limits.count_numbers(kind, parsed.encodings, parsed.length) if kind else 0
        return parsed, "large" if numbers > limits.LARGE else self.crew

    def reply(self, request: Request) -> Reply:
        """The answer to a request that `parse` returned."""
        with _blame_loaded(request):
            data = self.answer(request)
            return data if isinstance(data, Reply) else Reply(as_json(data))


@contextmanager
def _blame_loaded(request: Request) -> Generator[None]:
    """Name the user's own encodings in an unexpected error."""
    try:
        yield
    except Exception as error:
        own = [name for name in request.values.get("e") or () if name in request.loaded]
        if isinstance(error, RequestError) or not own:
            raise
        raise RequestError(
            "{names}, which you loaded, failed: {error}",
            "e",
            names=", ".join(own),
            error=f"{type(error).__name__}: {error}",
        ) from error


COMMON = (p.TEXT, p.BY, p.ENCODINGS, p.LENGTH, p.SEED, p.LANG)
LOOKS = (p.CHANNELS, p.HEAD, p.CAUSAL)
SHOWN = (*COMMON, p.ROWS, p.COLUMNS, *LOOKS)
EXPORTED = (*COMMON, p.VIEW, p.THEME, *LOOKS)
PLACE = (p.POSITION, p.DIMENSION, p.COLUMN)
PAGE = tuple(replace(each, default=None) for each in (*PLACE, p.ACTIVE, p.THEME))
PANEL = replace(p.PANEL, about="Which panel of the view, from 0; by default all.", default=None)


def _kind(request: ViewRequest) -> str:
    return request.kind


ENDPOINTS = (
    Endpoint(
        "/api/v1/encodings",
        "Every encoding with its parameters, the kinds of view, and the limits.",
        (p.LANG,),
        encodings.list_encodings,
        schema="Catalogue",
    ),
    Endpoint(
        "/api/v1/tokens",
        "The tokens of the sentence.",
        COMMON,
        answers.tokens,
        schema="Tokens",
    ),
    Endpoint(
        "/api/v1/view/{kind}.npy",
        "The values of a panel.",
        (*SHOWN, p.PANEL, *p.WINDOW),
        answers.panel_array,
        exports.ARRAY,
        kind=_kind,
    ),
    Endpoint(
        "/api/v1/view/{kind}",
        "A view of the encodings.",
        SHOWN,
        answers.requested_view_json,
        schema="View",
        kind=_kind,
    ),
    Endpoint(
        "/api/v1/cell",
        "The worked calculation of one number.",
        (*COMMON, *PLACE, p.HEAD, p.CAUSAL, p.VIEW),
        calculations.explain_requested_cell,
        schema="CellAnswer",
        kind=lambda request: request.values["view"],
    ),
    Endpoint(
        "/api/v1/explain",
        "The worked calculation of the first encoding.",
        (*COMMON, p.POSITION),
        calculations.explain_encoding,
        schema="Explanation",
        kind=lambda _: "explain",
    ),
    Endpoint(
        "/api/v1/check",
        "The check report of the first encoding.",
        COMMON,
        verdicts.check_encoding,
        schema="Report",
        crew="checks",
    ),
    Endpoint(
        "/api/v1/messages",
        "The page's messages in a language.",
        (p.LANG,),
        lambda request: answers.messages(request.lang),
        schema="Messages",
    ),
    Endpoint(
        "/api/v1/colours",
        "Colour maps, and the colours of lines and tokens.",
        (p.THEME, p.LANG),
        lambda request: answers.colour_maps(request.values["theme"]),
        schema="Colours",
    ),
    *(
        Endpoint(
            f"/api/v1/export/{form}",
            "A picture.",
            EXPORTED,
            exports.picture(form, media),
            media,
            crew="large",  # one at a time, a second each
        )
        for form, media in (("png", "image/png"), ("svg", "image/svg+xml"))
    ),
    Endpoint(
        "/api/v1/export/csv",
        "The numbers of the view as a table.",
        EXPORTED,
        exports.csv,
        "text/csv",
        kind=_kind,
    ),
    Endpoint(
        "/api/v1/export/npy",
        "Values in float64: an .npy of one panel, an .npz of several.",
        (*EXPORTED, PANEL),
        exports.npy,
        exports.ARRAY,
        kind=_kind,
    ),
    Endpoint(
        "/api/v1/export/py", "Python that draws the view.", EXPORTED, exports.code, "text/x-python"
    ),
    Endpoint(
        "/api/v1/export/html",
        "The page as a single file that works from disk.",
        (*COMMON, p.VIEW, *LOOKS, p.HIDE, *PAGE),
        saved_page.save_page,
        "text/html",
        crew="pages",
    ),
    Endpoint(
        "/api/v1/spell",
        "The facts about an encoding, with arguments changed by set.PARAMETER=VALUE.",
        (p.ENCODINGS, p.AS, p.LANG),
        encodings.describe_requested,
        schema="EncodingFacts",
        changes=True,
    ),
    Endpoint(
        "/api/v1/config",
        "The encodings of a model's config.json.",
        (p.LANG,),
        configs.describe_config,
        schema="Config",
        method="POST",
    ),
)
