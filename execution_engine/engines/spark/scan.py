"""One scan in Spark: check each measurement, gather what all of them need at once, then compute them one by one."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from execution_engine.engines.columns.spec_check import sifted
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.gathering.assembly import measure_derived, measured_of, plan
from execution_engine.engines.protocol import WHOLE, Measured, Table, Wanted
from execution_engine.engines.spark.keys.engine import build_filter, find_sample, probe_filter, take_digest, take_sample
from execution_engine.engines.spark.measures.accuracy import compare_records
from execution_engine.engines.spark.measures.frequencies import frequencies, is_full, listed
from execution_engine.engines.spark.measures.gather import gather
from execution_engine.engines.spark.measures.groups import measure_by
from execution_engine.engines.spark.measures.histogram import take_histogram
from execution_engine.engines.spark.measures.integrity import OpenTable, find_references
from execution_engine.engines.spark.measures.predictability import predict
from execution_engine.engines.spark.measures.query import measure_query
from execution_engine.engines.spark.sources.schema_metrics import find_drift, match_schema
from execution_engine.engines.spark.sources.source import SparkSource, open_source
from execution_engine.metrics.definition import SHARED, Kind
from execution_engine.metrics.registry import METRICS

from .failures import SPARK_ERRORS, failure_of

COMPOUND: Mapping[str, Callable[[SparkSource, Wanted], Measured]] = {
    "sample": take_sample,
    "sample_found": find_sample,
    "key_digest": take_digest,
    "bloom_filter": build_filter,
    "keys_found": probe_filter,
    "schema_match": match_schema,
    "schema_drift": find_drift,
    "histogram": take_histogram,
    "predictability": predict,
}
ACROSS: Mapping[str, Callable[[SparkSource, Wanted, OpenTable], Measured]] = {
    "referential_integrity": find_references,
    "accuracy": compare_records,
}


def measure(session: SparkSession, source: SparkSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """Every measurement wanted, by key."""
    sound, refused = sifted(wanted, source.columns, source.kinds, source.name)
    alone = {item.key: _measure_alone(session, source, item) for item in sound if not _is_shared(item)}
    counted = _counted_by_filters(source, sound, alone)
    shared = [item for item in sound if _is_shared(item) and item.key not in counted]
    return refused | alone | counted | measure_shared(source, shared)


def measure_shared(source: SparkSource, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """The aggregates, sketches and groupings, by key."""
    grouped = [item for item in wanted if item.spec.by]
    whole = [item for item in wanted if not item.spec.by]
    planned = plan(whole, source.write)
    lists = listed(source, planned.keyed)
    gathered = gather(source, [*planned.asked, *(one for pair in lists.values() for one in pair)])
    counted = frequencies(source, planned.keyed, gathered)
    return {item.key: measured_of(item, planned, gathered, counted) for item in whole} | measure_by(source, grouped)


def _is_shared(item: Wanted) -> bool:
    return METRICS[item.spec.name].kind in SHARED


def _counted_by_filters(
    source: SparkSource, wanted: Sequence[Wanted], measured: Mapping[str, Measured]
) -> dict[str, Measured]:
    """The distinct counts of keys that a digest was taken or a filter built of: that has counted them."""
    filters = {
        _rows_of(item): found.value
        for item in wanted
        if item.spec.name in ("key_digest", "bloom_filter")
        and (found := measured[item.key]).detail.get("counted", True)  # rather than estimated
    }
    return {
        item.key: Measured(value=value)
        for item in wanted
        if _counts_keys(source, item) and (value := filters.get(_rows_of(item))) is not None
    }


def _counts_keys(source: SparkSource, item: Wanted) -> bool:
    """Whether it counts what a digest does, where a null is a value: with no null both counts are one."""
    if item.spec.name == "count_distinct":
        return all(is_full(source, name) for name in item.spec.columns)
    return item.spec.name == "distinct_count"


def _rows_of(item: Wanted) -> tuple[tuple[str, ...], str | None, tuple[str, ...]]:
    return item.spec.columns, item.spec.where, item.spec.by


def _measure_alone(session: SparkSession, source: SparkSource, item: Wanted) -> Measured:
    if METRICS[item.spec.name].kind in (Kind.DERIVED, Kind.LAYOUT):
        return measure_derived(item)

    def open_table(table: Table) -> DataFrame:
        return open_source(session, table, WHOLE).frame

    try:
        if item.spec.name == "query":
            return measure_query(session, item, open_table)
        if item.spec.name in ACROSS:
            return ACROSS[item.spec.name](source, item, lambda table: open_source(session, table, WHOLE))
        return COMPOUND[item.spec.name](source, item)
    except UnableToListFiles as error:
        return Measured(failure=error.failure)
    except SPARK_ERRORS as error:
        return Measured(failure=failure_of(error, f"{item.spec.text:.200} of {source.name}"))
