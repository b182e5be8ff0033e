"""Business metrics over real files, read by Spark, from their catalog to their verdicts."""

import sqlite3
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from alerting.models import Alert, Standing
from assay import clock
from assay.models import Dataset, DataTest
from assay.queue.drain import advance
from execution_engine import storage
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Measurement, Run
from incident_manager.models import Incident
from incident_manager.services import gate
from test_generator.models import Gap
from test_generator.services import sync_files
from tests.factories import DAY, day

FIRST = day("2026-03-07")
RIDE = tuple[str, str | None, float | None]  # status, city, fare
CATALOG = """
datasets:
  - name: raw.rides
    owner: rita
    tier: 2
    novelty: false
    columns: {{status: string, city: string, fare: double}}
    partition: {{column: datestr, granularity: day}}
    replicas: [{{datacenter: sea, storage: parquet, location: {folder}/rides}}]
  - name: raw.visits
    owner: vic
    tier: 2
    novelty: false
    columns: {{visitor: bigint}}
    partition: {{column: datestr, granularity: day}}
    replicas: [{{datacenter: sea, storage: parquet, location: {folder}/visits}}]
  - name: mart.takings_by_city
    owner: max
    tier: 2
    novelty: false
    columns: {{city: string, takings: double}}
    partition: {{column: datestr, granularity: day}}
    replicas: [{{datacenter: sea, storage: parquet, location: {folder}/by_city}}]
tests:
  - {{dataset: raw.rides, name: priced, assertion: completeness(fare) >= 0.9, severity: hard, sustain: 0h}}
business_metrics:
  - name: business.takings
    owner: mia
    tier: 2
    sustain: 0h
    expression: sum(fare, where="status = 'done'")
    sources: [raw.rides]
    dimensions: [city]
    served: [{{dataset: mart.takings_by_city, column: takings, dimension: city}}]
  - name: business.takings_per_visit
    owner: mia
    tier: 2
    sustain: 0h
    expression: sum(fare, where="status = 'done'") / row_count(dataset='raw.visits')
    sources: [raw.rides, raw.visits]
    dimensions: [city]
"""
SERVED = "dimension:city@mart.takings_by_city"
FIELDS = pa.schema({"status": pa.string(), "city": pa.string(), "fare": pa.float64()})


