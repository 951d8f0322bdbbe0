"""Sending answers: how many bytes wait for their readers, and for how long, has a bound."""

import asyncio
from collections.abc import Coroutine, Generator
from contextlib import contextmanager
from typing import Any

from starlette.requests import ClientDisconnect
from starlette.types import Receive

from posenc.explorer.parameters import Refused
from posenc.explorer.work import BUSY

PIECE = 2**18
"""Bytes that are sent at once, and that an answer may have without being counted."""
LARGEST = 2**25 + 2**16
"""Bytes kept free for a large answer before it is made: 2^22 float64 numbers and headers."""
ROOM = 4 * LARGEST
"""Bytes of all answers that are sent, beside small ones."""
PAGES = 2 * LARGEST
"""The same of pages to save: whoever looks at views does not wait for them."""
SECONDS = 60.0
"""Seconds in which a reader must take a whole answer."""
PATIENCE = 90.0
"""Seconds that a large answer waits for room: longer than those that are sent can last."""


class Room:
    """Bytes that answers may take together."""

    def __init__(self, size: int) -> None:
        self.free = size
        self._waiting: list[asyncio.Future[None]] = []

    @contextmanager
    def share(self) -> Generator["Share"]:
        """A share of it, empty at first, that is given back in the end."""
        share = Share(self)
        try:
            yield share
        finally:
            share.resize(0)

    async def changed(self) -> None:
        """Wait until something is given back."""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        finally:
            self._waiting.remove(waiter)

    def tell(self) -> None:
        """Let those who wait look again, in the order of coming."""
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)


class Share:
    """The bytes that one answer takes of a room."""

    def __init__(self, room: Room) -> None:
        self.room, self.size = room, 0

    async def reserve(self, size: int) -> None:
        """Take so many bytes as soon as they are free."""
        try:
            async with asyncio.timeout(PATIENCE):
                while size > self.room.free:
                    await self.room.changed()
        except TimeoutError as error:
            raise Refused(BUSY, status=503) from error
        self.resize(size)

    def resize(self, size: int) -> None:
        """Take so many bytes instead, if they are free now."""
        if size > self.size + self.room.free:
            raise Refused(BUSY, status=503)
        self.room.free += self.size - size
        self.size = size
        self.room.tell()


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, Any]) -> Any:
    """What `work` makes; it is given up when whoever asked hangs up."""

    async def hung_up() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    made, gone = asyncio.ensure_future(work), asyncio.ensure_future(hung_up())
    try:
        await asyncio.wait({made, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not made.done():
            raise ClientDisconnect
        return made.result()
    finally:
        made.cancel()
        gone.cancel()
