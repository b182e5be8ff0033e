"""``query("select …")``: one number from one SELECT over the tables the caller names, and over no others."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

from execution_engine.engines.column_types import with_fields
from execution_engine.engines.gathering import condition_of, measured_number
from execution_engine.engines.protocol import Measured, MeasurementRequest, failed
from execution_engine.engines.spark.failures import action
from execution_engine.engines.spark.frame_types import types_in
from execution_engine.engines.spark.keys.key_sql import rows_of
from execution_engine.engines.spark.keys.sql_functions import filters_in
from execution_engine.engines.spark.sources import SparkSource, open_beside
from execution_engine.guard import UnableToAllow, read_query
from execution_engine.metrics.definitions.predictability import Example, UnableToLearn, measure
from execution_engine.metrics.expressions import path_of, written
from execution_engine.metrics.keys.envelope import UnableToReadKeys
from execution_engine.outcome import Reason

from .frequencies import any_null


def measure_query(source: SparkSource, item: MeasurementRequest) -> Measured:
    """The number in the one row of the query; NULL where it gives no row."""
    what = f"{item.spec.text:.200}"
    text = str(item.spec.arguments[0])
    columns: set[str] = set()  # and the fields of structs
    for table in item.tables.values():
        is_told = table.columns or "`" not in text  # else the text quotes columns of which the catalog tells none
        types = table.columns if is_told else types_in(open_beside(source, table).frame)
        columns.update(name for column in with_fields(types) for name in path_of(column))
        columns.update([table.partition_column] if table.partition_column else [])
    try:
        query = read_query(text, item.tables, columns)
    except UnableToAllow as error:
        return failed(Reason.INVALID, f"{what}: {error}")
    try:
        with ExitStack() as stack:
            views: dict[str, str] = {}  # under names that no other scan of the shared session has
            for name in query.names:
                table_frame, view = open_beside(source, item.tables[name]).frame, f"assay_{uuid4().hex}"
                table_frame.createTempView(view)
                stack.callback(table_frame.sparkSession.catalog.dropTempView, view)
                views[name] = view
            sql = stack.enter_context(filters_in(source.session, query.over(views), item.state_key))
            frame = source.session.sql(sql)
            if len(frame.columns) != 1:
                return failed(Reason.QUERY_FAILED, f"{what} gives {len(frame.columns)} columns; select one")
            rows = frame.limit(2).collect()
    except UnableToReadKeys as error:
        return failed(Reason.INVALID, f"{what}: {error}")
    if len(rows) > 1:
        return failed(Reason.QUERY_FAILED, f"{what} gives more than one row; aggregate it to one")
    return measured_number(rows[0][0] if rows else None, what)


# Predictability in Spark: rows as a class and words, alike ones counted once; the model is small and the driver's.

MOST_ROWS = 100_000  # to learn from and to score
HELD_OUT = 5  # one of so many
BUCKETS = 1_000_000


def predict(source: SparkSource, item: MeasurementRequest) -> Measured:
    """The score of the model on the rows held out; NULL where there is nothing to learn from or to score."""
    if source.rows == 0:
        return Measured()
    learned, held_out = examples(source, item)
    if not learned or not held_out:
        return Measured()
    try:
        value, detail = measure(learned, held_out, item.spec)
    except UnableToLearn as error:
        return failed(Reason.INVALID, f"{item.spec.text} of {source.name}: {error}")
    return Measured(value=value, detail=detail)


def examples(source: SparkSource, item: MeasurementRequest) -> tuple[list[Example], list[Example]]:
    """Those to learn from and those held out; of a large part a sample, by the hash of the row."""
    target, *_ = item.spec.columns
    where = condition_of(item.spec, source.write)
    observed = rows_of(source, where).where(f"not ({any_null(source, (target,))})")
    rows = source.rows if source.rows is not None else action(observed.count, rows=None)
    bucket_limit = BUCKETS if rows <= MOST_ROWS else max(1, BUCKETS * MOST_ROWS // rows)
    words = []  # each behind the number of its column, so that equal words of two stay apart
    for at, name in enumerate(item.spec.columns[1:]):
        text = f"lower(cast({source.write.column(name)} as string))"
        pattern = "'\\\\s+'" if source.write.type_of(name) == "string" else "'$^'"  # only texts have words
        parts = f"filter(split({text}, {pattern}), word -> word != '')"
        words.append(f"coalesce(transform({parts}, word -> concat('{at}=', word)), array())")
    top = [written(name) for name in source.frame.columns]
    bucket = f"pmod({source.write.hash_of(top)}, {BUCKETS * HELD_OUT})"
    frame = observed.selectExpr(
        f"cast({source.write.column(target)} as string) as target",
        f"concat({', '.join(words)}) as words",
        f"{bucket} as bucket",
    ).where(f"bucket div {HELD_OUT} < {bucket_limit}")
    counted = frame.selectExpr("target", "words", f"bucket % {HELD_OUT} = 0 as held").groupBy("target", "words", "held")
    results = action(counted.count().collect, rows=source.rows)
    return _examples(results, held=False), _examples(results, held=True)


def _examples(rows: Sequence[Any], *, held: bool) -> list[Example]:
    part_rows = [row for row in rows if row["held"] is held]
    examples_ = [Example(target=row["target"], words=tuple(row["words"]), rows=row["count"]) for row in part_rows]
    return sorted(examples_, key=lambda example: (example.target, example.words))
