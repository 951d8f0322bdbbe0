"""A cache for request handlers: results are shared while they are computed, then kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

from posenc.explorer.parameters import refuse_slow

T = TypeVar("T")


class SharedCache(Generic[T]):
    """An LRU cache whose concurrent callers share one computation.

    entries  how many results are kept at most
    size     the cost of a result, such as its bytes
    room     what the kept results may cost together; a larger result is returned but not kept
    seconds  how long after its start a computation is waited for: it may never finish
    """

    def __init__(
        self,
        entries: int,
        *,
        size: Callable[[T], int] = lambda _: 0,
        room: int = 0,
        seconds: float = 25.0,
    ) -> None:
        self._entries, self._size, self._room, self._lock = entries, size, room, Lock()
        self._seconds = seconds
        self._kept: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._running: dict[Hashable, tuple[Future[T], float]] = {}

    def get(
        self,
        key: Hashable,
        compute: Callable[[], T],
        *,
        keep: bool = True,
        seconds: float | None = None,
    ) -> T:
        """Return the cached value for `key`, computing it if needed.

        Concurrent callers wait for the first one and receive its result or its exception;
        `seconds` bounds how long this caller waits. Exceptions are not cached.

        >>> cache = SharedCache(2)
        >>> cache.get("a", lambda: 1), cache.get("a", lambda: 2)
        (1, 1)
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            other = self._running.get(key)
            mine, _ = self._running.setdefault(key, (Future(), monotonic()))
        if other is not None:
            return self._wait_for(*other, seconds)
        try:
            value = compute()
            if keep:
                self._keep(key, value)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            with self._lock:
                del self._running[key]
        mine.set_result(value)
        return value

    def _wait_for(self, other: Future[T], since: float, seconds: float | None) -> T:
        left = since + self._seconds - monotonic()
        try:
            return other.result(max(0.0, left if seconds is None else min(left, seconds)))
        except TimeoutError as error:
            if other.done():  # at this very moment, or the computation itself has raised it
                return other.result()
            raise refuse_slow(self._seconds) from error

    def _keep(self, key: Hashable, value: T) -> None:
        size = self._size(value)
        if size > self._room:
            return
        with self._lock:
            self._kept[key] = value, size
            while len(self._kept) > self._entries or self._total() > self._room:
                self._kept.popitem(last=False)

    def _total(self) -> int:
        return sum(size for _, size in self._kept.values())
