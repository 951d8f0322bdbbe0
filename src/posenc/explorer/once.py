"""Results that several requests ask for at once are made once, and the last few are kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class Once:
    """The last results of a function, by everything that it was given.

    At most `most` of them are kept, and of those that have a `size` at most `room` together; what
    is larger than that alone is made anew each time.
    """

    def __init__(
        self, most: int, *, size: Callable[[Any], int] = lambda _: 0, room: int = 0
    ) -> None:
        self._most, self._size, self._room, self._lock = most, size, room, Lock()
        self._kept: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """What was made for this key, or what `make` makes now; who comes meanwhile waits.

        >>> once = Once(2)
        >>> once.get("a", lambda: 1), once.get("a", lambda: 2)
        (1, 1)
        """
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key][0]
            mine = self._making.setdefault(key, Lock())
        with mine:
            with self._lock:
                if key in self._kept:
                    return self._kept[key][0]
            try:
                made = make()
                with self._lock:
                    self._keep(key, made)
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return made

    def _keep(self, key: Hashable, made: Any) -> None:
        size = self._size(made)
        if size > self._room:
            return
        self._kept[key] = made, size
        while len(self._kept) > self._most or self._held() > self._room:
            self._kept.popitem(last=False)

    def _held(self) -> int:
        return sum(size for _, size in self._kept.values())
