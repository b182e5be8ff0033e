"""What was read of files that do not change, as much of it as may be held: the rest is read again."""

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class LastUsed(Generic[K, V]):
    """The values that were used last, of weights that come to ``most`` at most."""

    def __init__(self, most: int) -> None:
        self._values: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._most, self._weight, self._lock = most, 0, Lock()

    def __reduce__(self) -> tuple[type["LastUsed[K, V]"], tuple[int]]:
        """None of the values goes along to another process."""
        return type(self), (self._most,)

    def get(self, key: K) -> V | None:
        """The value, if it is held."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: K, value: V, weight: int) -> None:
        """Hold a value in place of those that were not used for longest."""
        with self._lock:
            self._weight += weight - self._values.pop(key, (None, 0))[1]
            self._values[key] = value, weight
            while self._weight > self._most:
                self._weight -= self._values.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Let all go."""
        with self._lock:
            self._values.clear()
            self._weight = 0