class Company:
    """Rides and visits in folders, one a day, and a clock that goes on."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def rides(self, key: str, rides: Sequence[RIDE]) -> None:
        """Write the rides of a day in place of those that were there."""
        columns = zip(*rides, strict=True) if rides else ([], [], [])
        table = pa.table(dict(zip(FIELDS.names, map(list, columns), strict=True)), schema=FIELDS)
        self._write("rides", key, table)

    def served(self, key: str, takings: dict[str | None, float]) -> None:
        """Write what the mart says of a day; the row without a city is that of all."""
        self._write("by_city", key, pa.table({"city": list(takings), "takings": list(takings.values())}))

    def visits(self, key: str, count: int) -> None:
        """Write so many visits of a day."""
        self._write("visits", key, pa.table({"visitor": list(range(count))}))

    def _write(self, name: str, key: str, table: pa.Table) -> None:
        part = self.folder / name / f"datestr={key}"
        part.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, part / "part-0.parquet")


def usual_rides(number: int) -> list[RIDE]:
    """Rides of a day, a little more takings each day."""
    done: list[RIDE] = [("done", "LIS" if n % 2 else "POR", 10.0 + number % 3) for n in range(20)]
    return [*done, ("lost", "LIS", 99.0)]


def takings_by_city(number: int) -> dict[str | None, float]:
    """The takings of these rides by city, and of all."""
    return {"LIS": 10 * (10.0 + number % 3), "POR": 10 * (10.0 + number % 3), None: 20 * (10.0 + number % 3)}


@pytest.fixture
def company(db: None, spark_engine: SparkEngine, tmp_path: Path) -> Iterator[Company]:
    """A company that knows its metrics for three days, and all of whose data has come in time."""
    told = Company(tmp_path)
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(CATALOG.format(folder=tmp_path))
    with storage.using(spark_engine):
        clock.simulate(FIRST.start + timedelta(hours=1))
        sync_files(catalog, now=clock.now())
        for number in range(3):
            start = FIRST.start + number * DAY
            told.rides(f"{start:%Y-%m-%d}", usual_rides(number))
            told.visits(f"{start:%Y-%m-%d}", 40 + number)
            told.served(f"{start:%Y-%m-%d}", takings_by_city(number))
            advance(start + DAY + timedelta(hours=7))
        yield told


def by_sqlite(key: str, folder: Path) -> tuple[float, float]:
    """Both metrics of a day, by another engine."""
    rides = pq.read_table(folder / "rides" / f"datestr={key}" / "part-0.parquet").to_pylist()
    visits = pq.read_table(folder / "visits" / f"datestr={key}" / "part-0.parquet").num_rows
    with sqlite3.connect(":memory:") as database:
        database.execute("create table rides (status, city, fare)")
        database.executemany("insert into rides values (:status, :city, :fare)", rides)
        asked = "select sum(fare), sum(fare) * 1.0 / ? from rides where status = 'done'"
        found: tuple[float, float] = database.execute(asked, [visits]).fetchone()
    return found


def values_of(name: str) -> dict[str, float | None]:
    rows = Measurement.objects.filter(dataset__full_name=name, spec__name="value", measured_at__isnull=False)
    return {f"{row.window_start:%Y-%m-%d}": row.value for row in rows.order_by("measured_at")}


def states(name: str, key: str) -> dict[str, str]:
    rows = Standing.objects.filter(data_test__dataset__full_name=name, window_start=day(key).start)
    return dict(rows.values_list("data_test__name", "state"))


def test_a_business_metric_is_computed_judged_explained_and_healed(company: Company) -> None:
    its_values_are_those_of_another_engine(company)
    its_tests_hold(company)
    what_its_source_lost_is_the_cause(company)
    and_all_is_released_once_the_source_is_mended(company)
    a_break_down_that_loses_rides_is_told(company)
    a_day_without_rides_has_no_value(company)


def its_values_are_those_of_another_engine(company: Company) -> None:
    takings, per_visit = values_of("business.takings"), values_of("business.takings_per_visit")
    assert len(takings) == len(per_visit) == 3
    for key, value in takings.items():
        assert (value, per_visit[key]) == pytest.approx(by_sqlite(key, company.folder))


def its_tests_hold(company: Company) -> None:
    held = {"value": "PASS", "freshness": "PASS", "band": "LEARNING"}
    parts = dict.fromkeys(("dimension:city", SERVED), "PASS")
    assert states("business.takings", "2026-03-09") == held | parts
    assert states("business.takings_per_visit", "2026-03-09") == held
    (gap,) = Gap.objects.filter(dataset__full_name="business.takings_per_visit")
    assert "sum(fare" in gap.reason
    assert not gap.mendable
    assert not Gap.objects.filter(dataset__full_name="business.takings").exists()
    assert set(DataTest.objects.filter(dataset__namespace="business").values_list("category", flat=True)) == {"metric"}


def what_its_source_lost_is_the_cause(company: Company) -> None:
    company.rides("2026-03-09", [("done", "LIS", None) for _ in range(21)])
    advance(clock.now() + timedelta(hours=8))
    assert states("raw.rides", "2026-03-09")["priced"] == "FAIL"
    assert states("business.takings", "2026-03-09")["value"] == "FAIL"
    cause = Incident.objects.get(dataset__full_name="raw.rides", resolved_at=None)
    for name in ("business.takings", "business.takings_per_visit"):
        alert = Alert.objects.get(dataset__full_name=name, closed_at=None)
        assert alert.cause is not None
        assert alert.cause.dataset == cause.dataset
    run = Run.objects.filter(data_test__dataset__full_name="business.takings", data_test__name="value").latest("pk")
    assert "has_value() = 0" in run.sentence
    assert "NULL" in run.sentence
    takings = Dataset.objects.get(full_name="business.takings")
    answer = gate(datasets=[takings], window=day("2026-03-09"), pipeline="prices", now=clock.now())
    assert answer.decision == "block"


def and_all_is_released_once_the_source_is_mended(company: Company) -> None:
    company.rides("2026-03-09", usual_rides(2))
    advance(clock.now() + timedelta(hours=2))
    assert not Incident.objects.filter(resolved_at=None).exists()
    assert states("business.takings", "2026-03-09")["value"] == "PASS"


def a_break_down_that_loses_rides_is_told(company: Company) -> None:
    company.rides("2026-03-09", [*usual_rides(2)[:18], ("done", None, 12.0), ("done", None, 12.0)])
    company.served("2026-03-09", takings_by_city(2) | {"POR": 1.0})
    advance(clock.now() + timedelta(hours=3))
    found = states("business.takings", "2026-03-09")
    assert (found["value"], found["dimension:city"], found[SERVED]) == ("PASS", "FAIL", "FAIL")
    company.rides("2026-03-09", usual_rides(2))
    company.served("2026-03-09", takings_by_city(2))
    advance(clock.now() + timedelta(hours=3))
    assert set(states("business.takings", "2026-03-09").values()) == {"PASS", "LEARNING"}


def a_day_without_rides_has_no_value(company: Company) -> None:
    company.visits("2026-03-10", 50)
    advance(day("2026-03-10").end + timedelta(hours=12))
    found = states("business.takings", "2026-03-10")
    assert (found["value"], found["freshness"]) == ("FAIL", "FAIL")
