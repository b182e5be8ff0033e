"""Runs over tables that have snapshots: which they have read, and what they say as of another."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from alerting import tasks as alerting
from alerting.models import Standing
from assay import clock
from assay.access import Role
from assay.config import config
from assay.models import Category, Dataset, Revision
from execution_engine import services, storage, tasks
from execution_engine.engines.protocol import ScanReport, SparkOptions
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Run
from execution_engine.services import UnableToRequest, read_as_of
from incident_manager import tasks as incidents
from incident_manager.models import Incident
from incident_manager.services import backtest
from tests import factories
from tests.integration.web.people import browser, client

pytestmark = pytest.mark.django_db
MONDAY = factories.day("2026-03-09")
ROWS = pa.table({"id": [1, 2], "datestr": ["2026-03-09", "2026-03-09"]})
MORE = pa.table({"id": [3], "datestr": ["2026-03-09"]})


@pytest.fixture(params=["iceberg", "delta"])
def lake(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The kind of the table ``raw.trips``; that of Iceberg is named by its catalog."""
    catalog = {"name": "prod", "type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db"}
    monkeypatch.setenv("ASSAY_CATALOGS", json.dumps([catalog]))
    config.cache_clear()
    clock.simulate(factories.NOW)
    with storage.using(SparkEngine(SparkOptions(in_process_bytes=1 << 30))):
        yield str(request.param)
    config.cache_clear()


@pytest.fixture
def commit(lake: str, tmp_path: Path) -> Callable[[pa.Table], None]:
    """Appends rows to the table, which has two rows by then."""
    iceberg = SqlCatalog("prod", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}/warehouse")
    iceberg.create_namespace("raw")
    table = iceberg.create_table("raw.trips", schema=ROWS.schema)

    def append(rows: pa.Table) -> None:
        if lake == "iceberg":
            table.append(rows)
        else:
            write_deltalake(str(tmp_path / "delta"), rows, mode="append")

    append(ROWS)
    return append


@pytest.fixture
def trips(lake: str, commit: Callable[[pa.Table], None], tmp_path: Path) -> Dataset:
    dataset: Dataset = factories.DatasetFactory.create(name="trips")
    location = "iceberg://prod/raw.trips" if lake == "iceberg" else str(tmp_path / "delta")
    dataset.replicas.update(location=location, storage=lake)
    factories.DataTestFactory.create(dataset=dataset, name="enough", assertion="row_count() >= 3")
    return dataset


def work() -> None:
    while tasks.plan() + tasks.scan() + tasks.evaluate() + alerting.judge():
        pass


def run(dataset: Dataset, occasion: str, as_of: str = "") -> Run:
    snapshots = read_as_of(as_of, dataset) if as_of else None
    (asked,) = services.request_all(dataset, MONDAY, occasion=occasion, now=clock.now(), as_of=snapshots).runs
    work()
    asked.refresh_from_db()
    return asked


def test_a_run_says_what_it_has_read_and_another_may_read_the_same(
    trips: Dataset, commit: Callable[[pa.Table], None]
) -> None:
    broken = run(trips, "1")
    commit(MORE)
    held = run(trips, "2")
    assert (broken.outcome, broken.value, held.outcome, held.value) == ("broken", 2, "held", 3)
    (place,) = broken.snapshots
    assert place == "raw.trips@sea"
    assert broken.snapshots[place] != held.snapshots[place]
    assert broken.snapshots[place].startswith(("Iceberg snapshot ", "Delta version 0"))
    then = run(trips, "3", as_of=str(broken.pk))
    assert (then.outcome, then.value, then.snapshots) == ("broken", 2, broken.snapshots)
    assert run(trips, "4", as_of=str(held.pk)).value == 3
    assert [standing.value for standing in Standing.objects.all()] == [3]  # what was read of then judges nothing
    assert run(trips, "5").value == 3


