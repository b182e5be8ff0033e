"""``referential_integrity`` and ``accuracy`` against SQLite, which joins the same rows by itself."""

import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from execution_engine.engines.protocol import WHOLE, Measured, MeasurementRequest, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason
from tests.integration.engines.trips import failed
from tests.integration.storages import stored

Rows = list[tuple[int | None, str | None, float | None]]
COLUMNS = {"id": pa.int64(), "city": pa.string(), "fare": pa.float64()}
TRIPS: Rows = [(1, "rome", 4.5), (2, None, 9.0), (3, "東京", None), (4, "lima", 1.0), (5, "O'x", 2.0),
               (None, "rome", 1.0), (6, "rome", 0.5), (1, "rome", 4.5)]  # fmt: skip
RECORDS = TRIPS[:-1]  # without the key that is there twice
SOURCE: Rows = [(1, "rome", 4.5), (2, None, 9.0), (3, "東京", 7.0), (4, "lima", 1.0), (4, "lima", 1.0),
                (None, "rome", 1.0), (6, "rome", 0.5)]  # fmt: skip
SQLITE = {
    "known": """select avg(exists (select 1 from source s where s.id = trips.id)) from trips where id is not null""",
    "pairs": """select avg(exists (select 1 from source s where s.city = trips.city and s.fare = trips.fare))
                from trips where city is not null and fare is not null""",
    "equal": """select avg((select count(*) from source s where s.id = trips.id) = 1 and exists (
                select 1 from source s where s.id = trips.id and s.city is trips.city and s.fare is trips.fare))
                from trips""",
}


def table(folder: Path, name: str, rows: Rows, types: dict[str, pa.DataType] = COLUMNS) -> Table:
    location = folder / name
    location.mkdir()
    columns = [
        pa.array(list(values), type=type_)
        for values, type_ in zip(zip(*rows, strict=True), types.values(), strict=True)
    ]
    pq.write_table(pa.table(columns, names=list(types)), location / "rows.parquet")
    return stored(Table(name=f"raw.{name}", storage="parquet", location=str(location)))


def measure(
    engine: SparkEngine,
    folder: Path,
    spec: MetricSpec,
    types: dict[str, pa.DataType] = COLUMNS,
    rows: Rows = TRIPS,
    others: Rows = SOURCE,
) -> Measured:
    trips, source = table(folder, "trips", rows), table(folder, "source", others, types)
    wanted = MeasurementRequest(key="it", spec=spec, tables={"raw.source": source})
    return engine.scan(trips, WHOLE, [wanted]).measured["it"]


def sqlite(question: str, rows: Rows = TRIPS, others: Rows = SOURCE) -> float:
    connection = sqlite3.connect(":memory:")
    for name, kept in (("trips", rows), ("source", others)):
        connection.execute(f"create table {name} (id integer, city text, fare real)")
        connection.executemany(f"insert into {name} values (?, ?, ?)", kept)
    found: float = connection.execute(SQLITE[question]).fetchone()[0]
    return found


def references(*columns: str, where: str | None = None, **options: str) -> MetricSpec:
    given = tuple(sorted(options.items()))
    return MetricSpec(
        name="referential_integrity", columns=columns, arguments=("raw.source",), options=given, where=where
    )


def accuracy(*columns: str, on: str) -> MetricSpec:
    return MetricSpec(name="accuracy", columns=columns, arguments=("raw.source",), options=(("on", on),))


@pytest.mark.parametrize(("spec", "question"), [(references("id"), "known"), (references("city", "fare"), "pairs")])
def test_references_are_found_as_sqlite_finds_them(
    spark_engine: SparkEngine, tmp_path: Path, spec: MetricSpec, question: str
) -> None:
    assert measure(spark_engine, tmp_path, spec).value == pytest.approx(sqlite(question))


def test_a_reference_that_is_lost_is_named(spark_engine: SparkEngine, tmp_path: Path) -> None:
    measured = measure(spark_engine, tmp_path, references("id"))
    assert measured.detail == {"rows": 7, "missing": 1, "lost": [{"id": "5"}]}


def test_keys_of_other_types_are_the_same_keys(spark_engine: SparkEngine, tmp_path: Path) -> None:
    types = {"id": pa.float64(), "city": pa.string(), "fare": pa.float32()}
    assert measure(spark_engine, tmp_path, references("id"), types).value == pytest.approx(sqlite("known"))


def test_references_are_asked_for_of_some_rows(spark_engine: SparkEngine, tmp_path: Path) -> None:
    assert measure(spark_engine, tmp_path, references("id", where="id in (4, 5)")).value == 0.5


def test_records_equal_their_source_as_sqlite_says(spark_engine: SparkEngine, tmp_path: Path) -> None:
    others = [*dict.fromkeys(SOURCE)]
    measured = measure(spark_engine, tmp_path, accuracy("city", "fare", on="id"), rows=RECORDS, others=others)
    assert measured.value == pytest.approx(sqlite("equal", RECORDS, others))
    assert measured.detail == {"rows": 7, "equal": 4, "different": 1, "missing": 2}


@pytest.mark.parametrize(
    ("rows", "others", "why"),
    [
        (TRIPS, SOURCE, "1 twice or more in raw.trips and 1 twice or more in raw.source"),
        (RECORDS, SOURCE, "1 twice or more in raw.source"),
        (RECORDS, [*dict.fromkeys(SOURCE), (9, "rome", 1.0), (9, "rome", 1.0)], "1 twice or more in raw.source"),
    ],
    ids=["on both sides", "there", "there, and not here"],
)
def test_records_whose_key_is_twice_are_refused_as_deequ_refuses_them(
    spark_engine: SparkEngine, tmp_path: Path, rows: Rows, others: Rows, why: str
) -> None:
    failure = failed(measure(spark_engine, tmp_path, accuracy("city", on="id"), rows=rows, others=others))
    assert f"of the keys of id are {why}: name columns by on= that tell the rows apart" in failure.detail


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (references("id", to="ident"), Reason.UNKNOWN_COLUMN),
        (references("id", to="id, city"), Reason.INVALID),
        (MetricSpec(name="accuracy", columns=("id",), arguments=("raw.source",)), Reason.INVALID),
        (MetricSpec(name="referential_integrity", columns=("id",), arguments=("raw.none",)), Reason.INVALID),
        (accuracy("fare", on="ident"), Reason.UNKNOWN_COLUMN),
    ],
    ids=lambda given: given.text if isinstance(given, MetricSpec) else "",
)
def test_what_cannot_be_compared_says_why(
    spark_engine: SparkEngine, tmp_path: Path, spec: MetricSpec, reason: Reason
) -> None:
    failure = failed(measure(spark_engine, tmp_path, spec))
    assert failure.reason is reason
