"""The rows that broke a test, in a table of the user's, from the run that broke to the one that holds again."""

import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay import clock
from assay.catalog.profile import RowsTarget
from assay.config import config
from assay.models import Dataset, DataTest
from execution_engine import services, storage, tasks
from execution_engine.engines.protocol import SparkOptions
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.models import RowsExport, RunReason
from test_generator.definition import Definition
from test_generator.services import UnableToWrite, revise, write_data_test
from tests import factories
from tests.integration.web.people import browser

pytestmark = pytest.mark.django_db
MONDAY = factories.day("2026-03-09")
COLUMNS = [{"name": "id", "type": "bigint"}, {"name": "mail", "type": "string"}, {"name": "city", "type": "string"}]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store called quarantine, and small parts read without Spark."""
    monkeypatch.setenv("ASSAY_ROW_STORES", json.dumps({"quarantine": str(tmp_path / "store")}))
    config.cache_clear()
    clock.simulate(factories.NOW)
    with storage.using(SparkEngine(SparkOptions(in_process_bytes=1 << 30))):
        yield tmp_path / "store"
    config.cache_clear()


@pytest.fixture
def people(store: Path, tmp_path: Path) -> Dataset:
    dataset: Dataset = factories.DatasetFactory.create(name="people", columns=COLUMNS, primary_key=["id"])
    dataset.columns = [{**column, "sensitive": column["name"] == "mail"} for column in COLUMNS]
    dataset.save()
    dataset.replicas.update(location=str(tmp_path / "people"), storage="parquet")
    return dataset


def write(dataset: Dataset, cities: list[str | None]) -> None:
    replica = dataset.replicas.first()
    assert replica is not None
    folder = Path(replica.location) / f"{dataset.partition_column}=2026-03-09"
    folder.mkdir(parents=True, exist_ok=True)
    rows = {"id": list(range(len(cities))), "mail": [f"{at}@b.c" for at in range(len(cities))], "city": cities}
    pq.write_table(pa.table({**rows, "city": pa.array(cities, pa.string())}), folder / "part.parquet")


def keeping(dataset: Dataset, assertion: str = "completeness(city) = 1", **target: Any) -> DataTest:
    return write_data_test(
        dataset=dataset,
        name="every city",
        assertion=assertion,
        keep_rows=RowsTarget(**{"table": "quarantine/people", **target}),
        author="ann",
        now=factories.NOW,
    )


def run(test: DataTest, occasion: str) -> None:
    services.request_run(data_test=test, window=MONDAY, reason=RunReason.MANUAL, occasion=occasion, now=clock.now())
    while tasks.plan() + tasks.scan() + tasks.evaluate() + tasks.write_rows():
        pass


def rows_in(store: Path) -> list[dict[str, Any]]:
    files = sorted(store.rglob("rows.parquet"))
    return [row for file in files for row in pq.ParquetFile(file).read().to_pylist()]


def test_rows_come_with_the_run_that_broke_and_go_with_the_one_that_holds(people: Dataset, store: Path) -> None:
    test = keeping(people)
    write(people, ["rome", None, "oslo", None])
    run(test, "1")
    folder = store / "people" / f"dataset={people.full_name}" / "test=every%20city" / "window=2026-03-09T0000Z"
    assert sorted(path.name for path in folder.iterdir()) == ["_assay.json", "rows.parquet"]
    rows = rows_in(store)
    assert [(row["id"], row["assay_broken"], row["assay_key"]) for row in rows] == [
        (1, ["completeness(city)"], "1"),
        (3, ["completeness(city)"], "3"),
    ]
    assert "@" not in str(rows)
    assert all(len(row["mail"]) == 32 for row in rows)
    export = RowsExport.objects.get()
    assert (export.rows, [row["id"] for row in export.sample], "mail" in export.sample[0]) == (2, ["1", "3"], False)

    write(people, ["rome", "oslo", None])
    clock.simulate(factories.NOW + timedelta(hours=1))
    run(test, "2")
    assert [row["id"] for row in rows_in(store)] == [2]

    write(people, ["rome"])
    clock.simulate(factories.NOW + timedelta(hours=2))
    run(test, "3")
    assert (rows_in(store), folder.exists(), RowsExport.objects.exists()) == ([], False, False)


def test_rows_go_after_their_days_but_nothing_that_others_wrote(people: Dataset, store: Path) -> None:
    write(people, [None])
    run(keeping(people, days=7), "1")
    clock.simulate(factories.NOW + timedelta(days=7))
    (next(store.rglob("_assay.json"))).unlink()
    tasks.write_rows()
    assert (len(rows_in(store)), RowsExport.objects.exists()) == (1, False)


def test_a_run_whose_worker_was_lost_is_written_once(people: Dataset, store: Path) -> None:
    write(people, [None, None])
    run(keeping(people), "1")
    RowsExport.objects.update(written_at=None, due_at=clock.now(), attempts=1)
    tasks.write_rows()
    assert [row["id"] for row in rows_in(store)] == [0, 1]


def test_rows_of_a_worker_that_was_lost_go_when_the_window_holds_again(people: Dataset, store: Path) -> None:
    write(people, [None])
    test = keeping(people)
    run(test, "1")
    RowsExport.objects.update(written_at=None, rows=0, sample=[], due_at=clock.now(), attempts=1)
    write(people, ["rome"])
    run(test, "2")
    assert (rows_in(store), RowsExport.objects.exists()) == ([], False)


def test_rows_go_when_a_changed_test_is_broken_by_no_single_row(people: Dataset, store: Path) -> None:
    write(people, [None])
    test = keeping(people)
    run(test, "1")
    revise(test, replace(Definition.of(test.revision), assertion="row_count() > 5"), author="ann", now=clock.now())
    run(test, "2")
    export = RowsExport.objects.get()
    assert ("no single row breaks it" in export.note, export.folder, rows_in(store)) == (True, "", [])


def test_rows_go_when_the_test_keeps_rows_no_longer(people: Dataset, store: Path) -> None:
    write(people, [None])
    test = keeping(people)
    run(test, "1")
    revise(test, replace(Definition.of(test.revision), keep_rows={}), author="ann", now=clock.now())
    assert tasks.write_rows() == 1
    assert (rows_in(store), RowsExport.objects.exists()) == ([], False)


def test_a_test_of_all_rows_together_says_that_no_row_breaks_it(people: Dataset, store: Path) -> None:
    write(people, ["rome"])
    run(keeping(people, "row_count() > 5"), "1")
    export = RowsExport.objects.get()
    assert (export.note, rows_in(store)) == ("row_count() is of all rows together: no single row breaks it", [])


def test_nothing_is_asked_of_a_run_that_holds(people: Dataset, store: Path) -> None:
    write(people, ["rome"])
    run(keeping(people), "1")
    assert not RowsExport.objects.exists()


@pytest.mark.parametrize(
    ("root", "sentence"),
    [
        ("rows", "must be absolute"),
        ("ftp://quality/rows", "no file system is called ftp"),
        ("s3://key:secret@quality/rows", "may hold no password"),
        (str(Path(config().states).absolute()), "is or holds what is Assay's own"),
        ("s3://kept/rows", "the store s3://kept is read_only"),
    ],
)
def test_a_store_that_may_be_none_is_refused(
    people: Dataset, monkeypatch: pytest.MonkeyPatch, root: str, sentence: str
) -> None:
    monkeypatch.setenv("ASSAY_ROW_STORES", json.dumps({"quarantine": root}))
    monkeypatch.setenv("ASSAY_STORES", json.dumps([{"prefix": "s3://kept", "read_only": True}]))
    config.cache_clear()
    with pytest.raises(UnableToWrite, match=f"the store 'quarantine' of ASSAY_ROW_STORES .*{sentence}"):
        keeping(people, table="quarantine")


@pytest.mark.parametrize(
    ("table", "sentence"),
    [("elsewhere", "no store is called 'elsewhere'"), ("quarantine", "has its own data in")],
)
def test_a_place_where_no_rows_may_be_written_is_refused(
    people: Dataset, store: Path, table: str, sentence: str
) -> None:
    people.replicas.update(location=str(store / "people"))
    with pytest.raises(UnableToWrite, match=sentence):
        keeping(people, table=table)


def test_a_store_that_takes_nothing_is_said_and_tried_again(people: Dataset, store: Path) -> None:
    store.write_text("no folder")
    write(people, [None])
    run(keeping(people), "1")
    export = RowsExport.objects.get()
    assert "takes no rows" in export.note
    assert export.written_at is None
    store.unlink()
    clock.simulate(factories.NOW + timedelta(minutes=15))
    tasks.write_rows()
    assert len(rows_in(store)) == 1


def test_the_incident_shows_a_few_rows_without_what_is_sensitive(people: Dataset, store: Path) -> None:
    write(people, ["rome", *[None] * 9])
    test = keeping(people)
    run(test, "1")
    factories.SpoiltWindowFactory.create(
        incident=(incident := factories.IncidentFactory.create(dataset=people)), data_test=test, window=MONDAY
    )
    page = browser("vera").get(f"/incidents/{incident.pk}").content.decode()
    assert (page.count("completeness(city)</td>"), "9 rows in" in page, "@b.c" in page) == (5, True, False)
