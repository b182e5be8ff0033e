"""The facts of a service, read from its database and from the files of the experiment."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from django.db import connection
from django.db.models import Sum

from alerting.models import Notice
from assay.models import DataTest, Scope, Tallied, Tally
from execution_engine.models import Run
from incident_manager.models import Incident
from tests.faults.facts import Change, Facts, IncidentFact, NoticeFact, Request, RunFact, Slot
from tests.faults.history import TABLE

HOUR = timedelta(hours=1)


def facts(*, windows: Iterable[datetime], requests: list[Request], reads: Path) -> Facts:
    """Everything there is; ``windows``: the starts of those that every test was due for."""
    return Facts(
        due=_due(windows),
        runs=_runs(),
        changes=_changes(),
        incidents=_incidents(),
        notices=_notices(),
        requests=requests,
        reads=_reads(reads),
        counted_runs=_counted(),
    )


def _due(windows: Iterable[datetime]) -> Counter[Slot]:
    tests = DataTest.objects.filter(scope=Scope.PARTITION).values_list("pk", flat=True)
    starts = list(windows)
    return Counter({(test, start): 1 for test in tests for start in starts})


def _runs() -> list[RunFact]:
    columns = ("id", "data_test_id", "window_start", "reason", "outcome", "judged_at")
    return [
        RunFact(
            id=row, data_test=test, window_start=start, reason=reason, outcome=outcome, is_judged=judged_at is not None
        )
        for row, test, start, reason, outcome, judged_at in Run.objects.values_list(*columns)
    ]


def _changes() -> list[Change]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT name, row_id, old, new FROM {TABLE} ORDER BY id")
        return [Change(table=name, row=row, old=old, new=new) for name, row, old, new in cursor.fetchall()]


def _incidents() -> list[IncidentFact]:
    return [
        IncidentFact(
            id=row.pk,
            place=(row.dataset_id, row.category),
            alert=row.alert_id,
            opened=row.detected_at,
            closed=row.resolved_at,
        )
        for row in Incident.objects.all()
    ]


def _notices() -> list[NoticeFact]:
    return [
        NoticeFact(
            key=row.key,
            alert=row.alert_id,
            event=row.event,
            channel=row.channel,
            sent=row.sent_at is not None,
            suppressed=row.suppressed,
            settled=row.settled_at is not None,
        )
        for row in Notice.objects.all()
    ]


def _reads(path: Path) -> Counter[int]:
    lines = path.read_text().splitlines() if path.exists() else []
    return Counter(int(key) for line in lines for key in line.split()[1:])


def _counted() -> int:
    counted = Tally.objects.filter(kind=Tallied.RUNS).aggregate(runs=Sum("amount"))["runs"]
    return round(counted or 0)
