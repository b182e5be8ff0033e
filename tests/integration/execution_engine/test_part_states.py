"""Tests of a whole table over real files: only new and changed partitions are read."""

from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.models import Dataset, DataTest, Scope
from assay.time.windows import Window
from execution_engine.models import PartState, Run, Scan
from tests.factories import NOW, DatasetFactory, DataTestFactory
from tests.integration.execution_engine.conftest import Loop

UNIQUE = "1 - distinct_count(id) / row_count() <= 0"


@pytest.fixture
def trips(tmp_path: Path, spark: Loop) -> Dataset:
    dataset = DatasetFactory.create(name="trips")
    replica = dataset.replicas.get()
    replica.location = str(tmp_path / "trips")
    replica.save()
    for day in (2, 3, 4):
        write(dataset, day, range(100 * day, 100 * day + 100))
    return dataset


def write(dataset: Dataset, day: int, ids: range) -> None:
    folder = Path(dataset.replicas.get().location) / f"datestr=2026-03-{day:02}"
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"id": list(ids)}), folder / "part-0.parquet")


def whole(dataset: Dataset) -> DataTest:
    return DataTestFactory.create(dataset=dataset, assertion=UNIQUE, scope=Scope.TABLE, schedule="weekly")


def over(dataset: Dataset, first: int, last: int) -> Window:
    start = NOW.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    return Window(start=start + timedelta(days=first - 1), end=start + timedelta(days=last))


def test_a_key_doubled_across_partitions_is_found_by_reading_only_the_new_one(spark: Loop, trips: Dataset) -> None:
    data_test = whole(trips)
    before = spark.run(data_test, over(trips, 2, 4))
    write(trips, 5, range(400, 500))  # the keys of the fourth once more
    after = spark.run(data_test, over(trips, 2, 5), occasion="2")
    assert (before.outcome, after.outcome, after.value) == ("held", "broken", 0.25)
    assert jobs(before) == jobs(after) == 1
    assert PartState.objects.exclude(key="").values("key").distinct().count() == 4


def test_a_partition_scanned_for_its_own_test_is_not_read_for_the_whole_table(spark: Loop, trips: Dataset) -> None:
    data_test = whole(trips)
    own = DataTestFactory.create(dataset=trips, assertion=UNIQUE)
    for day in (2, 3, 4):
        spark.run(own, over(trips, day, day))
    run = spark.run(data_test, over(trips, 2, 4))
    assert (run.outcome, jobs(run)) == ("held", 0)


def jobs(run: Run) -> int:
    """Spark jobs of the scan that served the run."""
    return sum(Scan.objects.filter(measurements__asks__run=run).distinct().values_list("spark_jobs", flat=True))
