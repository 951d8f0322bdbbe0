"""A client of the explorer within the process: it can send what no proper client would."""

import asyncio
import io
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote_to_bytes, urlencode

import numpy as np

from posenc.explorer.app import Crew, application, make_crew
from posenc.explorer.guard import LOCAL
from posenc.explorer.workers import Workers
from tests.explorer.clock import Clock

HOST = (b"host", b"127.0.0.1:8765")


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def npy(self) -> np.ndarray:
        return np.load(io.BytesIO(self.body), allow_pickle=False)

    @property
    def message(self) -> str:
        assert set(self.json) == {"error"}
        assert set(self.json["error"]) == {"message", "argument"}
        return self.json["error"]["message"]

    @property
    def argument(self) -> str | None:
        return self.json["error"]["argument"]


class Client:
    """Asks an application that runs in an event loop of its own."""

    def __init__(
        self, *, hosts: tuple[str, ...] = LOCAL, crew: Crew | None = None, **own: Any
    ) -> None:
        self.crew = crew or make_crew()
        self.app = application(hosts=hosts, crew=self.crew, **own)
        self.loop = Clock()
        self.stopped = 0
        """Answers that wait for their readers."""

    def get(self, path: str, *pairs: tuple[str, Any], **query: Any) -> Answer:
        query_string = urlencode([*pairs, *query.items()], doseq=True, quote_via=quote).encode()
        return self.ask("GET", path.encode(), query_string)

    def post(self, path: str, body: bytes | str | dict[str, Any]) -> Answer:
        data = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else None
        data = json.dumps(body).encode() if data is None else data
        return self.ask("POST", path.encode(), body=data)

    def ask(self, method: str, path: bytes, query: bytes = b"", **rest: Any) -> Answer:
        """What `asked` answers, waited for."""
        answer = self.loop.run_until_complete(self.asked(method, path, query, **rest))
        assert answer is not None
        return answer

    async def asked(
        self,
        method: str,
        path: bytes,
        query: bytes = b"",
        *,
        headers: tuple[tuple[bytes, bytes], ...] = (HOST,),
        body: bytes = b"",
        server: tuple[str, int] = ("127.0.0.1", 8765),
        stop: asyncio.Event | None = None,
        leave: asyncio.Event | None = None,
    ) -> Answer | None:
        """The answer; of one that is in pieces, with `stop`, the second is taken when it is set.

        None if whoever asks has hung up before, which is when `leave` is set.
        """
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote_to_bytes(path).decode(errors="replace"),
            "raw_path": path,
            "query_string": query,
            "root_path": "",
            "headers": list(headers),
            "client": ("127.0.0.1", 50_000),
            "server": server,
        }
        sent: list[dict[str, Any]] = []
        parts = [body[:1000], body[1000:]]

        async def receive() -> dict[str, Any]:
            if not parts:
                await (leave or asyncio.Event()).wait()
                return {"type": "http.disconnect"}
            part = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": bool(parts)}

        async def send(message: Any) -> None:
            if stop is not None and sent:
                self.stopped += 1
                await stop.wait()
            sent.append(message)

        try:
            await self.app(scope, receive, send)
        except Exception:  # Starlette raises it again after it has answered
            if not sent:
                raise
        if not sent:
            return None
        headers_sent = {k.decode(): v.decode("latin-1") for k, v in sent[0]["headers"]}
        whole = b"".join(message.get("body", b"") for message in sent[1:])
        return Answer(sent[0]["status"], headers_sent, whole)

    def close(self) -> None:
        for workers in self.crew:
            workers.close()
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()


def small_crew(*, threads: int = 1, waiting: int = 2, seconds: float = 0.2) -> Crew:
    return Crew(
        Workers(threads, waiting=waiting, seconds=seconds),
        Workers(1, waiting=1, seconds=seconds),
        Workers(1, waiting=1, seconds=seconds),
        Workers(1, waiting=1, seconds=seconds),
    )
