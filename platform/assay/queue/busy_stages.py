"""Ask all stages at once which of them have work, and when the next one will: one statement, however many there are."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache

from django.db import connection
from django.db.models import Q
from django.db.models.sql import Query

from assay.clock import instant_of

from .claims import pending
from .flow import STAGES, Stage

DUE = [stage for stage in STAGES if stage.due]
SOME_TIME = datetime(2000, 1, 1, tzinfo=UTC)  # stands where the statement is given an instant each time


def stages_with_work(now: datetime) -> list[Stage]:
    """The stages with a row that is due at ``now``, leased or not, in their order."""
    found = _ask(_existence(connection.vendor), now)
    return [stage for stage, has_work in zip(STAGES, found, strict=True) if has_work]


def next_due(after: datetime) -> datetime | None:
    """The earliest instant after ``after`` at which any stage has a row due."""
    found = _ask(_least(connection.vendor), after)
    return min((instant_of(value) for value in found if value is not None), default=None)


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """Which stages have work, and which will next: at what instant, if any is due at all."""

    busy: Sequence[Stage]
    next_at: datetime | None
    next_busy: Sequence[Stage]


def ahead(now: datetime) -> Ahead:
    """What ``stages_with_work`` and ``next_due`` tell at ``now``, in one statement."""
    found = _ask(_both(connection.vendor), now)
    due = [instant_of(value) if value is not None else None for value in found[len(STAGES) :]]
    next_at = min((instant for instant in due if instant is not None), default=None)
    return Ahead(
        busy=[stage for stage, has_work in zip(STAGES, found[: len(STAGES)], strict=True) if has_work],
        next_at=next_at,
        next_busy=[stage for stage, instant in zip(DUE, due, strict=True) if instant and instant == next_at],
    )


def _ask(statement: tuple[str, int], now: datetime) -> tuple[object, ...]:
    sql, places = statement
    with connection.cursor() as cursor:
        cursor.execute(sql, [connection.ops.adapt_datetimefield_value(now)] * places)
        row: tuple[object, ...] = cursor.fetchone()
    return row


@cache
def _existence(vendor: str) -> tuple[str, int]:
    return _joined([("EXISTS", pending(stage, SOME_TIME).values("pk")[:1].query) for stage in STAGES])


@cache
def _least(vendor: str) -> tuple[str, int]:
    return _joined([("", _next_of(stage, str(stage.due))) for stage in DUE])


@cache
def _both(vendor: str) -> tuple[str, int]:
    (busy, places), (due, more) = _existence(vendor), _least(vendor)
    return f"{busy}, {due.removeprefix('SELECT ')}", places + more


def _next_of(stage: Stage, due: str) -> Query:
    later = pending(stage, None).filter(Q(**{f"{due}__gt": SOME_TIME}))
    return later.order_by(due).values(due)[:1].query


def _joined(parts: list[tuple[str, Query]]) -> tuple[str, int]:
    """One SELECT of all the parts, each under a function, and how many places in it wait for the instant."""
    compiled = [(function, *part.sql_with_params()) for function, part in parts]
    columns = ", ".join(f"{function}({sql})" for function, sql, _ in compiled)
    return f"SELECT {columns}", sum(len(params) for _, _, params in compiled)
