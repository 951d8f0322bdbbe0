"""Delivery of answers: bounds on the bytes held for slow readers, and on how long they are held."""

import asyncio
from collections.abc import Coroutine
from typing import TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from posenc.explorer.parameters import RequestError
from posenc.explorer.workers import BUSY

T = TypeVar("T")

CHUNK = 2**18
"""Bytes that are sent at once; an answer of no more is not counted."""
LARGEST = 2**25 + 2**16
"""Bytes reserved for a large answer before it is computed: 2^22 float64 numbers and headers."""
ANSWERS = 4 * LARGEST
"""The byte budget of all answers that are being sent, beside small ones."""
PAGES = 2 * LARGEST
"""The same for saved pages, so that views do not wait for them."""
SEND_SECONDS = 60.0
"""Seconds in which a client must read a whole answer."""
RESERVE_SECONDS = 90.0
"""Seconds that a large answer waits for its reservation: longer than any can be sent."""


class ByteBudget:
    """Bytes that answers may hold together."""

    def __init__(self, size: int) -> None:
        self.free, self.released = size, asyncio.Event()

    async def wait(self) -> None:
        """Wait until bytes are released; who came first is woken first."""
        self.released.clear()
        await self.released.wait()


class Reservation:
    """The bytes of a budget that one answer holds, none at first, until it is closed."""

    def __init__(self, budget: ByteBudget) -> None:
        self.budget, self.size = budget, 0

    async def reserve(self, size: int) -> None:
        """Hold `size` bytes as soon as they are free."""
        try:
            async with asyncio.timeout(RESERVE_SECONDS):
                while size > self.budget.free:
                    await self.budget.wait()
        except TimeoutError as error:
            raise RequestError(BUSY, status=503) from error
        self.resize(size)

    def resize(self, size: int) -> None:
        """Hold `size` bytes instead; refuse if they are not free now."""
        if size > self.size + self.budget.free:
            raise RequestError(BUSY, status=503)
        self.budget.free += self.size - size
        self.size = size
        self.budget.released.set()

    def close(self) -> None:
        """Release the bytes."""
        self.resize(0)


async def run_unless_disconnected(receive: Receive, work: Coroutine[object, object, T]) -> T:
    """The result of `work`, which is cancelled when the client disconnects."""

    async def disconnect() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    result, gone = asyncio.ensure_future(work), asyncio.ensure_future(disconnect())
    try:
        await asyncio.wait({result, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not result.done():
            raise ClientDisconnect
        return result.result()
    finally:
        result.cancel()
        gone.cancel()
