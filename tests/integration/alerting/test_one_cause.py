"""Two thousand failures of one root cause: each owner concerned gets one message, and recovery is told to the same."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta

import pytest

from alerting.models import Alert, Notice, Standing
from alerting.services import close_alert, release_after
from assay import clock
from assay.models import Category, Dataset, DataTest
from assay.time.windows import Window
from execution_engine.models import Run
from tests.factories import DAY, HOUR, DatasetFactory, DataTestFactory, RunFactory, StandingFactory, day
from tests.integration.story import advance, due, feed, settle, start

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
    root = DatasetFactory.create(name="root", owner="root-owner")
    tables = [DatasetFactory.create(namespace="mart", name=f"t{n}", owner=owner(n)) for n in range(TABLES)]
    for n, table in enumerate(tables):
        feed(root if n < DIRECT else tables[n % DIRECT], table)
    return root, tables


def broken(tables: list[Dataset]) -> None:
    """Forty windows of each table fail within a minute, and its alert is open, as the stages before leave it."""
    tests = [
        DataTestFactory.create(dataset=table, category=Category.FRESHNESS, sustain=timedelta()) for table in tables
    ]
    places = [(test, window) for test in tests for window in FAILED]
    Run.objects.bulk_create(_broken_run(test, window, BROKE_AT) for test, window in places)
    found = {(run.data_test_id, run.window_start): run for run in Run.objects.all()}
    Standing.objects.bulk_create(
        StandingFactory.build(
            data_test=test, window=window, last_run=found[test.pk, window.start], state="FAIL", sentence="late by 6h",
            since=BROKE_AT, due_at=BROKE_AT, broken_since=BROKE_AT, last_outcome="broken",
        )
        for test, window in places
    )  # fmt: skip
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
    run: Run = RunFactory.build(data_test=test, window=window, requested_at=at, outcome="broken")
    return run


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
