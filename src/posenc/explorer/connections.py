"""HTTP connections with timeouts, so that slow clients cannot block others."""

import asyncio
import math
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 connection with the timeouts and bounds that it lacks.

    A request, with its body, must arrive within `REQUEST_SECONDS`. At most one chunk of an answer
    is buffered, and the client must read it within `WRITE_SECONDS`. Beyond `MOST` connections, the
    one whose deadline comes first is closed for the new one.
    """

    REQUEST_SECONDS = 10.0
    WRITE_SECONDS = 10.0
    MOST = 240

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._request_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timeout of the first request."""
        super().connection_made(transport)
        # pause writing, which starts the timeout, as soon as anything is buffered
        transport.set_write_buffer_limits(high=0)
        self._watch_request()
        if len(self.connections) > self.MOST:
            self._make_room()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timeouts."""
        self._request_timer = _cancel(self._request_timer)
        self._write_timer = _cancel(self._write_timer)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on; a byte now and then does not extend the deadline."""
        super().data_received(data)
        self._watch_request()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the unread rest of this one."""
        super().on_response_complete()
        self._watch_request()

    def pause_writing(self) -> None:
        """Start the timeout of the reader."""
        super().pause_writing()
        if self._write_timer is None:
            self._write_timer = self.loop.call_later(self.WRITE_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timeout: the buffer is empty."""
        super().resume_writing()
        self._write_timer = _cancel(self._write_timer)

    def deadline(self) -> float:
        """The loop time at which the client times out; infinite while it waits for us."""
        timers = (self._request_timer, self._write_timer, self.timeout_keep_alive_task)
        return min((timer.when() for timer in timers if timer is not None), default=math.inf)

    def _watch_request(self) -> None:
        """Time the request that is arriving, if any; uvicorn closes idle connections."""
        cycle = cast(RequestResponseCycle | None, self.cycle)
        answering = cycle is not None and not cycle.more_body and not cycle.response_complete
        idle = self.timeout_keep_alive_task is not None
        if answering or idle or self.transport.is_closing():
            self._request_timer = _cancel(self._request_timer)
        elif self._request_timer is None:
            self._request_timer = self.loop.call_later(self.REQUEST_SECONDS, self.transport.abort)

    def _make_room(self) -> None:
        """Close the connection whose deadline comes first, unless all wait for us."""
        first = min(cast(set[Connection], self.connections), key=Connection.deadline)
        if first.deadline() < math.inf:
            self.connections.discard(first)  # at once: connection_lost comes later
            first.transport.abort()


def _cancel(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
