"""Work that takes the processor: a few at a time, for so long and no longer."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from posenc.explorer.parameters import Refused
from posenc.i18n import later

BUSY = later("the explorer is busy; ask again in a moment")
STOPPING = later("the explorer is stopping")


@dataclass(eq=False)
class Job:
    """Work that was asked for, and the answer that someone waits for in an event loop."""

    work: Callable[[], Any]
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    started: bool = False
    ended: bool = False
    abandoned: bool = False
    """Whether another thread has taken the place of the one that does it."""

    def settle(self, made: Any = None, error: Exception | None = None) -> None:
        """Answer, in the loop, unless it was answered already."""
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(made)
        else:
            self.answer.set_exception(error)

    def tell(self, call: Callable[..., Any], *arguments: Any) -> None:
        """Have the loop call something, from another thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(call, *arguments)


class Workers:
    """Threads that do the work; who waits too long, or behind too many, is told so.

    No thread can be stopped from outside. One whose work takes too long is left behind and another
    takes its place, as long as no more than `threads` are left so. None of them keeps the program
    from ending.
    """

    def __init__(self, threads: int, *, waiting: int, seconds: float) -> None:
        self._threads, self._seconds, self._most = threads, seconds, threads + waiting
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = Lock()
        self._asked: set[Job] = set()
        self._started = self._left = 0
        self._closed = False

    async def do(self, work: Callable[[], Any]) -> Any:
        """The result of `work`, which runs in a thread."""
        loop = asyncio.get_running_loop()
        job = Job(work, loop, loop.create_future())
        with self._lock:
            if self._closed:
                raise Refused(STOPPING, status=503)
            if len(self._asked) >= self._most:
                raise Refused(BUSY, status=503)
            self._asked.add(job)
            self._start_a_thread()
        self._jobs.put(job)
        patience = loop.call_later(2 * self._seconds, self._not_begun, job)
        try:
            return await job.answer
        finally:
            patience.cancel()

    def close(self) -> None:
        """Tell all who wait that there will be no answer, and let the threads go."""
        with self._lock:
            self._closed = True
            waiting = list(self._asked)
        while True:
            try:
                self._jobs.get_nowait()
            except Empty:
                break
        for job in waiting:
            job.tell(job.settle, None, Refused(STOPPING, status=503))
        for _ in range(self._threads):
            self._jobs.put(None)

    def _start_a_thread(self) -> None:
        if self._started < self._threads:
            self._started += 1
            Thread(target=self._run, name="posenc-worker", daemon=True).start()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            with self._lock:
                job.started = True
            made, error = None, None
            if not job.answer.done():
                job.tell(self._watch, job)
                made, error = _done(job.work)
            with self._lock:
                job.ended = True
                self._asked.discard(job)
                if job.abandoned:
                    self._left -= 1
            job.tell(job.settle, made, error)
            if job.abandoned:
                return

    def _watch(self, job: Job) -> None:
        timer = job.loop.call_later(self._seconds, self._too_long, job)
        job.answer.add_done_callback(lambda _: timer.cancel())

    def _too_long(self, job: Job) -> None:
        with self._lock:
            if not job.ended and self._left < self._threads and not self._closed:
                job.abandoned = True
                self._left += 1
                self._started -= 1
                self._start_a_thread()
        job.settle(
            error=Refused(
                "this takes longer than {seconds:g} seconds; ask for less",
                status=503,
                seconds=self._seconds,
            )
        )

    def _not_begun(self, job: Job) -> None:
        if not job.started:
            job.settle(error=Refused(BUSY, status=503))


def _done(work: Callable[[], Any]) -> tuple[Any, Exception | None]:
    """What the work makes, or what an event loop can be told of how it went wrong."""
    try:
        return work(), None
    except MemoryError:
        return None, Refused("this takes more memory than there is; ask for less", status=503)
    except StopIteration as error:  # a future refuses it
        return None, RuntimeError(repr(error))
    except Exception as error:
        return None, error
    except BaseException as error:  # an encoding of the user's own may even call sys.exit
        return None, RuntimeError(repr(error))
