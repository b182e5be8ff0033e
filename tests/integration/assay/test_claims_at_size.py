"""Claims among the rows of years: each finds what is pending by an index, in its order, without sorting."""

from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.db.models import Q, QuerySet

from alerting.models import Flip, Notice, Standing
from assay import clock
from assay.models import DataChange, DataTest
from assay.queue.claims import claim, pending
from assay.queue.flow import stage
from execution_engine.models import Run, Scan, Watch
from incident_manager.retention import delete
from tests.factories import NOW, DataTestFactory, RunFactory, day

MANY = 5000
OF_YEARS = [  # workers of the service claim the scans and watches of their datacenter
    ("plan", {}),
    ("scan", {"datacenter": "sea"}),
    ("evaluate", {}),
    ("watch", {}),
    ("watch", {"datacenter": "sea"}),
    ("judge", {}),
    ("adopt", {}),
    ("age", {}),
    ("check", {}),
    ("handle", {}),
    ("send", {}),
    ("follow", {}),
]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def custom() -> DataTest:
    """A test with thousands of windows, all of them done with."""
    custom = DataTestFactory.create()
    for write in (_runs, _standings, _traces):
        write(custom)
    with connection.cursor() as cursor:
        for model in (Run, Standing, Flip, Notice, Scan, Watch, DataChange):
            cursor.execute(f"ANALYZE {'TABLE ' if connection.vendor == 'mysql' else ''}{model._meta.db_table}")
    return custom


def _window(number: int) -> dict[str, Any]:
    return {"window_start": _at(number), "window_end": _at(number) + timedelta(hours=1)}


def _at(number: int) -> datetime:
    return NOW - timedelta(hours=number)


def _runs(custom: DataTest) -> None:
    steps = ("requested_at", "due_at", "planned_at", "ready_at", "evaluated_at", "judged_at", "late_at")
    of = {"data_test": custom, "revision": custom.revision, "reason": "schedule", "outcome": "held"}
    Run.objects.bulk_create(Run(slot=str(n), **of, **dict.fromkeys(steps, _at(n)), **_window(n)) for n in range(MANY))


def _standings(custom: DataTest) -> None:
    of = {"data_test": custom, "revision": custom.revision}
    states = {"since": NOW, "due_at": NOW, "state": "PASS"}
    Standing.objects.bulk_create(Standing(window_key=str(n), **of, **states, **_window(n)) for n in range(MANY))
    rows = enumerate(Standing.objects.all())
    Flip.objects.bulk_create(Flip(standing=row, at=NOW, handled_at=_at(n), **of, **_window(0)) for n, row in rows)


def _traces(custom: DataTest) -> None:
    place, later = {"dataset": custom.dataset, "datacenter": "sea"}, NOW + timedelta(days=1)
    Scan.objects.bulk_create(Scan(created_at=NOW, ended_at=_at(n), **place, **_window(n)) for n in range(MANY))
    Watch.objects.bulk_create(Watch(next_look_at=later, **place, **_window(n)) for n in range(MANY))
    DataChange.objects.bulk_create(DataChange(at=NOW, followed_at=_at(n), **place, **_window(n)) for n in range(MANY))
    told = ("created_at", "due_at", "settled_at")
    Notice.objects.bulk_create(Notice(key=str(n), **dict.fromkeys(told, _at(n))) for n in range(MANY))


def test_no_claim_reads_or_sorts_what_is_done_with(custom: DataTest) -> None:
    slow = {f"{name} {place}": how for name, place in OF_YEARS if (how := _trouble(_claimed(name, place)))}
    assert slow == {}


def test_a_claim_that_sorts_is_seen(custom: DataTest) -> None:
    assert _trouble(Run.objects.filter(outcome="held").order_by("sentence").values_list("pk", flat=True)[:10])


def _claimed(name: str, place: dict[str, str]) -> QuerySet[Any, Any]:
    of = stage(name)
    free = pending(of, NOW, **place).filter(Q(lease_until__isnull=True) | Q(lease_until__lt=NOW))
    return free.order_by(*of.order).values_list("pk", flat=True)[:50]


def _trouble(rows: QuerySet[Any, Any]) -> str:
    """What is slow about a statement, in the words of the database; nothing where it goes by an index alone."""
    sql, values = rows.query.sql_with_params()
    sqlite = connection.vendor == "sqlite"
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {'QUERY PLAN ' if sqlite else ''}{sql}", values)
        plan = cursor.fetchall()
    if sqlite:
        return next((line[3] for line in plan if line[3].startswith(("SCAN", "USE TEMP"))), "")
    (_, _, _, kind, _, key, *_, extra), *_ = plan
    return f"{kind} {key} {extra}" if key is None or kind in ("ALL", "index") or "filesort" in extra else ""


def test_a_claim_waits_for_no_row_that_is_being_removed() -> None:
    if connection.vendor == "sqlite":
        pytest.skip("SQLite has one writer at a time")
    custom = DataTestFactory.create()
    old = RunFactory.create_batch(50, data_test=custom, window=day("2025-01-01"))
    RunFactory.create_batch(5, data_test=custom, planned_at=None, evaluated_at=None, judged_at=None)
    with transaction.atomic(), ThreadPoolExecutor(1) as others:
        assert delete(Run, [run.pk for run in old]) == 50
        found = others.submit(_claim_all).result(timeout=10)
    assert (found, Run.objects.count()) == ((5, 0, 0), 5)


def _claim_all() -> tuple[int, ...]:
    try:
        now = clock.database_now()
        return tuple(len(claim(stage(name), now=now, limit=50)) for name in ("plan", "evaluate", "judge"))
    finally:
        connections.close_all()
