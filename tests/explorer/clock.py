"""An event loop whose clock a test can put forward: no time-out depends on how busy we are."""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any


class Clock(asyncio.SelectorEventLoop):
    """The usual loop, whose seconds also pass when they are told to."""

    ahead = 0.0

    def time(self) -> float:
        return super().time() + self.ahead

    async def forward(self, seconds: float) -> None:
        """Let so many seconds pass, and all begin that was to begin by then."""
        await turns()  # what another thread has asked for, a time-out perhaps, comes first
        self.ahead += seconds
        await turns()


async def turns() -> None:
    """Let the loop come round: to a timer, to what that calls, and to who waits for it."""
    for _ in range(8):
        await asyncio.sleep(0)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """What `work` returns, in a loop of its own; what hangs is ended, by the clock on the wall."""
    with asyncio.Runner(loop_factory=Clock) as runner:
        loop = runner.get_loop()
        task = loop.create_task(work)
        guard = threading.Timer(120, loop.call_soon_threadsafe, [task.cancel])
        guard.start()
        try:
            return loop.run_until_complete(task)
        finally:
            guard.cancel()


def clock() -> Clock:
    """The loop that runs."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, Clock)
    return loop
