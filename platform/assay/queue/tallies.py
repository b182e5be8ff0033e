"""Count what has ended in the transaction that ends it, so that nobody need count the rows themselves."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import get_native_id

from django.db import connection
from django.db.models import Sum

from assay.models import Tallied, Tally

SLOTS = 16
_together: ContextVar[dict[tuple[Tallied, str], float] | None] = ContextVar("together", default=None)


def tally(kind: Tallied, label: str, amount: float = 1.0) -> None:
    """Count one more, or ``amount`` more, within the caller's transaction: with it, or not at all.

    Called late in it, as its row is locked until the end. A thread keeps to one slot: two of a counter, taken in
    different orders, would be a deadlock.
    """
    waiting = _together.get()
    if waiting is not None:
        waiting[kind, label] = waiting.get((kind, label), 0.0) + amount
        return
    _add({(kind, label): amount})


@contextmanager
def tallied_together() -> Iterator[None]:
    """What is counted meanwhile is written at the end, each counter once and in one order; not after an exception."""
    waiting: dict[tuple[Tallied, str], float] = {}
    token = _together.set(waiting)
    try:
        yield
    finally:
        _together.reset(token)
    if _together.get() is not None:
        for (kind, label), amount in waiting.items():
            tally(kind, label, amount)
    elif waiting:
        _add(dict(sorted(waiting.items())))


def totals() -> dict[Tallied, dict[str, float]]:
    """Every counter's amounts by label; a few hundred rows, however much was counted."""
    found: dict[Tallied, dict[str, float]] = {kind: {} for kind in Tallied}
    rows = Tally.objects.order_by().values_list("kind", "label").annotate(Sum("amount"))
    for kind, label, amount in rows:
        found[Tallied(kind)][label] = amount
    return found


def _add(amounts: Mapping[tuple[Tallied, str], float]) -> None:
    """For every run and scan that ends, so without a model in between."""
    slot = get_native_id() % SLOTS
    rows = [(amount, kind.value, str(label), slot) for (kind, label), amount in amounts.items()]
    if connection.vendor == "sqlite":
        _upsert(rows)
        return
    for row in rows:  # the same in one statement would lock the gaps between rows, and end in deadlocks
        if not _raise(*row):
            _, kind, label, _ = row
            Tally.objects.bulk_create([Tally(kind=kind, label=label, slot=slot)], ignore_conflicts=True)
            _raise(*row)


def _upsert(rows: Sequence[tuple[float, str, str, int]]) -> None:
    sql = (
        f"INSERT INTO {_table()} (amount, kind, label, slot) VALUES {', '.join(['(%s, %s, %s, %s)'] * len(rows))}"
        " ON CONFLICT (kind, label, slot) DO UPDATE SET amount = amount + excluded.amount"
    )
    with connection.cursor() as cursor:
        cursor.execute(sql, [value for row in rows for value in row])


def _raise(amount: float, kind: str, label: str, slot: int) -> bool:
    """Whether there was such a row."""
    sql = f"UPDATE {_table()} SET amount = amount + %s WHERE kind = %s AND label = %s AND slot = %s"
    with connection.cursor() as cursor:
        cursor.execute(sql, [amount, kind, label, slot])
        return bool(cursor.rowcount)


def _table() -> str:
    return connection.ops.quote_name(Tally._meta.db_table)
