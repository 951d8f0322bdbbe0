"""The explorer as an ASGI application: endpoints, errors, the page."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, cast

import numpy as np
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from posenc.core.encoding import Encoding
from posenc.explorer import (
    answers,
    calculations,
    configs,
    delivery,
    encodings,
    exports,
    limits,
    replies,
    verdicts,
)
from posenc.explorer import parameters as p
from posenc.explorer.delivery import ByteBudget, Reservation
from posenc.explorer.guard import LOCAL, Guard
from posenc.explorer.openapi import describe_api
from posenc.explorer.page import MISSING, STATIC, npy
from posenc.explorer.parameters import Parameter, RequestError
from posenc.explorer.requests import Tokenizer, ViewRequest
from posenc.explorer.workers import Workers
from posenc.i18n import translate, translator

COMMON = (p.TEXT, p.BY, p.ENCODINGS, p.LENGTH, p.SEED, p.LANG)
SIZE = (p.ROWS, p.COLUMNS, p.CHANNELS, p.HEAD, p.CAUSAL)

parse = ViewRequest.parse


@dataclass(frozen=True)
class Endpoint:
    """An address: its parameters, and the function that answers their values."""

    path: str
    about: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[dict[str, Any], dict[str, Encoding]], Any]
    media: str = "application/json"
    schema: str | None = None
    """The name of a JSON answer's schema in `posenc.explorer.schemas`."""
    crew: Literal["usual", "large", "checks", "pages"] = "usual"
    """Which workers compute it: one that takes seconds must not block others."""
    kind: Callable[[dict[str, Any], ViewRequest], str | None] | None = None
    """The kind of view that it computes, if any, where that decides how large the answer is."""
    changes: bool = False
    """Whether it also takes set.PARAMETER=VALUE."""


def _view(values: dict[str, Any], loaded: dict[str, Encoding]) -> Any:
    shown = answers.make_view(parse(values, loaded), values["kind"], values["channels"])
    return answers.view_json(shown, values["rows"], values["columns"])


def _array(values: dict[str, Any], loaded: dict[str, Encoding]) -> memoryview:
    shown = answers.make_view(parse(values, loaded), values["kind"], values["channels"])
    return npy(answers.panel_values(shown, values).astype(np.float32))


ENDPOINTS = (
    Endpoint(
        "/api/v1/encodings",
        "Every encoding with its parameters, the kinds of view, and the limits.",
        (p.LANG,),
        lambda v, own: encodings.list_encodings(
            v["lang"], own, tokenizer=v["tokenizer"] is not None
        ),
        schema="Catalogue",
    ),
    Endpoint(
        "/api/v1/tokens",
        "The tokens of the sentence.",
        COMMON,
        lambda v, own: answers.tokens(parse(v, own)),
        schema="Tokens",
    ),
    Endpoint(
        "/api/v1/view/{kind}.npy",
        "The values of a panel.",
        (*COMMON, *SIZE, p.PANEL, *p.WINDOW),
        _array,
        "application/octet-stream",
        kind=lambda v, _: v["kind"],
    ),
    Endpoint(
        "/api/v1/view/{kind}",
        "A view of the encodings.",
        (*COMMON, *SIZE),
        _view,
        schema="View",
        kind=lambda v, _: v["kind"],
    ),
    Endpoint(
        "/api/v1/cell",
        "The worked calculation of one number.",
        (*COMMON, p.POSITION, p.DIMENSION, p.COLUMN, p.HEAD, p.CAUSAL, exports.VIEW),
        lambda v, own: calculations.explain_cell(
            parse(v, own), v["p"], v["d"], v["k"], view=v["view"]
        ),
        schema="CellAnswer",
        kind=lambda v, _: v["view"],
    ),
    Endpoint(
        "/api/v1/explain",
        "The worked calculation of the first encoding.",
        (*COMMON, p.POSITION),
        lambda v, own: calculations.explain_encoding(parse(v, own), v["p"]),
        schema="Explanation",
        kind=lambda _, __: "explain",
    ),
    Endpoint(
        "/api/v1/check",
        "The check report of the first encoding.",
        COMMON,
        lambda v, own: verdicts.check_encoding(parse(v, own), own),
        schema="Report",
        crew="checks",
    ),
    Endpoint(
        "/api/v1/messages",
        "The page's messages in a language.",
        (p.LANG,),
        lambda v, _: answers.messages(v["lang"]),
        schema="Messages",
    ),
    Endpoint(
        "/api/v1/colours",
        "Colour maps, and the colours of lines and tokens.",
        (p.THEME, p.LANG),
        lambda v, _: answers.colour_maps(v["theme"]),
        schema="Colours",
    ),
    *exports.endpoints(Endpoint, COMMON),
)  # fmt: skip


