"""One scan in Spark: check each measurement, take all aggregates together, then the rest one by one."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession

from execution_engine.metrics.definition import Kind
from execution_engine.metrics.registry import METRICS

from .checks import check_spec
from .derived import measure_derived
from .files import UnableToListFiles
from .protocol import WHOLE, Measured, Table, Wanted
from .spark_aggregates import measure_aggregates
from .spark_failures import SPARK_ERRORS, failure_of
from .spark_keys import build_filter, find_sample, probe_filter, take_sample
from .spark_query import measure_query
from .spark_source import Source, open_source

COMPOUND: Mapping[str, Callable[[Source, Wanted], Measured]] = {
    "sample": take_sample,
    "sample_found": find_sample,
    "bloom_filter": build_filter,
    "keys_found": probe_filter,
}


def measure(session: SparkSession, source: Source, wanted: Sequence[Wanted]) -> dict[str, Measured]:
    """Every measurement wanted, by key."""
    wrong = {item.key: check_spec(item.spec, source.numeric, source.name, engine="spark") for item in wanted}
    refused = {key: Measured(failure=failure) for key, failure in wrong.items() if failure is not None}
    sound = [item for item in wanted if item.key not in refused]
    told = {item.key: Measured(value=float(rows)) for item in sound if (rows := _told(source, item)) is not None}
    left = [item for item in sound if item.key not in told]
    shared = [item for item in left if METRICS[item.spec.name].kind in (Kind.AGGREGATE, Kind.GROUPING)]
    alone = {item.key: _measure_alone(session, source, item) for item in left if item not in shared}
    counted = _counted_by_filters(left, alone)
    rest = [item for item in shared if item.key not in counted]
    return refused | told | measure_aggregates(source, rest) | counted | alone


def _told(source: Source, item: Wanted) -> int | None:
    """What the footers tell without a job: how many rows there are and, where there are none, no keys either."""
    counts = item.spec.name == "row_count" and item.spec.where is None
    return source.rows if counts or (source.rows == 0 and item.spec.name == "distinct_count") else None


def _counted_by_filters(wanted: Sequence[Wanted], measured: Mapping[str, Measured]) -> dict[str, Measured]:
    """The distinct counts of keys that a filter was built of: building it has counted them."""
    filters = {_rows_of(item): measured[item.key].value for item in wanted if item.spec.name == "bloom_filter"}
    return {
        item.key: Measured(value=value)
        for item in wanted
        if item.spec.name == "distinct_count" and (value := filters.get(_rows_of(item))) is not None
    }


def _rows_of(item: Wanted) -> tuple[tuple[str, ...], str | None]:
    return item.spec.columns, item.spec.where


def _measure_alone(session: SparkSession, source: Source, item: Wanted) -> Measured:
    if METRICS[item.spec.name].kind is Kind.DERIVED:
        return measure_derived(item)

    def open_table(table: Table) -> DataFrame:
        return open_source(session, table, WHOLE).frame

    try:
        if item.spec.name == "query":
            return measure_query(session, item, open_table)
        return COMPOUND[item.spec.name](source, item)
    except UnableToListFiles as error:
        return Measured(failure=error.failure)
    except SPARK_ERRORS as error:
        return Measured(failure=failure_of(error, f"{item.spec.text:.200} of {source.name}"))
