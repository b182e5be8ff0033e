"""The rows as queues: many workers, one claim each, and nothing finished under a lease that was lost."""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.db.models import F

from assay import clock
from assay.models import Dataset
from assay.queue import claims as queue
from assay.queue.claims import LONGEST_LEASE, UnableToFinish, claim, claims, finish, finish_all, work, work_together
from assay.queue.drain import backlogs
from assay.queue.flow import STAGES, stage
from tests.factories import NOW, DatasetFactory

RECONCILE = stage("reconcile")


def claim_all(_: int) -> list[int]:
    """Claim until nothing is free; the ids."""
    claimed: list[int] = []
    try:
        while rows := claim(RECONCILE, now=NOW, limit=5):
            claimed += [row.pk for row in rows]
        return claimed
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_many_workers_share_the_rows_and_claim_each_once() -> None:
    DatasetFactory.create_batch(60, reconcile_at=NOW)
    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(claim_all, range(4)))
    claimed = [key for share in shares for key in share]
    assert sorted(claimed) == sorted(Dataset.objects.values_list("pk", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize("leap", [timedelta(hours=1), timedelta(days=1), timedelta(days=365)], ids=str)
def test_a_lease_given_before_the_databases_clock_was_set_back_is_over(leap: timedelta) -> None:
    DatasetFactory.create(reconcile_at=NOW)
    claim(RECONCILE, now=NOW, limit=1)
    assert not claim(RECONCILE, now=NOW, limit=1)
    Dataset.objects.update(lease_until=F("lease_until") + leap)  # as a clock gave it that has gone back since
    assert backlogs(NOW)[STAGES.index(RECONCILE)].oldest_due_at == NOW
    (row,) = claim(RECONCILE, now=NOW, limit=1)
    assert row.lease_until <= clock.database_now() + LONGEST_LEASE


@pytest.mark.django_db
@pytest.mark.logs_a_failure
def test_a_row_that_raises_waits_for_its_lease_and_holds_up_no_other() -> None:
    clock.simulate(NOW)
    bad, _ = DatasetFactory.create_batch(2, reconcile_at=NOW)

    def handle(row: Dataset, now: datetime) -> None:
        if row.pk == bad.pk:
            raise ZeroDivisionError
        finish(row, reconcile_at=None)

    assert work("reconcile", handle) == 2
    assert work("reconcile", handle) == 0
    left = Dataset.objects.get(reconcile_at__isnull=False)
    assert (left.pk, left.attempts, left.lease_until is not None) == (bad.pk, 1, True)


@pytest.mark.django_db
@pytest.mark.logs_a_failure
def test_a_poison_row_holds_up_none_of_those_that_are_worked_with_it() -> None:
    clock.simulate(NOW)
    bad, *_ = DatasetFactory.create_batch(3, reconcile_at=NOW)

    def handle(rows: list[Dataset], now: datetime) -> None:
        for row in rows:
            row.reconcile_at = None
        finish_all(rows, "reconcile_at")
        if bad in rows:
            raise ZeroDivisionError

    assert work_together("reconcile", handle) == 3
    left = Dataset.objects.get(reconcile_at__isnull=False)
    assert (left.pk, left.attempts, left.lease_until is not None) == (bad.pk, 1, True)


@pytest.mark.django_db
def test_nothing_is_finished_together_under_a_lease_that_was_lost() -> None:
    DatasetFactory.create_batch(2, reconcile_at=NOW)
    rows = claim(RECONCILE, now=NOW, limit=5)
    Dataset.objects.filter(pk=rows[0].pk).update(epoch=9)
    for row in rows:
        row.reconcile_at = None
    with pytest.raises(UnableToFinish, match="1 of 2"):
        finish_all(rows, "reconcile_at")


@pytest.mark.django_db
def test_rows_that_another_has_claimed_since_are_not_worked_one_by_one_either(monkeypatch: pytest.MonkeyPatch) -> None:
    clock.simulate(NOW)
    lost, *kept = DatasetFactory.create_batch(3, reconcile_at=NOW)
    seen: list[list[int]] = []

    def outlived(*args: Any, **kwargs: Any) -> Iterator[list[Dataset]]:
        for rows in claims(*args, **kwargs):  # the lease of one runs out, and another worker claims it
            Dataset.objects.filter(pk=lost.pk).update(epoch=F("epoch") + 1)
            yield rows

    def handle(rows: list[Dataset], now: datetime) -> None:
        seen.append([row.pk for row in rows])
        for row in rows:
            row.reconcile_at, row.description = None, "the late one was here"
        finish_all(rows, "reconcile_at", "description")

    monkeypatch.setattr(queue, "claims", outlived)
    assert work_together("reconcile", handle) == 3
    assert seen[1:] == [[row.pk] for row in kept]
    lost.refresh_from_db()
    assert (lost.reconcile_at, lost.description) == (NOW, "")
    assert not Dataset.objects.exclude(pk=lost.pk).filter(reconcile_at__isnull=False).exists()


@pytest.mark.django_db
def test_only_rows_that_were_tried_as_often_are_claimed_together() -> None:
    first, bad, last = DatasetFactory.create_batch(3, reconcile_at=NOW)
    Dataset.objects.filter(pk=bad.pk).update(attempts=1)
    claimed = [[row.pk for row in claim(RECONCILE, now=NOW, limit=5)] for _ in range(2)]
    assert claimed == [[first.pk, last.pk], [bad.pk]]


@pytest.mark.django_db
def test_the_more_often_rows_were_tried_in_vain_the_fewer_are_claimed_together() -> None:
    DatasetFactory.create_batch(60, reconcile_at=NOW)
    claimed = []
    for _ in range(4):
        claimed.append(len(claim(RECONCILE, now=NOW, limit=60)))
        Dataset.objects.update(lease_until=None, attempts=len(claimed))
    assert claimed == [60, 7, 1, 1]


@pytest.mark.django_db
def test_a_poison_never_takes_the_same_neighbour_with_it_three_times() -> None:
    bad, *_ = DatasetFactory.create_batch(60, reconcile_at=NOW)
    for _ in range(3):  # the worker dies of the first part that it takes
        assert bad in claim(RECONCILE, now=NOW, limit=60)
        Dataset.objects.update(lease_until=None)
    tried = Counter(Dataset.objects.values_list("attempts", flat=True))
    assert tried == {3: 1, 2: 6, 1: 53}


@pytest.mark.django_db
def test_what_dead_workers_have_left_takes_one_task_and_each_row_a_lease_of_its_own() -> None:
    clock.simulate(NOW)
    DatasetFactory.create_batch(30, reconcile_at=NOW)
    Dataset.objects.update(attempts=2)
    leased: list[int] = []

    def handle(rows: list[Dataset], now: datetime) -> None:
        leased.append(Dataset.objects.filter(lease_until__isnull=False).count())
        for row in rows:
            row.reconcile_at = None
        finish_all(rows, "reconcile_at")

    assert work_together("reconcile", handle, limit=20) == 20
    assert leased == [1] * 20
    assert work_together("reconcile", handle) == 10


@pytest.mark.django_db
def test_a_try_after_a_deadlock_begins_with_the_row_as_it_was_claimed() -> None:
    clock.simulate(NOW)
    DatasetFactory.create(reconcile_at=NOW, owner="ada")
    seen: list[str] = []

    def handle(rows: list[Dataset], now: datetime) -> None:
        seen.append(rows[0].owner)
        rows[0].owner = "moved on"
        if len(seen) == 1:
            raise OperationalError(1213, "Deadlock found when trying to get lock")
        rows[0].reconcile_at = None
        finish_all(rows, "reconcile_at")

    assert work_together("reconcile", handle) == 1
    assert seen == ["ada", "ada"]
