"""Where one process works everything, scans that take long have a lane of their own and hold up nothing else."""

from datetime import timedelta

import pytest

from assay.config import config
from assay.queue.claims import rounds
from execution_engine import tasks
from execution_engine.models import Scan
from execution_engine.scans.run_scan import Lane, only, slow_datasets
from execution_engine.services import scan_pending
from tests.factories import NOW, DatasetFactory, DataTestFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop

MONDAY = day("2026-03-09")


def ordered(loop: Loop, name: str) -> Scan:
    """The scan of a table that nobody has read yet."""
    dataset = DatasetFactory.create(name=name)
    loop.write(dataset, "2026-03-09", rows(3))
    loop.request(DataTestFactory.create(dataset=dataset), MONDAY)
    tasks.plan()
    return Scan.objects.get(dataset=dataset, ended_at=None)


def took(scan: Scan, seconds: float, ago: timedelta = timedelta(hours=1)) -> None:
    """A scan of the same table that ended some time ago."""
    Scan.objects.create(
        dataset=scan.dataset,
        datacenter="sea",
        window_start=MONDAY.start,
        window_end=MONDAY.end,
        created_at=NOW - ago,
        ended_at=NOW - ago,
        seconds=seconds,
    )


def is_done(scan: Scan) -> bool:
    return Scan.objects.filter(pk=scan.pk, ended_at__isnull=False).exists()


@pytest.mark.parametrize("is_one_of_rounds", [False, True])
def test_each_lane_takes_its_own_scans(loop: Loop, is_one_of_rounds: bool) -> None:
    slow, quick = ordered(loop, "slow"), ordered(loop, "quick")
    took(slow, 600)
    with only(Lane.QUICK):
        if is_one_of_rounds:
            with rounds():
                scan_pending()
        scan_pending()
    assert (is_done(slow), is_done(quick)) == (False, True)
    with only(Lane.SLOW):
        assert scan_pending() == 1
    assert is_done(slow)


def test_without_lanes_all_are_taken(loop: Loop) -> None:
    slow, quick = ordered(loop, "slow"), ordered(loop, "quick")
    took(slow, 600)
    scan_pending()
    assert (is_done(slow), is_done(quick)) == (True, True)


@pytest.mark.parametrize(
    ("seconds", "ago", "is_slow"),
    [(60, 1, True), (599, 1, True), (59, 1, False), (600, 23, True), (600, 25, False)],
)
def test_a_dataset_is_slow_for_a_day_after_a_long_scan(loop: Loop, seconds: float, ago: int, is_slow: bool) -> None:
    scan = ordered(loop, "trips")
    took(scan, seconds, timedelta(hours=ago))
    assert slow_datasets(NOW) == ([scan.dataset_id] if is_slow else [])


def test_a_short_deadline_makes_long_what_takes_half_of_it(loop: Loop, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = ordered(loop, "trips")
    took(scan, 46)
    monkeypatch.setattr(config(), "scan_deadline_seconds", 90)
    assert slow_datasets(NOW) == [scan.dataset_id]
