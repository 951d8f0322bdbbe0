"""HTTP connections with time-outs: nobody is kept waiting by who sends or reads too slowly."""

import asyncio
import math
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 connection, with the time-outs and the bounds that it lacks.

    A request must be here, with its body, `REQUEST_SECONDS` after it may begin. Of an answer no
    more than one piece waits to be sent, and the reader must take it within `WRITE_SECONDS`. When
    there are `MOST` connections, the one that has kept us waiting longest gives way to a new one.
    """

    REQUEST_SECONDS = 10.0
    WRITE_SECONDS = 10.0
    MOST = 240

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._request_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        # writing is paused, and the time-out begins, as soon as anything has to wait
        transport.set_write_buffer_limits(high=0)
        self._watch_request()
        if len(self.connections) > self.MOST:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the time-outs."""
        self._request_timer = _cancelled(self._request_timer)
        self._write_timer = _cancelled(self._write_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on: who sends a byte now and then has no more time than others."""
        super().data_received(data)
        self._watch_request()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of one that needed no body."""
        super().on_response_complete()
        self._watch_request()

    def pause_writing(self) -> None:
        """Begin to wait for the reader."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: the reader has taken all there was."""
        super().resume_writing()
        self._write_timer = _cancelled(self._write_timer)

    def deadline(self) -> float:
        """When the client's time is up, in the loop's seconds; never, while it waits for us."""
        timers = (self._request_timer, self._write_timer, self.timeout_keep_alive_task)
        return min((timer.when() for timer in timers if timer is not None), default=math.inf)

    def _watch_request(self) -> None:
        """Time the request that is under way, if one is: an idle connection is uvicorn's to end."""
        cycle = cast(RequestResponseCycle | None, self.cycle)
        answering = cycle is not None and not cycle.more_body and not cycle.response_complete
        idle = self.timeout_keep_alive_task is not None
        if answering or idle or self.transport.is_closing():
            self._request_timer = _cancelled(self._request_timer)
        elif self._request_timer is None:
            self._request_timer = self.loop.call_later(self.REQUEST_SECONDS, self.transport.abort)

    def _make_room(self) -> None:
        """Cut off whoever's time is up first: all wait for us if that is never."""
        first = min(cast(set[Connection], self.connections), key=Connection.deadline)
        if first.deadline() < math.inf:
            self.connections.discard(first)  # now: it is lost when the loop comes to it
            first.transport.abort()


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