def test_what_is_committed_while_a_run_reads_is_of_the_next_run(
    trips: Dataset, commit: Callable[[pa.Table], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def scan_late(engine: SparkEngine, *asked: Any) -> ScanReport:
        commit(MORE)
        return scan(engine, *asked)

    scan = SparkEngine.scan
    monkeypatch.setattr(SparkEngine, "scan", scan_late)
    first = run(trips, "1")
    monkeypatch.setattr(SparkEngine, "scan", scan)
    second = run(trips, "2")
    assert (first.value, second.value) == (2, 3)
    assert first.snapshots != second.snapshots


def test_freshness_is_not_asked_of_a_snapshot(trips: Dataset) -> None:
    test = {"name": "in time", "category": Category.FRESHNESS, "assertion": "freshness(complete=0.99) < 4h"}
    factories.DataTestFactory.create(dataset=trips, **test)
    answer = services.request_all(trips, MONDAY, occasion="1", now=clock.now(), as_of={"*": "2026-03-10"})
    assert [run.data_test.name for run in answer.runs] == ["enough"]
    assert answer.left_out == {"in time": "it says when rows are there, and a snapshot of the past does not say that"}


def test_an_incident_is_run_again_on_the_snapshot_that_broke(
    trips: Dataset, commit: Callable[[pa.Table], None]
) -> None:
    Revision.objects.update(sustain=timedelta(0))
    broken = run(trips, "1")
    incidents.handle()
    incident = Incident.objects.get()
    pages = browser("oscar", Role.OPERATOR)
    page = pages.get(f"/incidents/{incident.pk}").content.decode()
    assert "Run again on this snapshot" in page
    assert broken.snapshots["raw.trips@sea"] in page
    commit(MORE)
    clock.simulate(factories.NOW + factories.HOUR)
    answer = pages.post(f"/incidents/{incident.pk}/rerun", {"as_of": broken.pk}, follow=True)
    assert "1 run is on the way" in answer.content.decode()
    work()
    again = Run.objects.latest("pk")
    assert (again.value, again.snapshots, again.reason) == (2, broken.snapshots, "backtest")
    assert "Run again by oscar: 0 of 1 hold" in pages.get(f"/incidents/{incident.pk}").content.decode()
    assert (
        "is none of raw.trips"
        in pages.post(f"/incidents/{incident.pk}/rerun", {"as_of": 99}, follow=True).content.decode()
    )


def test_the_api_runs_a_test_on_a_snapshot_of_then(trips: Dataset, commit: Callable[[pa.Table], None]) -> None:
    broken = run(trips, "1")
    commit(MORE)
    api, asked = client("oscar", Role.OPERATOR), {"data_test": broken.data_test_id, "window": "2026-03-09"}
    wrong = api.post("/api/v1/runs", {**asked, "as_of": "soon"}, "json")
    assert (wrong.status_code, "is no run and no instant" in str(wrong.json())) == (400, True)
    answer = api.post("/api/v1/runs", {**asked, "as_of": str(broken.pk)}, "json")
    assert answer.status_code == 201, answer.json()
    work()
    row = api.get(f"/api/v1/runs/{answer.json()['id']}").json()
    assert (row["value"], row["snapshots"], row["outcome"]) == (2, broken.snapshots, "broken")


def test_a_backtest_takes_each_window_as_it_was_when_it_was_due(
    trips: Dataset, commit: Callable[[pa.Table], None]
) -> None:
    trips.freshness_sla = datetime.now(UTC) - MONDAY.end  # due between the two commits
    trips.save()
    commit(MORE)
    test = trips.data_tests.get()
    values = []
    for as_of_due in (False, True):
        asked: Any = {"start": MONDAY.start, "end": MONDAY.end, "now": datetime.now(UTC), "as_of_due": as_of_due}
        backtest(test, measure=True, **asked)
        work()
        values += [row.runs[0].value for row in backtest(test, **asked).windows]
    assert values == [3, 2]


def test_a_run_as_of_an_instant_reads_what_was_committed_by_then(
    trips: Dataset, commit: Callable[[pa.Table], None]
) -> None:
    between = datetime.now(UTC).isoformat()
    commit(MORE)
    assert [run(trips, at, as_of=at).value for at in (between, datetime.now(UTC).isoformat())] == [2, 3]
    early = run(trips, "early", as_of="2020-01-01")
    assert (early.outcome, early.error_reason) == ("error", "table cannot be read")
    assert "of 2020-01-01 00:00 UTC, or has it no more" in early.sentence


@pytest.mark.parametrize("lake", ["iceberg"], indirect=True)
def test_a_snapshot_that_has_expired_is_said_to_be_gone(
    trips: Dataset, commit: Callable[[pa.Table], None], tmp_path: Path
) -> None:
    broken = run(trips, "1")
    commit(MORE)
    table = SqlCatalog("prod", uri=f"sqlite:///{tmp_path}/catalog.db").load_table("raw.trips")
    table.maintenance.expire_snapshots().by_id(int(broken.snapshots["raw.trips@sea"].split()[-1])).commit()
    then = run(trips, "2", as_of=str(broken.pk))
    assert (then.outcome, "or has it no more" in then.sentence) == ("error", True)


@pytest.mark.parametrize("lake", ["delta"], indirect=True)
def test_what_names_no_snapshot_is_refused(trips: Dataset) -> None:
    for text, why in (("99", "run 99 is none of raw.trips"), ("soon", "'soon' is no run and no instant")):
        with pytest.raises(UnableToRequest, match=why):
            read_as_of(text, trips)
    trips.replicas.create(
        datacenter="phx", storage="parquet", location="/data", position=1
    )  # beside one that has snapshots
    with pytest.raises(UnableToRequest, match=r"raw\.trips is kept as parquet, of which there are no snapshots"):
        read_as_of("2026-03-09T12:00", trips)
