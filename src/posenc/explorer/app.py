"""The explorer as an ASGI application: endpoints, errors, the page."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass
from typing import NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from posenc.core.encoding import Encoding
from posenc.explorer import configs, delivery, limits, replies
from posenc.explorer.delivery import ByteBudget, Reservation
from posenc.explorer.endpoints import ENDPOINTS, Endpoint, describe_api
from posenc.explorer.guard import LOCAL, Guard
from posenc.explorer.parameters import RequestError, language
from posenc.explorer.replies import MISSING, STATIC, Reply, as_json, describe_error
from posenc.explorer.requests import Tokenizer
from posenc.explorer.workers import Workers


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


@dataclass
class EndpointApp:
    """An endpoint as an ASGI application: its workers compute the answer, then it is sent."""

    endpoint: Endpoint
    crew: Crew
    loaded: dict[str, Encoding]
    tokenizer: Tokenizer | None
    budgets: dict[str, ByteBudget]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer; large answers first reserve their memory, first come first served."""
        http, endpoint = Request(scope, receive), self.endpoint
        given = endpoint.read(
            _query(http),
            http.path_params,
            loaded=self.loaded,
            tokenizer=self.tokenizer,
            body=await _read_body(http) if endpoint.method == "POST" else b"",
        )
        request, crew = await self.crew.usual.run(lambda: endpoint.parse(given))
        workers: Workers = getattr(self.crew, crew)
        budget = self.budgets["pages" if crew == "pages" else "answers"]
        with closing(Reservation(budget)) as reservation, suppress(ClientDisconnect):

            async def compute() -> Reply:
                if crew in ("large", "pages"):  # before it is computed: from then on it is held
                    await reservation.reserve(delivery.LARGEST)
                return await workers.run(lambda: endpoint.reply(request))

            reply = await delivery.run_unless_disconnected(receive, compute())
            reservation.resize(_bytes_held(reply, reservation))
            with suppress(TimeoutError):  # the server closes a connection that is not done
                async with asyncio.timeout(delivery.SEND_SECONDS):
                    await _response(reply)(scope, receive, send)


def _bytes_held(reply: Reply, reservation: Reservation) -> int:
    """Bytes that an answer holds while it is sent."""
    if not isinstance(reply.data, bytes | memoryview):  # piece by piece, from a view that is held
        return max(reservation.size, 8 * limits.LARGE)
    return len(reply.data) if len(reply.data) > delivery.CHUNK else 0


def application(
    *,
    loaded: dict[str, Encoding] | None = None,
    tokenizer: Tokenizer | None = None,
    hosts: tuple[str, ...] = LOCAL,
    crew: Crew | None = None,
) -> Guard:
    """The explorer, with the encodings and the tokenizer that the command line has loaded."""
    crew = crew or make_crew()
    budgets = {"answers": ByteBudget(delivery.ANSWERS), "pages": ByteBudget(delivery.PAGES)}

    def route(endpoint: Endpoint) -> Route:
        handler = EndpointApp(endpoint, crew, loaded or {}, tokenizer, budgets)
        return Route(endpoint.path, handler, methods=[endpoint.method])

    async def openapi(_: Request) -> Response:
        return _response(Reply(as_json(describe_api())))

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        yield
        for workers in crew:
            workers.close()

    app = Starlette(
        routes=[
            *map(route, ENDPOINTS),
            Route("/api/v1/openapi.json", openapi, methods=["GET"]),
            Route("/", page, methods=["GET"]),
            Mount("/assets", StaticFiles(directory=STATIC / "assets", check_dir=False)),
        ],
        exception_handlers=dict.fromkeys((RequestError, HTTPException, Exception), handle_error),
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


async def handle_error(request: Request, error: Exception) -> Response:
    """A refusal, an unknown address or an error of ours, as a sentence in the language."""
    headers = None
    if isinstance(error, HTTPException):
        headers, status = error.headers, error.status_code
        message = {404: replies.NOT_FOUND, 405: replies.NOT_ALLOWED}.get(status, "{detail}")
        error = RequestError(message, status=status, detail=error.detail)
    status, body = describe_error(error, language(_query(request)))
    return Response(body, status, headers, replies.JSON)


async def _read_body(request: Request) -> bytes:
    header = request.headers.get("content-length", "")
    expected = int(header[:12]) if header.isascii() and header.isdigit() else 0
    body = bytearray()
    try:
        async for part in request.stream():
            configs.check_length(max(expected, len(body) + len(part)))
            body += part
    except ClientDisconnect as error:  # nobody reads this, and it need not be logged
        raise RequestError(
            "the connection ended before the whole config had arrived", "config"
        ) from error
    return bytes(body)


def _response(reply: Reply) -> Response:
    headers = {"content-disposition": f'attachment; filename="{reply.name}"'} if reply.name else {}
    if not isinstance(reply.data, bytes | memoryview):  # computed while it is sent
        return StreamingResponse(reply.data, 200, headers, reply.media)
    whole = memoryview(reply.data)
    if len(whole) <= delivery.CHUNK:
        return Response(bytes(whole), 200, headers, reply.media)

    async def chunks() -> AsyncGenerator[bytes]:  # copied one by one, as a slow reader takes them
        for at in range(0, len(whole), delivery.CHUNK):
            yield bytes(whole[at : at + delivery.CHUNK])

    headers["content-length"] = str(len(whole))
    return StreamingResponse(chunks(), 200, headers, reply.media)


def _query(request: Request) -> dict[str, list[str]]:
    return {key: request.query_params.getlist(key) for key in request.query_params}