class Crew(NamedTuple):
    """Workers for usual requests, for large views, for checks and for saved pages.

    All but the first take seconds, and small requests do not queue behind them.
    """

    usual: Workers
    large: Workers
    checks: Workers
    pages: Workers


def make_crew() -> Crew:
    """The workers of a server."""
    return Crew(
        usual=Workers(2, waiting=256, seconds=30.0),
        large=Workers(1, waiting=64, seconds=30.0),
        checks=Workers(1, waiting=32, seconds=60.0),
        pages=Workers(1, waiting=32, seconds=90.0),  # which include their checks
    )


def read_values(
    endpoint: Endpoint,
    query: dict[str, list[str]],
    in_path: dict[str, str],
    tokenizer: Tokenizer | None = None,
) -> dict[str, Any]:
    """The values of an endpoint's parameters, each checked."""
    values: dict[str, Any] = p.read(endpoint.parameters, query, changes=endpoint.changes) | in_path
    values["tokenizer"] = tokenizer
    if endpoint.changes:
        values["changes"] = p.read_changes(query)
    return values


def answer(endpoint: Endpoint, values: dict[str, Any], loaded: dict[str, Encoding]) -> Any:
    """The endpoint's answer to these values."""
    return _blame_loaded(values, loaded, lambda: endpoint.answer(values, loaded))


def is_large(endpoint: Endpoint, values: dict[str, Any], loaded: dict[str, Encoding]) -> bool:
    """Whether an answer takes so much time or memory that others must not wait for it."""

    def numbers() -> int:
        request = parse(values, loaded)
        kind = endpoint.kind and endpoint.kind(values, request)
        return limits.count_numbers(kind, request.encodings, request.length) if kind else 0

    return endpoint.kind is not None and _blame_loaded(values, loaded, numbers) > limits.LARGE


def _blame_loaded(
    values: dict[str, Any], loaded: dict[str, Encoding], work: Callable[[], Any]
) -> Any:
    """The result of `work`; an unexpected error of the user's own encodings names them."""
    try:
        return work()
    except Exception as error:
        own = [name for name in values.get("e") or () if name in loaded]
        if isinstance(error, RequestError) or not own:
            raise
        raise RequestError(
            "{names}, which you loaded, failed: {error}",
            "e",
            names=", ".join(own),
            error=f"{type(error).__name__}: {error}",
        ) from error


class SizedResponse(NamedTuple):
    """A response, and how many bytes it holds; None where it is computed while it is sent."""

    response: Response
    size: int | None


