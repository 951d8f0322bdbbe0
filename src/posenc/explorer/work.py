"""Work that takes the processor: a few at a time, for so long and no longer."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from posenc.explorer.parameters import Refused


class Workers:
    """Threads that do the work; who waits too long, or behind too many, is told so."""

    def __init__(self, threads: int, *, waiting: int, seconds: float) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="posenc")
        self._most, self._seconds, self._asked = threads + waiting, seconds, 0

    async def do(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, which runs in a thread."""
        if self._asked >= self._most:
            raise Refused("the explorer is busy; ask again in a moment", status=503)
        self._asked += 1
        future = self._pool.submit(work)
        future.add_done_callback(lambda _: self._done())
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), self._seconds)
        except TimeoutError as error:  # the thread goes on, so it counts until it ends
            raise Refused(
                f"this takes longer than {self._seconds:g} seconds; ask for less", status=503
            ) from error

    def _done(self) -> None:
        self._asked -= 1

    def close(self) -> None:
        """Let go of the threads without waiting for them."""
        self._pool.shutdown(wait=False, cancel_futures=True)
