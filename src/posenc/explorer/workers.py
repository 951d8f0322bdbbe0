"""Threads for work that takes the processor: bounded in number, queue and time."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar

from posenc.explorer.parameters import RequestError, refuse_slow
from posenc.i18n import N_

BUSY = N_("the explorer is busy; ask again in a moment")
STOPPING = N_("the explorer is stopping")

T = TypeVar("T")


@dataclass(eq=False)
class Job:
    """A function to run in a thread, and the future that its caller awaits in an event loop."""

    work: Callable[[], object]
    result: asyncio.Future[Any]
    started: bool = False
    finished: bool = False
    abandoned: bool = False
    """Whether another thread has replaced the one that runs it."""

    def settle(self, value: object = None, error: Exception | None = None) -> None:
        """Resolve the future unless it is resolved already; call this in the loop."""
        if self.result.done():
            return
        if error is None:
            self.result.set_result(value)
        else:
            self.result.set_exception(error)

    def call_in_loop(self, function: Callable[..., object], *arguments: object) -> None:
        """Schedule a call in the job's loop from another thread."""
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.result.get_loop().call_soon_threadsafe(function, *arguments)


class Workers:
    """A pool of daemon threads with a bounded queue and a deadline for each job.

    threads  jobs that run at once
    waiting  jobs that may wait for a thread; one more is refused as busy
    seconds  how long a job may run; it may wait twice as long before that

    A thread cannot be killed. One that misses its deadline is abandoned and replaced, as long as no
    more than `threads` are abandoned at once. No thread keeps the process from exiting.
    """

    def __init__(self, threads: int, *, waiting: int, seconds: float) -> None:
        self._threads, self._seconds, self._capacity = threads, seconds, threads + waiting
        self._queue: SimpleQueue[Job | None] = SimpleQueue()
        self._lock = Lock()
        self._pending: set[Job] = set()
        self._running = self._abandoned = 0
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        """Run `work` in a thread and return its result, or raise what it raised."""
        loop = asyncio.get_running_loop()
        job = Job(work, loop.create_future())
        with self._lock:
            if self._closed:
                raise RequestError(STOPPING, status=503)
            if len(self._pending) >= self._capacity:
                raise RequestError(BUSY, status=503)
            self._pending.add(job)
            self._start_thread()
        self._queue.put(job)
        patience = loop.call_later(2 * self._seconds, self._refuse_if_waiting, job)
        try:
            return await job.result
        finally:
            patience.cancel()

    def close(self) -> None:
        """Refuse all pending jobs and let the threads end."""
        with self._lock:
            self._closed = True
            pending = list(self._pending)
        with suppress(Empty):
            while True:
                self._queue.get_nowait()
        for job in pending:
            job.call_in_loop(job.settle, None, RequestError(STOPPING, status=503))
        for _ in range(self._threads):
            self._queue.put(None)

    def _start_thread(self) -> None:
        if self._running < self._threads:
            self._running += 1
            Thread(target=self._serve, name="posenc-worker", daemon=True).start()

    def _serve(self) -> None:
        while (job := self._queue.get()) is not None:
            with self._lock:
                job.started = True
            value, error = None, None
            if not job.result.done():
                job.call_in_loop(self._start_deadline, job)
                value, error = _call(job.work)
            with self._lock:
                job.finished = True
                self._pending.discard(job)
                if job.abandoned:
                    self._abandoned -= 1
            job.call_in_loop(job.settle, value, error)
            if job.abandoned:
                return

    def _start_deadline(self, job: Job) -> None:
        timer = job.result.get_loop().call_later(self._seconds, self._expire, job)
        job.result.add_done_callback(lambda _: timer.cancel())

    def _expire(self, job: Job) -> None:
        with self._lock:
            if not job.finished and self._abandoned < self._threads and not self._closed:
                job.abandoned = True
                self._abandoned += 1
                self._running -= 1
                self._start_thread()
        job.settle(error=refuse_slow(self._seconds))

    def _refuse_if_waiting(self, job: Job) -> None:
        if not job.started:
            job.settle(error=RequestError(BUSY, status=503))


def _call(work: Callable[[], object]) -> tuple[object, Exception | None]:
    """The result of `work`, or its exception as one that a future accepts."""
    try:
        return work(), None
    except MemoryError:
        return None, RequestError("this takes more memory than there is; ask for less", status=503)
    except BaseException as error:  # an encoding of the user's own may even call sys.exit
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            return None, error
        return None, RuntimeError(repr(error))  # a future refuses the others
