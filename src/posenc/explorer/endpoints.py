"""The explorer's endpoints: parameters in, an answer out, whatever carries them."""

import re
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any, Literal, TypedDict, Unpack

from posenc.core.encoding import Encoding
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
from posenc.explorer.replies import ARRAY, JSON, Reply, as_json
from posenc.explorer.requests import Request, Tokenizer, ViewRequest
from posenc.explorer.schemas import SCHEMAS, ref

REFUSALS = ("400", "403", "404", "413", "503")
CrewName = Literal["usual", "large", "checks", "pages"]
"""Which workers compute an answer: one that takes seconds must not block others."""


class Context(TypedDict, total=False):
    """What a request has beside its parameters; `Request` explains each."""

    loaded: dict[str, Encoding]
    tokenizer: Tokenizer | None
    body: bytes


@dataclass(frozen=True)
class Endpoint:
    """An address under /api/v1: its parameters, and the function that answers a request."""

    name: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[Any], object]
    """Plain data or a `Reply`, of a `ViewRequest` where the parameters include a sentence."""
    schema: str | None = None
    """The name of a JSON answer's schema in `posenc.explorer.schemas`."""
    media: str = JSON
    crew: CrewName = "usual"
    kind: Callable[[ViewRequest], str | None] | None = None
    """The kind of view that it computes, if any, where that decides how large the answer is."""
    changes: bool = False
    """Whether it also takes set.PARAMETER=VALUE."""
    method: Literal["GET", "POST"] = "GET"

    @property
    def path(self) -> str:
        """Its address."""
        return f"/api/v1/{self.name}"

    @property
    def about(self) -> str:
        """What it answers: the first line of the function's docstring."""
        return (self.answer.__doc__ or "").partition("\n")[0]

    def match(self, path: str) -> dict[str, str] | None:
        """The parameters in a path, or None if it is another address."""
        found = re.fullmatch(re.sub(r"{(\w+)}", r"(?P<\1>[^/]+)", self.path), path)
        return None if found is None else found.groupdict()

    def describe(self) -> dict[str, object]:
        """The endpoint as an OpenAPI operation."""
        in_path = [
            {"name": name, "in": "path", "required": True, "schema": ref("ViewKind")}
            for name in re.findall(r"{(\w+)}", self.name)
        ]
        body = {"required": True, "content": {JSON: {"schema": {"type": "object"}}}}
        answer = {"schema": ref(self.schema)} if self.schema else {}
        refused = {"description": "refused", "content": {JSON: {"schema": ref("Refusal")}}}
        return {
            "summary": self.about,
            "parameters": in_path + [each.schema() for each in self.parameters],
            **({"requestBody": body} if self.method == "POST" else {}),
            "responses": {"200": {"description": "answered", "content": {self.media: answer}}}
            | dict.fromkeys(REFUSALS, refused),
        }

    def read(
        self, query: Mapping[str, list[str]], in_path: Mapping[str, str], **rest: Unpack[Context]
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
SAVED = (
    *(*COMMON, p.VIEW, *LOOKS, p.HIDE),
    *(replace(each, default=None) for each in (*PLACE, p.ACTIVE, p.THEME)),
)
PANEL = replace(p.PANEL, about="Which panel of the view, from 0; by default all.", default=None)


def _kind(request: ViewRequest) -> str:
    return request.kind


ENDPOINTS = (
    Endpoint("encodings", (p.LANG,), encodings.list_encodings, "Catalogue"),
    Endpoint("tokens", COMMON, answers.tokens, "Tokens"),
    Endpoint(
        "view/{kind}.npy",
        (*SHOWN, p.PANEL, *p.WINDOW),
        answers.show_panel,
        media=ARRAY,
        kind=_kind,
    ),
    Endpoint("view/{kind}", SHOWN, answers.show_view, "View", kind=_kind),
    Endpoint(
        "cell",
        (*COMMON, *PLACE, p.HEAD, p.CAUSAL, p.VIEW),
        calculations.explain_number,
        "CellAnswer",
        kind=lambda request: request.values["view"],
    ),
    Endpoint(
        "explain",
        (*COMMON, p.POSITION),
        calculations.explain_encoding,
        "Explanation",
        kind=lambda _: "explain",
    ),
    Endpoint("check", COMMON, verdicts.check_encoding, "Report", crew="checks"),
    Endpoint("messages", (p.LANG,), answers.messages, "Messages"),
    Endpoint("colours", (p.THEME, p.LANG), answers.colour_maps, "Colours"),
    # pictures are drawn one at a time, a second each
    Endpoint("export/png", EXPORTED, exports.png, media="image/png", crew="large"),
    Endpoint("export/svg", EXPORTED, exports.svg, media="image/svg+xml", crew="large"),
    Endpoint("export/csv", EXPORTED, exports.csv, media="text/csv", kind=_kind),
    Endpoint("export/npy", (*EXPORTED, PANEL), exports.npy, media=ARRAY, kind=_kind),
    Endpoint("export/py", EXPORTED, exports.code, media="text/x-python"),
    Endpoint("export/html", SAVED, saved_page.save_page, media="text/html", crew="pages"),
    Endpoint("spell", (p.ENCODINGS, p.AS, p.LANG), encodings.spell, "EncodingFacts", changes=True),
    Endpoint("config", (p.LANG,), configs.describe_config, "Config", method="POST"),
)


def describe_api() -> dict[str, object]:
    """The OpenAPI 3.1 document of all endpoints."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "posenc explorer", "version": version("posenc")},
        "paths": {each.path: {each.method.lower(): each.describe()} for each in ENDPOINTS},
        "components": {"schemas": SCHEMAS},
    }
