"""Go through a table in the order of its ids, a thousand rows at a time; what goes, goes in one short transaction.

Reading takes no locks and needs no index but the primary key. Deleting locks rows that have long had their end: no
stage claims those.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

from django.db.models import Model, QuerySet

from assay.models import Tallied
from assay.queue.claims import in_transaction
from assay.queue.tallies import tally

from .rules import HistoryReach, Kept, RetentionTerms, is_past

CHUNK = 1000

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Keeping:
    """What a pass goes by."""

    now: datetime
    terms: RetentionTerms
    kept: Kept
    reaches: Callable[[], "dict[tuple[int, str], HistoryReach]"]  # by dataset and metric


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What one batch came to: the id that it went up to, whether that was the end, and how many rows went."""

    reached: int
    is_end: bool
    removed: int = 0


@dataclass(frozen=True, kw_only=True)
class PrunedTable:
    """How to prune one table: which rows have had their time, and which of those go."""

    name: str
    rows: Callable[[], QuerySet[Any, Any]]  # as dicts with ``pk``, of this table alone: a join may be sorted first
    is_old: Callable[[Row, Keeping], bool]
    going: Callable[[Sequence[Row], Keeping], Collection[int]]  # the ids of those that go, of old rows
    remove: Callable[[Collection[int]], int]
    goes_on: bool = False  # the next pass begins where this one ended: rows are looked at once

    def batch(self, after: int, keeping: Keeping) -> Batch:
        """Prune the thousand rows behind ``after``."""
        rows = list(self.rows().filter(pk__gt=after).order_by("pk")[:CHUNK])
        old = self._old(rows, keeping)
        gone = sorted(self.going(old, keeping)) if old else []
        removed = self._removed(gone) if gone else 0
        seen = old if self.goes_on else rows
        return Batch(reached=seen[-1]["pk"] if seen else after, is_end=not old or len(seen) < CHUNK, removed=removed)

    def _old(self, rows: Sequence[Row], keeping: Keeping) -> list[Row]:
        """Those that have had their time; where each is looked at once, up to the first that has not."""
        if self.goes_on:
            return list(takewhile(lambda row: self.is_old(row, keeping), rows))
        return [row for row in rows if self.is_old(row, keeping)]

    def _removed(self, keys: Sequence[int]) -> int:
        removed = 0

        def remove() -> None:
            nonlocal removed
            removed = self.remove(keys)
            tally(Tallied.PRUNED, self.name, removed)

        in_transaction(remove)
        return removed


def deleting(model: type[Model]) -> Callable[[Collection[int]], int]:
    """Delete rows by their ids, with what belongs to them; how many there were."""

    def delete(keys: Collection[int]) -> int:
        _, counts = model._default_manager.filter(pk__in=keys).only("pk").delete()
        return counts.get(model._meta.label, 0)

    return delete


def rows_of(model: type[Model], *columns: str) -> Callable[[], QuerySet[Any, Any]]:
    """The rows of a table, as dicts of these columns and ``pk``."""
    return lambda: model._default_manager.values("pk", *columns)


def result_past(*columns: str) -> Callable[[Row, Keeping], bool]:
    """Whether all of a row's instants are before those of the results that are kept."""
    return lambda row, keeping: _is_before(keeping.terms.results, row, columns)


def state_past(*columns: str) -> Callable[[Row, Keeping], bool]:
    """Whether all of a row's instants are before those of the states that are kept."""
    return lambda row, keeping: _is_before(keeping.terms.states, row, columns)


def _is_before(before: datetime | None, row: Row, columns: Collection[str]) -> bool:
    return before is not None and is_past([row[column] for column in columns], before)


def everything(rows: Sequence[Row], keeping: Keeping) -> set[int]:
    """All of them go."""
    return {row["pk"] for row in rows}
