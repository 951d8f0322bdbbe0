"""Results that several requests ask for at once are made once, and the last few are kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Event, Lock
from time import monotonic
from typing import Any

from posenc.explorer.parameters import Refused


class Making:
    """What is being made: others wait for it, or for how it went wrong."""

    def __init__(self) -> None:
        self.since, self.ended = monotonic(), Event()
        self.made: Any = None
        self.error: BaseException | None = None


class Once:
    """The last results of a function, by everything that it was given.

    At most `most` of them are kept, and of those that have a `size` at most `room` together; what
    is larger than that alone is made anew each time. What takes longer than `seconds` keeps nobody
    waiting: it may never end.
    """

    def __init__(
        self,
        most: int,
        *,
        size: Callable[[Any], int] = lambda _: 0,
        room: int = 0,
        seconds: float = 25.0,
    ) -> None:
        self._most, self._size, self._room, self._lock = most, size, room, Lock()
        self._seconds = seconds
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Making] = {}

    def get(
        self,
        key: Hashable,
        make: Callable[[], Any],
        *,
        keep: bool = True,
        seconds: float | None = None,
    ) -> Any:
        """What was made for this key, or what `make` makes now; who comes meanwhile waits.

        Who waits has what was made, or the same error; `seconds`: no longer than that.

        >>> once = Once(2)
        >>> once.get("a", lambda: 1), once.get("a", lambda: 2)
        (1, 1)
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            other = self._making.get(key)
            mine = self._making.setdefault(key, Making())
        if other is not None:
            return self._waited(other, seconds)
        return self._made(key, mine, make, keep)

    def _made(self, key: Hashable, mine: Making, make: Callable[[], Any], keep: bool) -> Any:
        try:
            mine.made = make()
            if keep:
                with self._lock:
                    self._keep(key, mine.made)
        except BaseException as error:
            mine.error = error
            raise
        finally:
            with self._lock:
                del self._making[key]
            mine.ended.set()
        return mine.made

    def _waited(self, other: Making, seconds: float | None) -> Any:
        left = other.since + self._seconds - monotonic()
        left = left if seconds is None else min(left, seconds)
        if not other.ended.wait(max(0.0, left)):
            raise Refused(
                "this takes longer than {seconds:g} seconds; ask for less",
                status=503,
                seconds=self._seconds,
            )
        if other.error is not None:
            raise other.error
        return other.made

    def _keep(self, key: Hashable, made: Any) -> None:
        size = self._size(made)
        if size > self._room:
            return
        self._kept[key] = made, size
        while len(self._kept) > self._most or self._held() > self._room:
            self._kept.popitem(last=False)

    def _held(self) -> int:
        return sum(size for _, size in self._kept.values())
