"""The drift of real files and tables: parquet, ORC, CSV, JSON, Spark's catalog, SQLite; no job where all holds."""

import json
from collections.abc import Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from sqlalchemy import create_engine, text

from execution_engine.engines.protocol import MeasurementRequest, Part, ScanReport, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.sql.engine import SqlEngine
from execution_engine.metrics.definition import NOTE
from execution_engine.metrics.definitions.schema import declared_text
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason

DAY = "2026-01-02"
DECLARED = {"order_id": "bigint", "amount": "double", "placed": "timestamp", "note": "string", "day": "date"}
GOOD = pa.table(
    {
        "order_id": pa.array([1, 2], pa.int64()),
        "amount": [1.5, 2.5],
        "placed": pa.array(pd.to_datetime(["2026-01-02 03:00", "2026-01-02 04:00"])),
        "note": pa.nulls(2),
    }
)


def shop(location: Path | str, storage: str = "parquet", **options: str) -> Table:
    return Table(
        name="shop.orders",
        storage=storage,
        location=str(location),
        options=options,
        partition_column="day",
        columns=DECLARED,
    )


def scan(
    engine: SparkEngine | SqlEngine, table: Table, declared: Mapping[str, str] = DECLARED, key: str | None = DAY
) -> ScanReport:
    spec = MetricSpec(name="schema_drift", options=(("declared", declared_text(declared.items())),))
    wanted = [
        MeasurementRequest(key="drift", spec=spec),
        MeasurementRequest(key="rows", spec=MetricSpec(name="row_count")),
    ]
    return engine.scan(table, Part(keys=(key,) if key else None), wanted)


def drift(
    engine: SparkEngine | SqlEngine, table: Table, declared: Mapping[str, str] = DECLARED, key: str | None = DAY
) -> tuple[float | None, str]:
    measured = scan(engine, table, declared, key).measured["drift"]
    assert measured.failure is None
    return measured.value, str(measured.detail.get(NOTE, ""))  # type: ignore[return-value]


def write(folder: Path, table: pa.Table, name: str = "part-0.parquet") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, folder / name)


def test_files_as_declared_have_no_drift_and_cost_no_job(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / f"day={DAY}", GOOD.append_column("extra", pa.array([1, 2])))
    report = scan(spark_engine, shop(tmp_path))
    assert (report.measured["drift"].value, report.measured["drift"].detail) == (0.0, {})
    assert (report.measured["rows"].value, report.spark_jobs) == (2.0, 0)


def test_a_dropped_column_is_named_with_its_file(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / f"day={DAY}", GOOD.drop_columns(["amount"]))
    said = f"column amount, declared double, is gone in day={DAY}/part-0.parquet"
    assert drift(spark_engine, shop(tmp_path)) == (1.0, said)


def test_one_file_of_many_that_is_otherwise_is_found(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / f"day={DAY}", GOOD.set_column(1, "amount", pa.array(["1.5", "2.5"])), "part-0.parquet")
    write(tmp_path / f"day={DAY}", GOOD, "part-1.parquet")  # the newest, by which the part is opened
    said = f"column amount, declared double, is string in day={DAY}/part-0.parquet"
    assert drift(spark_engine, shop(tmp_path)) == (1.0, said)


def test_a_wider_type_holds_and_a_narrower_does_not(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / f"day={DAY}", GOOD)
    table = shop(tmp_path)
    assert drift(spark_engine, table, {"order_id": "int", "amount": "float"}) == (0.0, "")
    write(tmp_path / f"day={DAY}", GOOD.cast(pa.schema([*_with(GOOD.schema, "order_id", pa.int32())])))
    said = f"column order_id, declared bigint, is int in day={DAY}/part-0.parquet"
    assert drift(spark_engine, table) == (1.0, said)


def _with(schema: pa.Schema, name: str, type_: pa.DataType) -> list[pa.Field]:
    return [field.with_type(type_) if field.name == name else field for field in schema]


def test_a_type_that_spark_cannot_read_is_another_type_and_not_gone(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / f"day={DAY}", GOOD.set_column(1, "amount", pa.array([1, 2], pa.time64("us"))))
    value, said = drift(spark_engine, shop(tmp_path))
    assert (value, "is time64[us] in" in said) == (1.0, True)


