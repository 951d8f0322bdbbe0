"""Who may ask, and what every answer carries: hosts, origins, the content security policy."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
App = Callable[[Scope, Any, Any], Awaitable[None]]

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
    """Refuses foreign hosts and origins (a page elsewhere cannot ask in our name)."""

    def __init__(self, app: App, *, hosts: tuple[str, ...] = LOCAL) -> None:
        self.app, self.hosts = app, hosts

    async def __call__(self, scope: Scope, receive: Any, send: Any) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def carrying(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", []), *HEADERS]
            await send(message)

        refusal = self._refusal(scope)
        if refusal is None:
            await self.app(scope, receive, carrying)
            return
        body = json.dumps({"error": {"message": refusal, "argument": None}}).encode()
        headers = [(b"content-type", b"application/json")]
        await carrying({"type": "http.response.start", "status": 403, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _refusal(self, scope: Scope) -> str | None:
        headers: dict[str, str] = {}
        for name, value in scope["headers"]:
            if name in (b"host", b"origin", b"sec-fetch-site"):
                headers[name.decode("latin-1")] = value.decode("latin-1")
        host = headers.get("host", "")
        if _name(host) not in self.hosts:
            return f"the explorer answers to {', '.join(self.hosts)}; got host {host[:80]!r}"
        origin = headers.get("origin")
        if origin is not None and origin != f"{scope['scheme']}://{host}":
            return f"the explorer answers its own page only; got origin {origin[:80]!r}"
        return None


def _name(host: str) -> str:
    """The host without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host