class EndpointApp:
    """An endpoint as an ASGI application: its workers compute the answer, then it is sent."""

    def __init__(
        self,
        endpoint: Endpoint,
        crew: Crew,
        loaded: dict[str, Encoding],
        tokenizer: Tokenizer | None,
        budgets: dict[str, ByteBudget],
    ) -> None:
        self.endpoint, self.crew, self.loaded, self.tokenizer = endpoint, crew, loaded, tokenizer
        self.budgets = budgets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; large answers first reserve their memory, first come first served."""
        request, endpoint = Request(scope, receive), self.endpoint
        values = read_values(endpoint, _query(request), request.path_params, self.tokenizer)
        crew = endpoint.crew
        if crew == "usual" and endpoint.kind is not None:
            large = await self.crew.usual.run(lambda: is_large(endpoint, values, self.loaded))
            crew = "large" if large else crew
        workers: Workers = getattr(self.crew, crew)

        budget = self.budgets["pages" if crew == "pages" else "answers"]
        with budget.reservation() as reservation, suppress(ClientDisconnect):

            async def respond() -> SizedResponse:
                if crew in ("large", "pages"):  # before it is computed: from then on it is held
                    await reservation.reserve(delivery.LARGEST)
                return await workers.run(
                    lambda: _response(endpoint, answer(endpoint, values, self.loaded))
                )

            sized = await delivery.run_unless_disconnected(receive, respond())
            reservation.resize(_bytes_held(sized, reservation))
            with suppress(TimeoutError):  # the server closes a connection that is not done
                async with asyncio.timeout(delivery.SEND_SECONDS):
                    await sized.response(scope, receive, send)


def _bytes_held(sized: SizedResponse, reservation: Reservation) -> int:
    """Bytes that an answer holds while it is sent."""
    if sized.size is None:  # chunk by chunk, from a view that is held
        return max(reservation.size, 8 * limits.LARGE)
    return sized.size if sized.size > delivery.CHUNK else 0


def application(
    *,
    loaded: dict[str, Encoding] | None = None,
    tokenizer: Tokenizer | None = None,
    hosts: tuple[str, ...] = LOCAL,
    crew: Crew | None = None,
) -> Guard:
    """The explorer, with the encodings and the tokenizer that the command line has loaded."""
    own = loaded or {}
    crew = crew or make_crew()

    budgets = {"answers": ByteBudget(delivery.ANSWERS), "pages": ByteBudget(delivery.PAGES)}

    def route(endpoint: Endpoint) -> Route:
        handler = EndpointApp(endpoint, crew, own, tokenizer, budgets)
        return Route(endpoint.path, handler, methods=["GET"])

    async def config(request: Request) -> Response:
        body, query = await _body(request), _query(request)
        lang = p.read((p.LANG,), query)["lang"]
        return await crew.usual.run(lambda: _json(configs.describe_config(body, lang)))

    async def openapi(_: Request) -> Response:
        return _json(describe_api(ENDPOINTS))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        for workers in crew:
            workers.close()

    app = Starlette(
        routes=[
            *map(route, ENDPOINTS),
            Route("/api/v1/config", config, methods=["POST"]),
            Route("/api/v1/openapi.json", openapi, methods=["GET"]),
            Route("/", page, methods=["GET"]),
            Mount("/assets", StaticFiles(directory=STATIC / "assets", check_dir=False)),
        ],
        exception_handlers={
            RequestError: handle_request_error,
            HTTPException: handle_http_error,
            Exception: handle_failure,
        },
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False
    return Guard(app, hosts=hosts)


async def page(_: Request) -> Response:
    """The page, or a sentence if it was not built."""
    index = STATIC / "index.html"
    if not index.exists():
        return Response(f"{MISSING}\n", status_code=503, media_type="text/plain; charset=utf-8")
    return FileResponse(index, headers={"cache-control": "no-cache"})


async def _body(request: Request) -> bytes:
    header = request.headers.get("content-length", "")
    expected = int(header[:12]) if header.isascii() and header.isdigit() else 0
    body = bytearray()
    try:
        async for part in request.stream():
            replies.check_config(max(expected, len(body) + len(part)))
            body += part
    except ClientDisconnect as error:  # nobody reads this, and it need not be logged
        raise RequestError(
            "the connection ended before the whole config had arrived", "config"
        ) from error
    return bytes(body)


def _response(endpoint: Endpoint, data: object) -> SizedResponse:
    if isinstance(data, exports.File):
        headers = {"content-disposition": f'attachment; filename="{data.name}"'}
        return _data_response(data.data, data.media, headers)
    if endpoint.media == "application/json":
        return _data_response(replies.as_json(data), replies.JSON)
    return _data_response(data, endpoint.media)


def _data_response(data: Any, media: str, headers: dict[str, str] | None = None) -> SizedResponse:
    if isinstance(data, Iterator):  # each piece is computed when the one before was sent
        pieces = cast(Iterator[bytes], data)
        return SizedResponse(StreamingResponse(pieces, media_type=media, headers=headers), None)
    whole = memoryview(data)
    if len(whole) <= delivery.CHUNK:
        response = Response(bytes(whole), media_type=media, headers=headers)
        return SizedResponse(response, len(whole))

    async def chunks() -> AsyncGenerator[bytes]:  # copied one by one, as a slow reader takes them
        for at in range(0, len(whole), delivery.CHUNK):
            yield bytes(whole[at : at + delivery.CHUNK])

    sized = {"content-length": str(len(whole))} | (headers or {})
    return SizedResponse(StreamingResponse(chunks(), media_type=media, headers=sized), len(whole))


def _json(data: object) -> Response:
    return _data_response(replies.as_json(data), replies.JSON).response


def _error(message: str, argument: str | None, status: int) -> Response:
    content = replies.error(message, argument)
    return Response(content, status_code=status, media_type=replies.JSON)


def _query(request: Request) -> dict[str, list[str]]:
    return {key: request.query_params.getlist(key) for key in request.query_params}


async def handle_request_error(request: Request, error: Exception) -> Response:
    """The refusal as a sentence in the language of the request."""
    assert isinstance(error, RequestError)
    return _error(translate(error, p.language(_query(request))), error.argument, error.status)


async def handle_http_error(request: Request, error: Exception) -> Response:
    """An unknown address, or a method that it does not take."""
    assert isinstance(error, HTTPException)
    status, t = error.status_code, translator(p.language(_query(request)))
    message = replies.describe_status(t, status) if status in (404, 405) else str(error.detail)
    response = _error(message, None, status)
    response.headers.update(error.headers or {})
    return response


async def handle_failure(request: Request, _: Exception) -> Response:
    """An error of ours, without its traceback, which is logged."""
    return _error(translator(p.language(_query(request)))(replies.FAILED), None, 500)
