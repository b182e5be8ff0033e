"""A series of values on a grid of equal steps, so that a season keeps its beat where windows are missing (pure)."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from holidays import HolidayBase

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

        *slots, next_slot = self._slots()
        values = np.full(slots[-1] + 1 if slots else 0, np.nan)
        values[slots] = self.values
        return values, next_slot - len(values) + 1

    def days(self) -> list[datetime | None]:
        """When each slot of the grid was, as far as it is known."""
        slots = self._slots()[:-1]
        days: list[datetime | None] = [None] * (slots[-1] + 1 if slots else 0)
        for slot, when in zip(slots, self.when, strict=False):
            days[slot] = when
        return days

    def _slots(self) -> list[int]:
        """Of each value, then of the next one: months where each is the first of one, else the shortest steps."""
        adjacent = list(range(len(self.values) + 1))
        if self.at is None or len(self.when) != len(self.values) or not self.values:
            return adjacent
        instants = (*self.when, self.at)
        first, lengths = instants[0], [later - instant for instant, later in pairwise(instants)]
        if min(lengths) >= timedelta(days=28) and all(date.day == 1 and not date.hour for date in instants):
            slots = [(date.year - first.year) * 12 + date.month - first.month for date in instants]
        elif min(lengths) <= timedelta():
            return adjacent
        else:
            slots = [round((date - first) / min(lengths)) for date in instants]
        rises = all(slot < later for slot, later in pairwise(slots))
        return slots if rises and slots[-1] <= MOST_EMPTY * len(instants) else adjacent


@cache
def holidays_of(country: str) -> "HolidayBase":
    """Which dates are public holidays (``date in …``); ValueError for a country that nobody knows."""
    from holidays import country_holidays  # which takes a while

    try:
        return country_holidays(country)
    except NotImplementedError:
        unknown = "no country that is known: write its two letters of ISO 3166, such as 'US'"
        raise ValueError(unknown) from None
