"""The explorer as an application: addresses, errors, the page."""

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

from posenc.explorer import (
    answers,
    calculations,
    encodings,
    exports,
    limits,
    replies,
    sending,
    verdicts,
)
from posenc.explorer import parameters as p
from posenc.explorer.asked import Asked, Tokenizer, asked
from posenc.explorer.guard import LOCAL, Guard
from posenc.explorer.openapi import described
from posenc.explorer.page import MISSING, STATIC, npy
from posenc.explorer.parameters import Parameter, Refused
from posenc.explorer.sending import Room, Share
from posenc.explorer.work import Workers
from posenc.mechanisms import Encoding
from posenc.messages import told, translator

COMMON = (p.TEXT, p.BY, p.ENCODINGS, p.LENGTH, p.SEED, p.LANG)
SIZE = (p.ROWS, p.COLUMNS, p.CHANNELS, p.HEAD, p.CAUSAL)


@dataclass(frozen=True)
class Endpoint:
    """An address: what it answers, which parameters it takes, and the function that does it."""

    path: str
    about: str
    parameters: tuple[Parameter, ...]
    answer: Callable[[dict[str, Any], dict[str, Encoding]], Any]
    media: str = "application/json"
    form: str | None = None
    """Of an answer in JSON: its name in `posenc.explorer.schemas`."""
    crew: Literal["usual", "large", "checks", "pages"] = "usual"
    """Who does it: one that takes seconds must not keep others waiting."""
    kind: Callable[[dict[str, Any], Asked], str | None] | None = None
    """Of an answer whose size depends on what is asked: the kind of view that it takes, if any."""
    changes: bool = False
    """Whether it takes set.PARAMETER=VALUE too."""


def _view(values: dict[str, Any], loaded: dict[str, Encoding]) -> Any:
    made = answers.seen(asked(values, loaded), values["kind"], values["channels"])
    return answers.view_json(made, values["rows"], values["columns"])


def _array(values: dict[str, Any], loaded: dict[str, Encoding]) -> memoryview:
    made = answers.seen(asked(values, loaded), values["kind"], values["channels"])
    return npy(answers.panel_values(made, values).astype(np.float32))


ENDPOINTS = (
    Endpoint(
        "/api/v1/encodings",
        "Every encoding with its parameters, by where it acts.",
        (p.LANG,),
        lambda v, own: encodings.encodings(v["lang"], own, tokenizer=v["tokenizer"] is not None),
        form="Catalogue",
    ),
    Endpoint(
        "/api/v1/tokens",
        "The sentence as tokens.",
        COMMON,
        lambda v, own: answers.tokens(asked(v, own)),
        form="Tokens",
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
        form="View",
        kind=lambda v, _: v["kind"],
    ),
    Endpoint(
        "/api/v1/cell",
        "One number, worked.",
        (*COMMON, p.POSITION, p.DIMENSION, p.COLUMN, p.HEAD, p.CAUSAL, exports.VIEW),
        lambda v, own: calculations.cell(asked(v, own), v["p"], v["d"], v["k"], view=v["view"]),
        form="CellAnswer",
        kind=lambda v, _: v["view"],
    ),
    Endpoint(
        "/api/v1/explain",
        "The worked calculation of the first encoding.",
        (*COMMON, p.POSITION),
        lambda v, own: calculations.explanation(asked(v, own), v["p"]),
        form="Explanation",
        kind=lambda _, __: "explain",
    ),
    Endpoint(
        "/api/v1/check",
        "What the checks find of the first encoding.",
        COMMON,
        lambda v, own: verdicts.checked(asked(v, own), own),
        form="Report",
        crew="checks",
    ),
    Endpoint(
        "/api/v1/messages",
        "The page's words in a language.",
        (p.LANG,),
        lambda v, _: answers.messages(v["lang"]),
        form="Messages",
    ),
    Endpoint(
        "/api/v1/colours",
        "Colour maps and colours of lines.",
        (p.THEME, p.LANG),
        lambda v, _: answers.colour_maps(v["theme"]),
        form="Colours",
    ),
    *exports.endpoints(Endpoint, COMMON),
)  # fmt: skip


