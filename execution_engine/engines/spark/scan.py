"""One scan in Spark: check each measurement, gather what all of them need at once, then compute them one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from execution_engine.engines.files.footers import footer_values, is_full
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.gathering import (
    Keyed,
    Plan,
    PlannedGroups,
    StatisticRequest,
    measured_by,
    measured_of,
    needs,
    of_no_data,
    plan,
    planned_groups,
)
from execution_engine.engines.native.key_metrics import OF_KEYS, counted_by_filters
from execution_engine.engines.native.measure import Native, NativeGroups, ends_asked, values_asked
from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.engines.spark.measures.frequencies import frequencies, listed, measure_by
from execution_engine.engines.spark.measures.gather import gather
from execution_engine.engines.spec_check import sifted
from execution_engine.metrics.definition import LAKE, SHARED
from execution_engine.metrics.definitions.schema import SCHEMA_DRIFT, SCHEMA_MATCH
from execution_engine.metrics.definitions.uniqueness import HISTOGRAM
from execution_engine.metrics.registry import METRICS
from execution_engine.read_by import NO_VALUES, FallbackKind, Left, ReadBy, read_by, together

from .failures import SPARK_ERRORS, failure_of
from .kernels import OFF, left_to_spark, taken_by_kernels, taken_natively
from .sources import SparkSource

OF_COLUMNS = frozenset({SCHEMA_MATCH.name, SCHEMA_DRIFT.name})  # which read no rows
COMPOUND = Left(kind=FallbackKind.UNKNOWN, why="a compound metric has queries of its own")


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The measurements of one scan, by key, and who read their values."""

    measured: Mapping[str, Measured]
    read_by: ReadBy


def measure(source: SparkSource, requests: Sequence[MeasurementRequest], *, native: bool = True) -> Taken:
    """Every measurement wanted, by key; ``native``: by the kernels as far as they can."""
    sound, refused = sifted(requests, source.columns, source.kinds, source.name)
    source.reading.native = native
    histograms = [item for item in sound if item.spec.name == HISTOGRAM.name]
    lone = [item for item in sound if not _is_shared(item) and item not in histograms]
    alone: dict[str, Measured] = {}
    alone_read_by: list[ReadBy] = []
    for item in lone:  # each has queries of its own: one value, and who read it
        source.reading.begin()
        alone[item.key], reading = _measure_alone(source, item), source.reading
        if LAKE not in METRICS[item.spec.name].taken_by:
            alone_read_by.append(NO_VALUES)
        elif item.spec.name in OF_COLUMNS or (item.spec.name in OF_KEYS and source.rows == 0):
            alone_read_by.append(read_by(footers=1))
        elif reading.kernels and reading.left is None:
            alone_read_by.append(read_by(kernels=1))
        elif item.spec.name in OF_KEYS and reading.left is None:
            alone_read_by.append(NO_VALUES)  # other states told it, or it could not be measured at all
        else:
            alone_read_by.append(read_by(left=[reading.left or COMPOUND]))
    counted = counted_by_filters(sound, alone, lambda name: is_full(source.footers, name))
    shared = [item for item in sound if _is_shared(item) and item.key not in counted]
    taken = measure_shared(source, shared, histograms, native=native)
    return Taken(
        measured={**refused, **alone, **counted, **taken.measured},
        read_by=together([taken.read_by, *alone_read_by]),
    )


def measure_shared(
    source: SparkSource,
    requests: Sequence[MeasurementRequest],
    histograms: Sequence[MeasurementRequest] = (),
    *,
    native: bool = True,
) -> Taken:
    """The aggregates, sketches and groupings, of all rows and by columns; and histograms."""
    whole = [item for item in requests if not item.spec.by]
    planned, grouped = plan(whole, source.write), list(planned_groups(requests, source.write))
    groups = [*(group.request for group in grouped), *values_asked(histograms, source.write)]
    ends = ends_asked(histograms, source.write)
    every = list(dict.fromkeys([*planned.statistic_requests, *ends]))
    if native:
        results = taken_natively(source, every, planned.keyed, groups, needed=ends)
    else:
        results = left_to_spark(every, planned.keyed, groups, OFF)
    remaining_requests = [request for request in planned.statistic_requests if request not in results.statistics]
    keyed = [grouping for grouping in planned.keyed if grouping not in results.counted]
    lists = listed(source, keyed)
    gathered = {
        **results.statistics,
        **gather(source, [*remaining_requests, *(request for pair in lists.values() for request in pair)]),
    }
    counted = {**results.counted, **frequencies(source, keyed, gathered)}
    measured = {item.key: measured_of(item, planned, gathered, counted) for item in whole}
    by_columns = _measured_by(source, grouped, results.groups[: len(grouped)])
    # histograms by the kernels, and else by Spark, each with queries of its own; each is one value
    by_kernels, left = taken_by_kernels(source, histograms, results, results.groups[len(grouped) :])
    by_spark = {item.key: _measure_alone(source, item) for item in histograms if item.key in left}
    histograms_read_by = read_by(kernels=len(by_kernels), left=left.values())
    if source.rows == 0:
        histograms_read_by = read_by(footers=len(histograms))
    return Taken(
        measured={**measured, **by_columns.measured, **by_kernels, **by_spark},
        read_by=together([shared_read_by(source, planned, results), by_columns.read_by, histograms_read_by]),
    )


def _measured_by(source: SparkSource, grouped: Sequence[PlannedGroups], native: Sequence[NativeGroups]) -> Taken:
    """By what the kernels found, and else by Spark; each measurement is one value."""
    measured: dict[str, Measured] = {}
    left: list[tuple[MeasurementRequest, Left]] = []
    for group, native_group in zip(grouped, native, strict=True):
        for item in group.items:
            if why := next(
                (native_group.left[request] for request in needs(item, group.planned) if request in native_group.left),
                None,
            ):
                left.append((item, why))
            else:
                measured[item.key] = measured_by(item, group.planned, native_group.results)
    by = read_by(kernels=len(measured), left=[why for _, why in left])
    if source.rows == 0:
        by = read_by(footers=len(left))  # which know all of no rows
    return Taken(measured={**measured, **measure_by(source, [item for item, _ in left])}, read_by=by)


def shared_read_by(source: SparkSource, planned: Plan, native: Native) -> ReadBy:
    """Who read what was planned, given what the kernels found: footers know all of no rows."""
    of_footers = footer_values(source.footers, planned.statistic_requests)
    every: set[StatisticRequest | Keyed] = {*planned.statistic_requests, *planned.keyed}
    by_kernels = sum(request in native.statistics or request in native.counted for request in every)
    by_footers: set[StatisticRequest | Keyed] = {request for request in of_footers if request not in native.statistics}
    if source.rows == 0:
        by_footers |= {*planned.keyed}
    left = [why for request, why in native.left.items() if request in every and request not in by_footers]
    return read_by(footers=len(by_footers), kernels=by_kernels, left=left)


def _is_shared(item: MeasurementRequest) -> bool:
    return METRICS[item.spec.name].kind in SHARED


def _measure_alone(source: SparkSource, item: MeasurementRequest) -> Measured:
    definition = METRICS[item.spec.name]
    if LAKE not in definition.taken_by:
        return of_no_data(item)
    try:
        measured: Measured = definition.function_for(LAKE)(source, item)
        return measured
    except UnableToListFiles as error:
        return Measured(failure=error.failure)
    except SPARK_ERRORS as error:
        return Measured(failure=failure_of(error, f"{item.spec.text:.200} of {source.name}"))
