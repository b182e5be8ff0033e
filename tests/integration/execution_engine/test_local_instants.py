"""The age of the newest row at the end of a local day, on real files."""

from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import clock
from assay.queue.drain import drain
from assay.time.windows import Window
from execution_engine.models import Run
from execution_engine.services import request_all
from tests.factories import DAY, HOUR, DatasetFactory, DataTestFactory

pytestmark = pytest.mark.django_db(transaction=True)

AGES = (
    """age(at, "timestamp '{window.end:datetime}'") < 2h""",
    """age(at, "timestamp '{window.end:iso}'") < 2h""",
    """age(local, "timestamp_ntz '{window.end:datetime}'") < 2h""",
)


@pytest.mark.parametrize(
    ("zone", "end"),
    [
        ("Europe/Berlin", datetime(2026, 3, 9, 23, tzinfo=UTC)),
        ("America/New_York", datetime(2026, 3, 10, 4, tzinfo=UTC)),
    ],
)
def test_the_age_at_the_end_of_a_local_day_is_the_same_in_each_zone(tmp_path: Path, zone: str, end: datetime) -> None:
    clock.simulate(end + DAY)
    columns = [{"name": "at", "type": "timestamp"}, {"name": "local", "type": "timestamp_ntz"}]
    dataset = DatasetFactory.create(name="fares", time_zone=zone, columns=columns)
    dataset.replicas.update(location=str(tmp_path))
    newest = end - HOUR
    local = newest.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    (tmp_path / "datestr=2026-03-09").mkdir()
    rows = {"at": pa.array([newest], pa.timestamp("us", "UTC")), "local": pa.array([local], pa.timestamp("us"))}
    pq.write_table(pa.table(rows), tmp_path / "datestr=2026-03-09" / "part.parquet")
    for number, assertion in enumerate(AGES):
        DataTestFactory.create(dataset=dataset, name=f"age {number}", assertion=assertion)
    request_all(dataset, Window(start=end - DAY, end=end), occasion="ada", now=clock.now())
    drain()
    assert [(run.outcome, run.value) for run in Run.objects.order_by("data_test__name")] == [("held", 3600.0)] * 3