class Crew(NamedTuple):
    """Who does the usual work, what is large, checks, and pages to save.

    All but the first take seconds, and whoever asks for little does not wait for them.
    """

    usual: Workers
    large: Workers
    checks: Workers
    pages: Workers


def crew_of() -> Crew:
    """Workers as a server has them."""
    return Crew(
        usual=Workers(2, waiting=256, seconds=30.0),
        large=Workers(1, waiting=64, seconds=30.0),
        checks=Workers(1, waiting=32, seconds=60.0),
        pages=Workers(1, waiting=32, seconds=90.0),  # which have their checks within them
    )


def read(
    endpoint: Endpoint,
    query: dict[str, list[str]],
    named: dict[str, str],
    tokenizer: Tokenizer | None = None,
) -> dict[str, Any]:
    """The parameters of what is asked, checked one by one."""
    values: dict[str, Any] = p.read(endpoint.parameters, query, changes=endpoint.changes) | named
    values["tokenizer"] = tokenizer
    if endpoint.changes:
        values["changes"] = p.changes(query)
    return values


def answered(endpoint: Endpoint, values: dict[str, Any], loaded: dict[str, Encoding]) -> Any:
    """What an endpoint answers."""
    return _naming_own(values, loaded, lambda: endpoint.answer(values, loaded))


def is_large(endpoint: Endpoint, values: dict[str, Any], loaded: dict[str, Encoding]) -> bool:
    """Whether an answer takes so long, or so much memory, that others must not wait for it."""

    def numbers() -> int:
        wanted = asked(values, loaded)
        kind = endpoint.kind and endpoint.kind(values, wanted)
        return limits.numbers(kind, wanted.encodings, wanted.length) if kind else 0

    return endpoint.kind is not None and _naming_own(values, loaded, numbers) > limits.LARGE


def _naming_own(
    values: dict[str, Any], loaded: dict[str, Encoding], work: Callable[[], Any]
) -> Any:
    """What `work` makes; where encodings of the reader's own fail at it, a sentence says so."""
    try:
        return work()
    except Exception as error:
        own = [name for name in values.get("e") or () if name in loaded]
        if isinstance(error, Refused) or not own:
            raise
        raise Refused(
            "{names}, which you loaded, failed: {error}",
            "e",
            names=", ".join(own),
            error=f"{type(error).__name__}: {error}",
        ) from error


class Made(NamedTuple):
    """An answer, and how many bytes it holds; None where it is made as it is sent."""

    response: Response
    size: int | None


