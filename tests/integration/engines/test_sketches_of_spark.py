"""Sketches of columns are those that Spark makes, whether one task has read the rows or many, and Spark reads them."""

from pathlib import Path

import pyarrow as pa
import pytest
from datasketches import hll_sketch, hll_union, tgt_hll_type
from pyspark.sql import SparkSession

from execution_engine.engines.column_types import expressions
from execution_engine.engines.native.hashing import coupons_of
from execution_engine.engines.protocol import MeasurementRequest
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.measures.gather import aggregates, values
from execution_engine.metrics.definitions.uniqueness import distinct_of
from execution_engine.metrics.states.hll import LOG2_BUCKETS, state_of
from execution_engine.metrics.states.states import from_bytes, merged_hll
from execution_engine.metrics.states.statistics import Gather, Statistic
from tests.integration.engines.many_values import TYPES, column_of, table_of
from tests.integration.engines.trips import DAY, measure_one, metric, parquet, write

SIZES = [0, 5, 300, 6000]
VIEW = "sketched_values"


def sketch_of(array: pa.Array) -> bytes:
    return state_of(coupons_of(column_of(array), None, {})).to_bytes()


def by_spark(session: SparkSession, path: Path, tasks: int) -> dict[str, list[bytes]]:
    """What Spark wrote of each column, and what the engine keeps of it."""
    frame = session.read.parquet(str(path)).repartition(tasks)
    frame.createOrReplaceTempView(VIEW)
    write_sql = expressions(dict(frame.dtypes))
    statistics = [Statistic(gather=Gather.HLL, of=(write_sql.hashable(name),)) for name in TYPES]
    written = [sql for statistic in statistics for sql in aggregates(statistic)]
    (row,) = session.sql(f"select {', '.join(written)} from {VIEW}").collect()
    kept = values(statistics, row)
    return {name: [bytes(row[at]), kept[at]] for at, name in enumerate(TYPES)}


@pytest.mark.parametrize("rows", SIZES)
def test_a_column_of_each_type_has_the_sketch_of_spark(spark_engine: SparkEngine, tmp_path: Path, rows: int) -> None:
    table = table_of(rows, seed=rows)
    path = write(tmp_path, table)
    columns = {name: table[name].combine_chunks() for name in TYPES}
    ours = {name: sketch_of(column) for name, column in columns.items()}
    for tasks in (1, 5):
        theirs = by_spark(spark_engine.session, path, tasks)
        assert {name: kept for name, (_, kept) in theirs.items()} == ours
        assert {name: merged_hll([written, ours[name]]) for name, (written, _) in theirs.items()} == ours


@pytest.mark.parametrize("rows", SIZES)
def test_states_that_were_kept_before_merge_with_those_of_today(
    spark_engine: SparkEngine, tmp_path: Path, rows: int
) -> None:
    """A scan kept what Spark had written, and a merge what the union of the C++ library had."""
    table = table_of(rows, seed=rows)
    kept = by_spark(spark_engine.session, write(tmp_path / "old", table), 1)
    more = table_of(400, seed=rows + 1)
    for name in TYPES:
        union = hll_union(LOG2_BUCKETS)
        union.update(hll_sketch.deserialize(kept[name][0]))
        merge_of_old = union.get_result(tgt_hll_type.HLL_8).serialize_compact()
        today = sketch_of(more[name].combine_chunks())
        whole = sketch_of(pa.chunked_array([*table[name].chunks, *more[name].chunks]).combine_chunks())
        assert merged_hll([kept[name][0], today]) == merged_hll([merge_of_old, today]) == whole


@pytest.mark.parametrize("rows", SIZES)
def test_spark_reads_the_canonical_form(spark_engine: SparkEngine, rows: int) -> None:
    column = table_of(rows, seed=rows)["name"].combine_chunks()
    sketch = sketch_of(column)
    halves = [sketch_of(column[: rows // 2]), sketch_of(column[rows // 2 :])]
    read = ", ".join(f"X'{each.hex()}'" for each in halves)
    sql = f"select hll_sketch_estimate(X'{sketch.hex()}'), hll_sketch_estimate(hll_union({read}))"
    (found,) = spark_engine.session.sql(sql).collect()
    assert found[0] == round(hll_sketch.deserialize(sketch).get_estimate())
    assert found[1] == pytest.approx(found[0], rel=0.02)


@pytest.mark.parametrize("column", ["long", "name", "double", "day", "sum"])
def test_the_engine_keeps_the_sketch_of_the_rows_and_tells_its_estimate(
    spark_engine: SparkEngine, tmp_path: Path, column: str
) -> None:
    spec = metric("approx_count_distinct", column)
    table = table_of(3000, seed=3)
    write(tmp_path / f"datestr={DAY}", table)
    sketch = sketch_of(table[column].combine_chunks())
    wanted = MeasurementRequest(key="a", spec=spec, keep_state=True)
    measured = measure_one(spark_engine, parquet(tmp_path), wanted)
    assert measured.state is not None
    assert from_bytes(spec, measured.state).statistics == {"hll": sketch}
    assert measured.value == distinct_of(sketch)
