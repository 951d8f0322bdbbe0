"""Results that several requests ask for at once are made once, and the last few are kept."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any


class Once:
    """The last results of a function, by everything that it was given."""

    def __init__(self, most: int) -> None:
        self._most, self._lock = most, Lock()
        self._kept: OrderedDict[Hashable, Any] = OrderedDict()
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
                return self._kept[key]
            mine = self._making.setdefault(key, Lock())
        with mine:
            with self._lock:
                if key in self._kept:
                    return self._kept[key]
            try:
                made = make()
                with self._lock:
                    self._kept[key] = made
                    while len(self._kept) > self._most:
                        self._kept.popitem(last=False)
            finally:
                with self._lock:
                    self._making.pop(key, None)
            return made
