"""Two thousand failures of one root cause: each owner concerned gets one message, and recovery is told to the same."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest

from alerting.models import Alert, Notice, Standing
from alerting.services import close_alert, release_after
from assay import clock
from assay.models import Category, Dataset, DataTest, LineageEdge, Origin, Replica, Revision, Severity
from assay.time.windows import Granularity, Window
from execution_engine.language.parse import parse
from execution_engine.language.serialise import to_json
from execution_engine.models import Run
from tests.factories import DAY, HOUR, NOW, DatasetFactory, day
from tests.integration.story import advance, due, settle, start

pytestmark = pytest.mark.django_db

MONDAY = day("2026-03-09")
MINUTE = timedelta(minutes=1)
TABLES, DIRECT, OWNERS, WINDOWS = 50, 10, 10, 40  # 2,000 failures
BROKE_AT = due(MONDAY)
FAILED = [Window(start=MONDAY.start - n * DAY, end=MONDAY.end - n * DAY) for n in range(WINDOWS)]


def owner(number: int) -> str:
    """The owner of a table, who seldom owns what feeds it too."""
    return f"owner-{(7 * number + number // DIRECT) % OWNERS}"


def estate() -> tuple[Dataset, list[Dataset]]:
    """A root, ten tables right below it, and below these all others; ten owners have five each."""
    root = DatasetFactory.create(namespace="raw", name="root", owner="root-owner")
    of_all = {"namespace": "mart", "tier": 2, "source": "yaml:x", "created_at": NOW - 60 * DAY}
    of_all |= {"changed_at": NOW - 60 * DAY, "partition_column": "datestr", "granularity": Granularity.DAY.value}
    tables = [
        Dataset(name=f"t{n}", full_name=f"mart.t{n}", name_key=f"mart.t{n}", owner=owner(n), **of_all)
        for n in range(TABLES)
    ]
    Dataset.objects.bulk_create(tables)
    place = partial(Replica, datacenter="sea", position=0, storage="parquet")
    Replica.objects.bulk_create(place(dataset=table, location=f"/lake/{table.name}") for table in tables)
    above = [root] * DIRECT + [tables[n % DIRECT] for n in range(DIRECT, len(tables))]
    edges = zip(above, tables, strict=True)
    LineageEdge.objects.bulk_create(LineageEdge(upstream=up, downstream=down, one_to_one=True) for up, down in edges)
    return root, tables


def broken(tables: list[Dataset]) -> None:
    """Forty windows of each table fail within a minute, and its alert is open, as the stages before leave it."""
    made = {"category": Category.FRESHNESS, "origin": Origin.USER, "created_at": NOW - 60 * DAY}
    tests = [DataTest(dataset=table, name="fresh", datacenter="sea", **made) for table in tables]
    DataTest.objects.bulk_create(tests)
    text = "row_count() >= 100"
    wanted: dict[str, Any] = {"assertion": text, "tree": to_json(parse(text)), "severity": Severity.HARD}
    wanted |= {
        "schedule": "partition",
        "number": 1,
        "sustain": timedelta(),
        "catch_up": "all",
        "created_at": NOW,
        "rejudged_at": NOW,
    }
    revisions = [Revision(data_test=test, **wanted) for test in tests]
    Revision.objects.bulk_create(revisions)
    for test, revision in zip(tests, revisions, strict=True):
        test.revision = revision
    DataTest.objects.bulk_update(tests, ["revision"])
    places = [(test, window) for test in tests for window in FAILED]
    Run.objects.bulk_create(_broken_run(test, window, BROKE_AT) for test, window in places)
    found = {(run.data_test_id, run.window_start): run for run in Run.objects.all()}
    Standing.objects.bulk_create(
        Standing(
            data_test=test,
            last_run=found[test.pk, window.start],
            window_key=window.text,
            window_start=window.start,
            window_end=window.end,
            revision=test.revision,
            state="FAIL",
            since=BROKE_AT,
            due_at=BROKE_AT,
            broken_since=BROKE_AT,
            last_outcome="broken",
            sentence="late by 6h",
        )
        for test, window in places
    )
    Alert.objects.bulk_create(
        Alert(
            dataset=table,
            category=Category.FRESHNESS,
            open_key=f"{table.pk}:freshness",
            owner=table.owner,
            opened_at=BROKE_AT + timedelta(seconds=20 * (number % 3)),
            next_notice_at=BROKE_AT,
        )
        for number, table in enumerate(tables)
    )


def _broken_run(test: DataTest, window: Window, at: datetime) -> Run:
    """A run that was measured and judged at an instant."""
    return Run(
        data_test=test,
        revision_id=test.revision_id or 0,
        reason="schedule",
        slot=f"{test.pk} {window.text} {at}",
        window_start=window.start,
        window_end=window.end,
        measured_at=at,
        outcome="broken",
        **dict.fromkeys(("requested_at", "due_at", "planned_at", "ready_at", "evaluated_at", "judged_at"), at),
    )


def messages() -> Counter[str]:
    """How many messages that were sent each recipient has got."""
    rows = Notice.objects.filter(channel="log", sent_at__isnull=False).values_list("recipient", "sent_with").distinct()
    return Counter(who for who, _ in rows)


def told(event: str) -> Counter[str]:
    """Who was told of an event, and how often."""
    return Counter(Notice.objects.filter(event=event, suppressed="").values_list("recipient", flat=True))


def healed(tables: Iterable[Dataset], at: datetime) -> None:
    """All windows of these tables hold, and their alerts end."""
    Standing.objects.filter(data_test__dataset__in=tables).update(state="PASS", last_outcome="held", since=at)
    for row in Alert.objects.filter(dataset__in=tables, closed_at=None):
        close_alert(row, how="auto", now=at)


def still_broken(tables: Iterable[Dataset], at: datetime) -> None:
    """The newest windows of these tables were run again after their cause had ended, and are broken as they were."""
    rows = list(
        Standing.objects.filter(data_test__dataset__in=tables, window_key=MONDAY.text).select_related("data_test")
    )
    runs = [_broken_run(row.data_test, MONDAY, at) for row in rows]
    Run.objects.bulk_create(runs)
    by_test = {run.data_test_id: run for run in Run.objects.filter(measured_at=at)}
    for row in rows:
        row.last_run = by_test[row.data_test_id]
    Standing.objects.bulk_update(rows, ["last_run"])


def test_two_thousand_failures_of_one_cause_are_one_message_to_each_owner_and_so_is_their_end() -> None:
    start(BROKE_AT)
    root, tables = estate()
    broken([root, *tables])
    assert Standing.objects.filter(state="FAIL").exclude(data_test__dataset=root).count() == 2000
    owners = {f"owner-{n}" for n in range(OWNERS)}

    advance(BROKE_AT + 2 * HOUR)
    assert told("opened") == {"root-owner": 1}
    assert told("downstream") == dict.fromkeys({table.owner for table in tables[:DIRECT]}, 1)
    assert messages() == dict.fromkeys({"root-owner", *owners}, 1)
    assert Alert.objects.filter(inhibited_at__isnull=False, told_at__isnull=True).count() == TABLES
    assert len(Notice.objects.get(event="opened", suppressed="").body) < 2500

    ended = BROKE_AT + 3 * HOUR
    clock.simulate(ended)
    healed([root], ended)
    for row in Alert.objects.filter(closed_at=None):
        release_after(row, ended)
    still_broken(tables, ended + MINUTE)
    settle()
    assert told("recovered") == {"root-owner": 1, **dict.fromkeys(owners, 1)}
    assert messages() == dict.fromkeys({"root-owner", *owners}, 2)

    # what the cause leaves broken is released at once, and workers decide about it one after the other
    at = ended + 2 * HOUR
    for row in Alert.objects.filter(closed_at=None):
        Alert.objects.filter(pk=row.pk).update(next_notice_at=at + timedelta(seconds=1 + 6 * (row.pk % 3)))
    advance(at + MINUTE)
    assert set(told("opened")) == {"root-owner", *owners}
    assert messages() == {"root-owner": 2, **dict.fromkeys(owners, 3)}

    clock.simulate(at + HOUR)
    healed(tables, at + HOUR)
    settle()
    assert messages() == {"root-owner": 2, **dict.fromkeys(owners, 4)}
    silent = Notice.objects.filter(channel="log", sent_at=None)
    assert not silent.filter(suppressed="").exists()
    reasons = set(silent.values_list("suppressed", flat=True))
    assert reasons <= {"already told", "never told of the incident", "inhibited by its cause"}
