"""Workers that die, stall or wait while they scan: nothing is written twice, and nothing is held that is not read."""

from assay import clock
from assay.models import Dataset
from execution_engine import services
from execution_engine.models import Measurement, Run, Scan
from tests.factories import DataTestFactory, day
from tests.fakes import rows
from tests.integration.execution_engine.conftest import Loop

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")


def test_a_scan_is_claimed_only_when_its_turn_has_come(loop: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips)
    for window in (SUNDAY, MONDAY):
        loop.request(data_test, window)
    held: list[int] = []
    loop.lake.while_reading.append(lambda: held.append(Scan.objects.filter(lease_until__isnull=False).count()))
    loop.drain()
    assert held == [1]
    assert Scan.objects.filter(ended_at__isnull=False).count() == 2


def test_what_a_stalled_worker_read_is_dropped_once_another_has_taken_over(loop: Loop, trips: Dataset) -> None:
    loop.write(trips, "2026-03-09", rows(120))
    loop.request(DataTestFactory.create(dataset=trips), MONDAY)

    def another_takes_over() -> None:
        Scan.objects.update(lease_until=clock.database_now().replace(year=2000))
        loop.write(trips, "2026-03-09", rows(300))
        services.scan_pending(worker="phx-2@assay")

    loop.lake.while_reading.append(another_takes_over)
    loop.drain()
    scan = Scan.objects.get()
    assert (scan.worker, scan.epoch, len(loop.lake.scans)) == ("phx-2@assay", 2, 2)
    assert (Measurement.objects.get().value, Run.objects.get().value) == (300, 300)
