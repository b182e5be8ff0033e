"""Assertions by groups over real files, read by Spark and compared with pandas."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.models import Dataset
from execution_engine.models import Measurement, Scan
from execution_engine.runs.evaluate_runs import groups_of
from tests.factories import DatasetFactory, DataTestFactory, day
from tests.integration.execution_engine.conftest import Loop

MONDAY, SUNDAY = day("2026-03-09"), day("2026-03-08")
TRIPS = pd.DataFrame(
    {
        "id": [1, 2, 2, 4, 5, 6, 7, 8],
        "fare": [10.0, 20.0, None, 30.0, 5.0, None, 7.0, 9.0],
        "city": ["Oslo", "Oslo", "Oslo", "Voss", "Voss", None, None, ""],
    }
)


@pytest.fixture
def trips(tmp_path: Path) -> Dataset:
    """Trips of some cities on Monday; on Sunday Bergen had some too."""
    dataset = DatasetFactory.create(name="trips")
    dataset.replicas.update(location=str(tmp_path))
    _write(tmp_path, "2026-03-09", TRIPS)
    _write(tmp_path, "2026-03-08", pd.concat([TRIPS, TRIPS.assign(city="Bergen")]))
    return dataset


def _write(folder: Path, key: str, frame: pd.DataFrame) -> None:
    part = folder / f"datestr={key}"
    part.mkdir(parents=True)
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), part / "part-0.parquet")


def test_each_city_has_the_values_that_pandas_finds(spark: Loop, trips: Dataset) -> None:
    text = "row_count() > 0 and completeness(fare) >= 0 and mean(fare) > 0 and distinct_count(id) > 0 by city"
    run = spark.run(DataTestFactory.create(dataset=trips, assertion=text), MONDAY)
    cities = TRIPS.groupby("city", dropna=False)
    wanted = {
        "row_count() by city": cities.size(),
        "completeness(fare) by city": cities.fare.count() / cities.size(),
        "mean(fare) by city": cities.fare.mean(),
        "distinct_count(id) by city": cities.id.nunique(),
    }
    for row in Measurement.objects.all():
        found = groups_of(row)
        expected = {(None if pd.isna(city) else city,): value for city, value in wanted[row.spec_text].items()}
        assert found == pytest.approx(expected)
    assert (run.outcome, run.operands["row_count() by city"]) == ("held", 4)


def test_a_city_that_vanished_since_yesterday_is_found(spark: Loop, trips: Dataset) -> None:
    data_test = DataTestFactory.create(dataset=trips, assertion="row_count() >= 0.5 * lag(row_count(), 1) by city")
    assert spark.run(data_test, SUNDAY).error_reason == "warming up"
    run = spark.run(data_test, MONDAY)
    assert run.outcome == "broken"
    assert "city = 'Bergen': row_count() = 0, wanted >= 0.5 * lag(row_count(), 1) (4)" in run.sentence


def test_aggregates_of_the_same_groups_share_a_job(spark: Loop, trips: Dataset) -> None:
    spark.run(DataTestFactory.create(dataset=trips, assertion="row_count() > 0 by city"), MONDAY)
    more = "row_count() > 0 and mean(fare) > 0 and max(fare) > 0 and stddev(fare) >= 0 by city"
    spark.run(DataTestFactory.create(dataset=trips, assertion=more), MONDAY)
    alone, together = Scan.objects.order_by("pk")
    assert together.spark_jobs == alone.spark_jobs
