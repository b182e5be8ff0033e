"""Keys of partitions, compared as texts: which formats sort by time, and where a text stands among keys (pure)."""

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from assay.time.windows import Granularity, Partitioning, Window

IN_ORDER = re.compile(r"%Y(?:%m(?:%d(?:%H(?:%M(?:%S)?)?)?)?|%j(?:%H)?)?|%G%V")
ASIDE = re.compile(r"[^%A-Za-z]|(?<!%)[A-Za-z]")  # what stands between the parts of a format
ODD = re.compile(r"%[^A-Za-z]")  # %-d and its like
DIGIT = re.compile(r"\d", re.ASCII)


def is_ordered(form: str) -> bool:
    """Whether a later time is written as a later text: from the year on, each part in digits of one length."""
    whole = form.replace("%F", "%Y-%m-%d")
    return not ODD.search(whole) and IN_ORDER.fullmatch(ASIDE.sub("", whole)) is not None


@dataclass(frozen=True, kw_only=True)
class KeyOrder:
    """The keys of the partitions of a stretch of time, in their order."""

    partitioning: Partitioning
    whole: Window
    known: dict[int, str] = field(default_factory=dict)

    @cached_property
    def is_text(self) -> bool:
        """Whether keys sort by time as texts."""
        return is_ordered(self.partitioning.key_format)

    @cached_property
    def is_number(self) -> bool:
        """Whether they do as numbers too."""
        return self.is_text and self._key(0).isdigit()

    def is_like(self, text: str) -> bool:
        """Whether a text differs from keys in digits alone, which all collations sort alike."""
        key = self._key(0)
        length = min(len(text), len(key))
        return self.is_text and DIGIT.sub("0", text[:length]) == DIGIT.sub("0", key[:length])

    def first(self, is_past: Callable[[str], bool]) -> Window | None:
        """The first partition whose key is past some point; None where none is."""
        found = bisect_left(range(self._count), True, key=lambda number: is_past(self._key(number)))
        return None if found == self._count else self._at(found)

    @cached_property
    def _step(self) -> timedelta:
        return timedelta(hours=1) if self.partitioning.granularity is Granularity.HOUR else timedelta(days=1)

    @cached_property
    def _count(self) -> int:
        return -((self.whole.start - self.whole.end) // self._step)

    def _at(self, number: int) -> Window:
        last = self.whole.end - datetime.resolution
        return self.partitioning.at(min(self.whole.start + number * self._step, last))

    def _key(self, number: int) -> str:
        if number not in self.known:
            self.known[number] = self.partitioning.key(self._at(number))
        return self.known[number]