def test_a_partition_that_is_not_there_has_no_columns(spark_engine: SparkEngine, tmp_path: Path) -> None:
    write(tmp_path / f"day={DAY}", GOOD)
    failure = scan(spark_engine, shop(tmp_path), key="2026-01-03").measured["drift"].failure
    assert failure is not None
    assert failure.reason is Reason.NO_DATA


def test_where_the_partition_is_a_column_the_newest_file_is_held_to_what_is_declared(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    days = pa.array([DAY, DAY])
    write(tmp_path, GOOD.drop_columns(["amount"]).append_column("day", days), "a.parquet")
    write(tmp_path, GOOD.append_column("day", days), "b.parquet")
    assert drift(spark_engine, shop(tmp_path), {**DECLARED, "day": "string"}) == (0.0, "")


def test_orc_tells_its_types(spark_engine: SparkEngine, tmp_path: Path) -> None:
    folder = tmp_path / f"day={DAY}"
    folder.mkdir()
    orc.write_table(GOOD.drop_columns(["note"]), folder / "part-0.orc")
    value, said = drift(spark_engine, shop(tmp_path, "orc"), {**DECLARED, "amount": "string"})
    assert value == 2.0
    assert f"column amount, declared string, is double in day={DAY}/part-0.orc" in said
    assert "column note, declared string, is gone" in said


def test_csv_tells_names_alone(spark_engine: SparkEngine, tmp_path: Path) -> None:
    folder = tmp_path / f"day={DAY}"
    folder.mkdir()
    (folder / "part-0.csv").write_text("order_id,amount,placed\n1,1.5,2026-01-02 03:00:00\n")
    said = f"column note, declared string, is gone in day={DAY}/part-0.csv"
    assert drift(spark_engine, shop(tmp_path, "csv")) == (1.0, said)


def test_a_json_column_is_there_where_any_file_has_it(spark_engine: SparkEngine, tmp_path: Path) -> None:
    folder = tmp_path / f"day={DAY}"
    folder.mkdir()
    row = {"order_id": 1, "amount": 1.5, "placed": "2026-01-02 03:00:00"}
    (folder / "part-0.json").write_text(json.dumps({**row, "note": "fine"}))
    (folder / "part-1.json").write_text(json.dumps(row))
    assert drift(spark_engine, shop(tmp_path, "json")) == (0.0, "")
    (folder / "part-0.json").write_text(json.dumps(row))
    value, said = drift(spark_engine, shop(tmp_path, "json"))
    assert (value, said.startswith("column note, declared string, is gone in")) == (1.0, True)


def test_a_table_of_sparks_catalog_tells_its_columns_without_a_job(spark_engine: SparkEngine, tmp_path: Path) -> None:
    spark_engine.session.sql(
        f"create table drifting_orders (order_id int, amount double, day string) using parquet location '{tmp_path}'"
    ).collect()
    try:
        table = shop("drifting_orders", "table")
        declared = {"order_id": "bigint", "amount": "double", "day": "string", "note": "string"}
        assert drift(spark_engine, table, declared) == (
            2.0,
            "column order_id, declared bigint, is int in table drifting_orders; "
            "column note, declared string, is gone in table drifting_orders",
        )
    finally:
        spark_engine.session.sql("drop table drifting_orders").collect()


@pytest.fixture
def sqlite_orders(tmp_path: Path) -> Table:
    url = f"sqlite:///{tmp_path / 'shop.db'}"
    with create_engine(url).begin() as connection:
        connection.execute(text("create table orders (order_id integer, amount real, day varchar(10), note text)"))
    return shop(url, "sql", table="orders")


def test_a_table_outside_the_lake_is_inspected(sqlite_orders: Table) -> None:
    engine = SqlEngine()
    try:
        declared = {"order_id": "bigint", "amount": "double", "day": "varchar(10)", "note": "text"}
        assert drift(engine, sqlite_orders, declared) == (0.0, "")
        said = "column note, declared bigint, is TEXT in table orders; column city, declared string, is gone"
        assert drift(engine, sqlite_orders, {"note": "bigint", "city": "string"}) == (2.0, f"{said} in table orders")
    finally:
        engine.close()