class Answer:
    """An endpoint as an application: its crew makes the answer, and then it is sent."""

    def __init__(
        self,
        endpoint: Endpoint,
        crew: Crew,
        loaded: dict[str, Encoding],
        tokenizer: Tokenizer | None,
        rooms: dict[str, Room],
    ) -> None:
        self.endpoint, self.crew, self.loaded, self.tokenizer = endpoint, crew, loaded, tokenizer
        self.rooms = rooms

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, in the order of coming where the answer is large."""
        request, endpoint = Request(scope, receive), self.endpoint
        values = read(endpoint, _query(request), request.path_params, self.tokenizer)
        crew = endpoint.crew
        if crew == "usual" and endpoint.kind is not None:
            large = await self.crew.usual.do(lambda: is_large(endpoint, values, self.loaded))
            crew = "large" if large else crew
        workers: Workers = getattr(self.crew, crew)

        room = self.rooms["pages" if crew == "pages" else "answers"]
        with room.share() as share, suppress(ClientDisconnect):

            async def make() -> Made:
                if crew in ("large", "pages"):  # before it is made, as it is held from then on
                    await share.reserve(sending.LARGEST)
                return await workers.do(
                    lambda: _response(endpoint, answered(endpoint, values, self.loaded))
                )

            made = await sending.unless_gone(receive, make())
            share.resize(_held(made, share))
            with suppress(TimeoutError):  # the server ends what was not sent to its end
                async with asyncio.timeout(sending.SECONDS):
                    await made.response(scope, receive, send)


def _held(made: Made, share: Share) -> int:
    """Bytes that an answer takes while it is sent."""
    if made.size is None:  # piece by piece, of a view that is held
        return max(share.size, 8 * limits.LARGE)
    return made.size if made.size > sending.PIECE else 0


def application(
    *,
    loaded: dict[str, Encoding] | None = None,
    tokenizer: Tokenizer | None = None,
    hosts: tuple[str, ...] = LOCAL,
    crew: Crew | None = None,
) -> Guard:
    """The explorer, with encodings and a tokenizer that the command line has loaded."""
    own = loaded or {}
    crew = crew or crew_of()

    rooms = {"answers": Room(sending.ROOM), "pages": Room(sending.PAGES)}

    def route(endpoint: Endpoint) -> Route:
        return Route(endpoint.path, Answer(endpoint, crew, own, tokenizer, rooms), methods=["GET"])

    async def config(request: Request) -> Response:
        body, query = await _body(request), _query(request)
        lang = p.read((p.LANG,), query)["lang"]
        return await crew.usual.do(lambda: _json(answers.config(body, lang)))

    async def openapi(_: Request) -> Response:
        return _json(described(ENDPOINTS))

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
        exception_handlers={Refused: refused, HTTPException: not_there, Exception: failed},
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
    told = request.headers.get("content-length", "")
    expected = int(told[:12]) if told.isascii() and told.isdigit() else 0
    body = bytearray()
    try:
        async for part in request.stream():
            replies.check_config(max(expected, len(body) + len(part)))
            body += part
    except ClientDisconnect as error:  # nobody hears it, and it is nothing for the log
        raise Refused("a config must come whole; the connection ended", "config") from error
    return bytes(body)


def _response(endpoint: Endpoint, made: Any) -> Made:
    if isinstance(made, exports.File):
        headers = {"content-disposition": f'attachment; filename="{made.name}"'}
        return _sent(made.data, made.media, headers)
    if endpoint.media == "application/json":
        return _sent(replies.as_json(made), replies.JSON)
    return _sent(made, endpoint.media)


def _sent(data: Any, media: str, headers: dict[str, str] | None = None) -> Made:
    if isinstance(data, Iterator):  # each piece is made when the one before was taken
        pieces = cast(Iterator[bytes], data)
        return Made(StreamingResponse(pieces, media_type=media, headers=headers), None)
    whole = memoryview(data)
    if len(whole) <= sending.PIECE:
        return Made(Response(bytes(whole), media_type=media, headers=headers), len(whole))

    async def pieces_of() -> AsyncGenerator[bytes]:  # a slow reader's are not all copied at once
        for at in range(0, len(whole), sending.PIECE):
            yield bytes(whole[at : at + sending.PIECE])

    told = {"content-length": str(len(whole))} | (headers or {})
    return Made(StreamingResponse(pieces_of(), media_type=media, headers=told), len(whole))


def _json(data: Any) -> Response:
    return _sent(replies.as_json(data), replies.JSON).response


def _error(message: str, argument: str | None, status: int) -> Response:
    content = replies.error(message, argument)
    return Response(content, status_code=status, media_type=replies.JSON)


def _query(request: Request) -> dict[str, list[str]]:
    return {key: request.query_params.getlist(key) for key in request.query_params}


async def refused(request: Request, error: Exception) -> Response:
    """A sentence about what was asked, in the language of whoever asks."""
    assert isinstance(error, Refused)
    return _error(told(error, p.language(_query(request))), error.argument, error.status)


async def not_there(request: Request, error: Exception) -> Response:
    """An address or a method that there is not."""
    assert isinstance(error, HTTPException)
    status, t = error.status_code, translator(p.language(_query(request)))
    message = replies.not_there(t, status) if status in (404, 405) else str(error.detail)
    made = _error(message, None, status)
    made.headers.update(error.headers or {})
    return made


async def failed(request: Request, _: Exception) -> Response:
    """Our own fault: said without its traceback, which goes to the log."""
    return _error(translator(p.language(_query(request)))(replies.FAILED), None, 500)
