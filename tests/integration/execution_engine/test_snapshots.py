"""Runs over tables that have snapshots: which they have read, and what they say as of another."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake
from pyiceberg.catalog.sql import SqlCatalog

from alerting import tasks as alerting
from alerting.models import Standing
from assay import clock
from assay.config import config
from assay.models import Dataset
from execution_engine import services, storage, tasks
from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import Run
from execution_engine.services import UnableToRequest, read_as_of
from tests import factories

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


def run(dataset: Dataset, occasion: str, as_of: str = "") -> Run:
    snapshots = read_as_of(as_of, dataset) if as_of else None
    (asked,) = services.request_all(dataset, MONDAY, occasion=occasion, now=clock.now(), as_of=snapshots).runs
    while tasks.plan() + tasks.scan() + tasks.evaluate() + alerting.judge():
        pass
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
    trips.replicas.update(storage="parquet")
    with pytest.raises(UnableToRequest, match=r"raw\.trips is kept as parquet, of which there are no snapshots"):
        read_as_of("2026-03-09T12:00", trips)
