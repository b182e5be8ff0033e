"""A series of values on a grid of equal steps, so that a season keeps its beat where windows are missing (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

MOST_EMPTY = 10  # slots a value: where more of them are empty, the values have no equal step


@dataclass(frozen=True, kw_only=True)
class Series:
    """The known earlier values of one metric, the oldest first, and when each was.

    ``when`` are the local starts of their windows without a zone, ``at`` that of the window whose value is expected;
    where nobody knows them, ``when`` is empty and the values stand one step apart.
    """

    values: tuple[float, ...]
    when: tuple[datetime, ...] = ()
    at: datetime | None = None

    def grid(self) -> "tuple[np.ndarray, int]":
        """The values by their slots, NaN where one is missing, and how many steps behind the last the next one is."""
        import numpy as np  # with it, who only names strategies would wait

        slots = self._slots()
        values = np.full(slots[-2] + 1 if len(slots) > 1 else 0, np.nan)
        values[slots[:-1]] = self.values
        return values, slots[-1] - len(values) + 1

    def days(self) -> tuple[list[datetime | None], datetime | None]:
        """When each slot of the grid was, as far as it is known, and when the next one is."""
        slots = self._slots()
        found: list[datetime | None] = [None] * (slots[-2] + 1 if len(slots) > 1 else 0)
        for slot, when in zip(slots[:-1], self.when, strict=False):
            found[slot] = when
        return found, self.at

    def _slots(self) -> list[int]:
        """Of each value, then of the next one."""
        one_by_one = list(range(len(self.values) + 1))
        if self.at is None or len(self.when) != len(self.values) or not self.values:
            return one_by_one
        instants = (*self.when, self.at)
        found = _months(instants) or _steps(instants)
        rises = bool(found) and all(one < other for one, other in pairwise(found))
        return found if rises and found[-1] <= MOST_EMPTY * len(instants) else one_by_one


def _months(instants: Sequence[datetime]) -> list[int] | None:
    """Months behind the first instant, where each is the first of a month."""
    if any(each.day != 1 or each.hour for each in instants) or any(
        other - one < timedelta(days=28) for one, other in pairwise(instants)
    ):
        return None
    first = instants[0]
    return [(each.year - first.year) * 12 + each.month - first.month for each in instants]


def _steps(instants: Sequence[datetime]) -> list[int]:
    """Steps behind the first instant, a step being the shortest time between two; none where that is no time."""
    step = min(other - one for one, other in pairwise(instants))
    return [] if step <= timedelta() else [round((each - instants[0]) / step) for each in instants]
