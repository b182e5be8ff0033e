"""Counters: exact whoever counts at once, with their transaction or not at all, and outliving what they counted."""

from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connections, transaction

from assay.models import Tallied, Tally
from assay.queue.claims import SLOTS, tally, totals
from execution_engine.models import Scan
from tests.factories import NOW, DatasetFactory, NoticeFactory, RunFactory

HELD = (Tallied.RUNS, "held")
MIGRATIONS = (
    "execution_engine.migrations.0003_tally_what_has_ended",
    "alerting.migrations.0002_tally_what_was_settled",
)


def count_fifty(_: int) -> None:
    """Fifty transactions of one worker."""
    try:
        for _ in range(50):
            with transaction.atomic():
                tally(*HELD)
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_workers_that_count_at_once_lose_nothing() -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(count_fifty, range(8)))
    assert totals()[Tallied.RUNS] == {"held": 400}
    assert Tally.objects.count() <= SLOTS


@pytest.mark.django_db(transaction=True)
def test_what_is_rolled_back_was_never_counted() -> None:
    tally(*HELD)
    with transaction.atomic():
        tally(*HELD)
        transaction.set_rollback(True)
    assert totals()[Tallied.RUNS] == {"held": 1}


@pytest.mark.django_db
def test_amounts_are_summed_by_label() -> None:
    for place, seconds in (("sea", 1.5), ("phx", 4.0), ("sea", 0.25)):
        tally(Tallied.SCAN_SECONDS, place, seconds)
    assert totals()[Tallied.SCAN_SECONDS] == {"sea": 1.75, "phx": 4.0}
    assert totals()[Tallied.SCANS] == {}


@pytest.mark.django_db
def test_what_ended_before_there_were_tallies_is_counted_by_the_migrations() -> None:
    for outcome in ("held", "broken", "held", ""):
        RunFactory.create(outcome=outcome)
    NoticeFactory.create()
    NoticeFactory.create(sent_at=None, error="mailbox full")
    NoticeFactory.create(sent_at=None, settled_at=None)
    dataset = DatasetFactory.create()
    for error, ended_at in (("", NOW), ("gone", NOW), ("", None)):
        place = {"dataset": dataset, "datacenter": "sea", "window_start": NOW, "window_end": NOW, "created_at": NOW}
        Scan.objects.create(**place, ended_at=ended_at, error=error, seconds=2.5)
    for name in MIGRATIONS:
        import_module(name).tally(apps, None)
    assert totals() == {
        Tallied.RUNS: {"held": 2, "broken": 1},
        Tallied.NOTICES: {"sent": 1, "dead": 1},
        Tallied.SUPPRESSED: {},
        Tallied.SCANS: {"sea": 1},
        Tallied.SCANS_FAILED: {"sea": 1},
        Tallied.SCAN_SECONDS: {"sea": 5.0},
        Tallied.VALUES: {},  # nobody had noted who read them
        Tallied.VALUES_LEFT: {},
        Tallied.PRUNED: {},
    }
