"""Tables of Iceberg and Delta give what a plain folder of the same rows gives, read by kernels and by Spark alike."""

from collections.abc import Callable
from dataclasses import replace
from math import nan
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from execution_engine.engines.files.listing import list_part
from execution_engine.engines.native.profiles import batches_of
from execution_engine.engines.protocol import WHOLE, MeasurementRequest, Part, Table
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.scan import measure
from execution_engine.engines.spark.sources import open_source
from tests.integration.engines import lakes
from tests.integration.engines.trips import metric

pytestmark = pytest.mark.usefixtures("kernels_always_pay")

METRICS = (
    metric("row_count"),
    *(metric(name, "fare") for name in ("mean", "sum", "stddev", "min", "max", "completeness", "distinct_count")),
    *(metric(name, "number") for name in ("mean", "min", "max", "completeness", "uniqueness", "histogram")),
    *(metric(name, "price") for name in ("sum", "min", "max", "completeness")),
    *(metric(name, "tip") for name in ("sum", "min", "max", "completeness")),
    metric("approx_quantile", "tip", arguments=(0.5,)),
    *(metric(name, "ratio") for name in ("completeness", "count_distinct")),
    *(metric(name, "person") for name in ("completeness", "count_distinct", "entropy", "max_length")),
    *(metric(name, column) for name in ("completeness", "count_distinct") for column in ("day", "at", "seen", "ok")),
    metric("correlation", "fare", "number"),
    metric("row_count", where="day = date'2026-01-02' and tip > 3"),
    metric("row_count", where="length(concat(person, cast(number as string))) > 3"),  # Spark's alone
    replace(metric("sum", "fare"), by=("person",)),
)
LAKES: dict[str, Callable[[Path], Table]] = {
    "iceberg": lakes.write_iceberg,
    "delta": lakes.write_delta,
    "delta-mapped": lambda folder: lakes.write_delta(folder, mapped=True),
    "delta-checkpoint": lambda folder: lakes.write_delta(folder, checkpoint=True),
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Table]:
    folder = tmp_path_factory.mktemp("lakes")
    return {name: write(folder / name) for name, write in {"plain": lakes.write_plain, **LAKES}.items()}


def values(engine: SparkEngine, table: Table, part: Part = WHOLE) -> dict[str, object]:
    requests = [MeasurementRequest(key=spec.text, spec=spec) for spec in METRICS]
    measured = engine.scan(table, part, requests).measured
    assert {key: result.failure for key, result in measured.items() if result.failure} == {}
    return {key: nan if result.value is None else result.value for key, result in measured.items()}


@pytest.mark.parametrize("native", [True, False], ids=["kernels", "spark"])
@pytest.mark.parametrize("lake", LAKES)
def test_a_table_of_a_log_measures_what_a_folder_of_its_rows_does(
    spark_engine: SparkEngine, tables: dict[str, Table], lake: str, native: bool
) -> None:
    engine = SparkEngine(replace(spark_engine._options, native=native))
    engine._session = spark_engine.session
    assert values(engine, tables[lake]) == pytest.approx(values(engine, tables["plain"]), rel=1e-9, nan_ok=True)


@pytest.mark.parametrize("lake", LAKES)
def test_a_profile_reads_the_rows_that_count(tables: dict[str, Table], lake: str) -> None:
    listing = list_part(tables[lake], WHOLE)
    rows = [row for batch in batches_of(tables[lake], listing) for row in batch.to_pylist()]
    plain = lakes.living_rows().to_pylist()
    assert sorted(map(repr, (sorted(row.items()) for row in rows))) == sorted(
        map(repr, (sorted(row.items()) for row in plain))
    )


@pytest.mark.parametrize("lake", ["iceberg", "delta", "delta-mapped"])
def test_a_partition_has_the_rows_of_its_key_also_in_files_from_before_it_was_one(
    spark_engine: SparkEngine, tables: dict[str, Table], lake: str
) -> None:
    for key in (lakes.DAYS[1], "2026-02-01"):
        expected, results = (values(spark_engine, tables[name], Part(keys=(key,))) for name in ("plain", lake))
        assert results == pytest.approx(expected, rel=1e-9, nan_ok=True)


def test_a_commit_while_a_table_is_read_changes_no_value(spark_engine: SparkEngine, tmp_path: Path) -> None:
    table = Table(name="t", storage="delta", location=str(tmp_path / "delta"))
    write_deltalake(table.location, pa.table({"id": [1, 2, 3]}))
    source = open_source(spark_engine.session, table, WHOLE)
    write_deltalake(table.location, pa.table({"id": [40]}), mode="overwrite")
    specs = (metric("row_count"), metric("sum", "id"), metric("row_count", where="hash(id) is not null"))
    measured = measure(source, [MeasurementRequest(key=spec.text, spec=spec) for spec in specs]).measured
    assert [measured[spec.text].value for spec in specs] == [3, 6, 3]
    assert source.fingerprint != spark_engine.fingerprint(table, WHOLE)
