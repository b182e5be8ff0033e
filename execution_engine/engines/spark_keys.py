"""Keys in Spark: samples, Bloom filters filled on the executors, and probes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from heapq import nsmallest
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql import DataFrame

from execution_engine.metrics import key_filter
from execution_engine.metrics.key_filter import KeyFilter, Shape, UnableToReadFilter, filled, merged, opened, shape_for
from execution_engine.metrics.keys import decode, encode
from execution_engine.metrics.sample import DEFAULT_SIZE, MAX_SIZE, Sample, UnableToReadSample
from execution_engine.outcome import Reason

from .conditions import check_columns
from .protocol import Measured, Wanted, failed
from .spark_jobs import action
from .spark_source import Source
from .spark_sql import is_in, key

NAMED_KEYS = 20  # lost keys that a measurement names
FILTERS_IN_FLIGHT_BYTES = 128 * 1024 * 1024  # of all partial filters on their way to the driver
MAX_TASKS = 8

Batches = Iterator[pa.RecordBatch]

# Executors need pybloom_live and pyarrow, but not this package.
cloudpickle.register_pickle_by_value(key_filter)


def take_sample(source: Source, item: Wanted) -> Measured:
    """A sample of the keys as state; the value is its size."""
    size = min(max(int(item.spec.option("n", DEFAULT_SIZE) or 0), 1), MAX_SIZE)
    ranked = _keys(source, item.spec.columns, item.spec.where).selectExpr("k", "xxhash64(k) as rank")
    rows = action(ranked.orderBy("rank", "k").limit(size).collect, rows=source.rows)
    sample = Sample(columns=item.spec.columns, keys=tuple(decode(row["k"]) for row in rows))
    return Measured(value=float(len(sample.keys)), state=sample.to_bytes())


def find_sample(source: Source, item: Wanted) -> Measured:
    """How many keys of the sample are among the rows; exact."""
    try:
        sample = Sample.from_bytes(item.inputs["sample"])
    except (KeyError, UnableToReadSample) as error:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} has no sample to look for: {error}")
    unknown = check_columns(sample.columns, tuple(source.columns), source.name)
    if unknown is not None:
        return Measured(failure=unknown)
    wanted = [encode(found) for found in sample.keys]
    rows = action(_keys(source, sample.columns, None).where(is_in("k", wanted)).collect, rows=source.rows)
    lost = sorted(set(wanted) - {row["k"] for row in rows})
    detail = {"size": len(wanted), "missing": len(lost), "lost": _named(lost, sample.columns)}
    return Measured(value=float(len(rows)), detail=detail)


def build_filter(source: Source, item: Wanted) -> Measured:
    """A Bloom filter of the distinct keys as state; the value is their number."""
    shape = shape_for(action(source.frame.count, rows=None) if source.rows is None else source.rows)
    if shape is None:
        return failed(
            Reason.QUERY_FAILED, f"{source.name} has too many keys for a filter of 64 MB; narrow it by where="
        )
    built = merged(shape, item.spec.columns, _partial_filters(source, item, shape) if source.rows != 0 else ())
    detail = {"capacity": shape.capacity, "error_rate": shape.error_rate, "columns": list(item.spec.columns)}
    return Measured(value=float(built.keys), state=built.to_bytes(), detail=detail)


def _partial_filters(source: Source, item: Wanted, shape: Shape) -> Iterator[bytes]:
    """Filters of one shape that together hold every distinct key."""
    tasks = max(1, min(MAX_TASKS, FILTERS_IN_FLIGHT_BYTES // shape.body_bytes))
    keys = _keys(source, item.spec.columns, item.spec.where).coalesce(tasks)
    bodies = keys.mapInArrow(_filler(shape), "body binary")
    return (bytes(row["body"]) for row in action(bodies.collect, rows=source.rows))


def probe_filter(source: Source, item: Wanted) -> Measured:
    """How many distinct keys are in the shipped filter; the detail counts and names those that are not."""
    try:
        shipped = KeyFilter.from_bytes(item.inputs["bloom_filter"])
    except (KeyError, UnableToReadFilter) as error:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} was refused its filter: {error}")
    if shipped.columns != item.spec.columns:
        return failed(Reason.QUERY_FAILED, f"{item.spec.text} was given a filter of {', '.join(shipped.columns)}")
    if source.rows == 0:
        return _probed([], shipped)
    keys = _keys(source, item.spec.columns, item.spec.where)
    found = keys.mapInArrow(_prober(shipped.body), "found bigint, missing bigint, lost array<string>")
    rows = action(found.collect, rows=source.rows)
    return _probed([row.asDict() for row in rows], shipped)


def _probed(rows: Sequence[Mapping[str, Any]], shipped: KeyFilter) -> Measured:
    missing = sum(row["missing"] for row in rows)
    rate = shipped.shape.error_rate
    lost = nsmallest(NAMED_KEYS, (text for row in rows for text in row["lost"]))
    detail = {
        "missing": missing,
        "lost": _named(lost, shipped.columns),
        "error_rate": rate,
        "hidden": round(missing * rate / (1 - rate)),  # missing keys that the filter takes for present, estimated
    }
    return Measured(value=float(sum(row["found"] for row in rows)), detail=detail)


def _keys(source: Source, columns: Sequence[str], where: str | None) -> DataFrame:
    rows = source.frame if where is None else source.frame.where(f"(\n{where}\n)")
    return rows.selectExpr(f"{key(columns)} as k").distinct()


def _named(keys: Sequence[str], columns: Sequence[str]) -> list[dict[str, str | None]]:
    return [dict(zip(columns, decode(text), strict=True)) for text in keys[:NAMED_KEYS]]


def _filler(shape: Shape) -> Callable[[Batches], Batches]:
    def fill(batches: Batches) -> Batches:
        keys = (text for batch in batches for text in batch.column(0).to_pylist())
        yield pa.RecordBatch.from_pydict({"body": [filled(shape, keys)]})

    return fill


def _prober(body: bytes) -> Callable[[Batches], Batches]:
    most = NAMED_KEYS

    def probe(batches: Batches) -> Batches:
        present = opened(body)
        found, missing = 0, 0
        lost: list[str] = []
        for batch in batches:
            absent = [text for text in batch.column(0).to_pylist() if text not in present]
            found += batch.num_rows - len(absent)
            missing += len(absent)
            lost = nsmallest(most, [*lost, *absent])
        schema = pa.schema([("found", pa.int64()), ("missing", pa.int64()), ("lost", pa.list_(pa.string()))])
        yield pa.RecordBatch.from_pydict({"found": [found], "missing": [missing], "lost": [lost]}, schema=schema)

    return probe
