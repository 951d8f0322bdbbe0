"""Access control: allowed hosts and origins, and the security headers of every response."""

from urllib.parse import parse_qs

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from posenc.explorer.parameters import RequestError, language
from posenc.explorer.replies import JSON, describe_error
from posenc.i18n import Phrase, phrase

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "connect-src 'self'; font-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
LOCAL = ("127.0.0.1", "localhost", "[::1]")


class Guard:
    """ASGI middleware that refuses foreign hosts and origins, so no other site can use the server.

    A host is foreign if it is neither one of `hosts` nor the address that was connected to: with
    DNS rebinding, a name that an attacker points here is neither. (Starlette's
    TrustedHostMiddleware knows a fixed list only, and takes the first of two Host headers.)
    """

    def __init__(self, app: ASGIApp, *, hosts: tuple[str, ...] = LOCAL) -> None:
        self.app, self.hosts = app, tuple(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # there are no web sockets
            await send({"type": "websocket.close", "code": 1008})
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        refusal, answer = self._why_refused(scope), self.app
        if refusal is not None:
            query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
            status, body = describe_error(RequestError(refusal, status=403), language(query))
            answer = Response(body, status, media_type=JSON)
        await answer(scope, receive, send_with_headers)

    def _why_refused(self, scope: Scope) -> Phrase | None:
        headers = Headers(scope=scope)
        for name in ("host", "origin", "sec-fetch-site"):
            if len(headers.getlist(name)) > 1:
                return phrase("the header {name} must be given once", name=name)
        host, origin = headers.get("host", ""), headers.get("origin")
        address = (scope.get("server") or ("",))[0]
        address = f"[{address}]" if ":" in address else address
        name = _host_name(host)
        if not name or name not in (*self.hosts, address):
            hosts = ", ".join(self.hosts)
            return phrase(
                "the explorer answers to {hosts}; got host {host!r}", hosts=hosts, host=host[:80]
            )
        if origin is not None and origin.lower() != f"{scope['scheme']}://{host}".lower():
            return phrase(
                "the explorer answers its own page only; got origin {origin!r}", origin=origin[:80]
            )
        elsewhere = headers.get("sec-fetch-site", "none").lower() in ("cross-site", "same-site")
        if elsewhere and scope["path"] != "/":  # any site may link to the page
            return phrase(
                "the explorer answers its own page only; this request came from another site"
            )
        return None


def _host_name(host: str) -> str | None:
    """The host without its port, in lower case; None if the port is invalid.

    >>> _host_name("LocalHost:8765"), _host_name("[::1]:80"), _host_name("localhost:8765x")
    ('localhost', '[::1]', None)
    """
    name, bracket, rest = host.rpartition("]") if host.startswith("[") else ("", "", host)
    start, colon, port = rest.partition(":")
    valid = port.isascii() and port.isdigit() and int(port[:6]) < 65_536 and len(port) < 6
    return (name + bracket + start).lower() if valid or not colon else None
