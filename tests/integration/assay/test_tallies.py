"""Counters: exact whoever counts at once, with their transaction or not at all, and outliving what they counted."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections, transaction

from assay.models import Tallied, Tally
from assay.queue.claims import SLOTS, tally, totals

HELD = (Tallied.RUNS, "held")


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
