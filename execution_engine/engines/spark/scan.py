"""One scan in Spark: check each measurement, gather what all of them need at once, then compute them one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from execution_engine.engines.columns.spec_check import sifted
from execution_engine.engines.files.footers import is_full, told
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.gathering import (
    AskedStatistic,
    Keyed,
    Plan,
    PlannedGroups,
    measured_by,
    measured_of,
    needs,
    of_no_data,
    plan,
    planned_groups,
)
from execution_engine.engines.native.key_metrics import OF_KEYS, counted_by_filters
from execution_engine.engines.native.measure import Native, NativeGroups, ends_asked, values_asked
from execution_engine.engines.protocol import Measured, Wanted
from execution_engine.engines.spark.measures.frequencies import frequencies, listed, measure_by
from execution_engine.engines.spark.measures.gather import gather
from execution_engine.metrics.definition import LAKE, SHARED
from execution_engine.metrics.definitions.schema import SCHEMA_DRIFT, SCHEMA_MATCH
from execution_engine.metrics.definitions.uniqueness import HISTOGRAM
from execution_engine.metrics.registry import METRICS
from execution_engine.read_by import NO_VALUES, Kind, Left, ReadBy, read_by, together

from .failures import SPARK_ERRORS, failure_of
from .kernels import OFF, left_to_spark, taken_by_kernels, taken_natively
from .sources import SparkSource

OF_COLUMNS = frozenset({SCHEMA_MATCH.name, SCHEMA_DRIFT.name})  # which read no rows
COMPOUND = Left(kind=Kind.UNKNOWN, why="a compound metric has queries of its own")


@dataclass(frozen=True, kw_only=True)
class Taken:
    """The measurements of one scan, by key, and who read their values."""

    measured: Mapping[str, Measured]
    read_by: ReadBy


def measure(source: SparkSource, wanted: Sequence[Wanted], *, native: bool = True) -> Taken:
    """Every measurement wanted, by key; ``native``: by the kernels as far as they can."""
    sound, refused = sifted(wanted, source.columns, source.kinds, source.name)
    source.reading.native = native
    histograms = [item for item in sound if item.spec.name == HISTOGRAM.name]
    lone = [item for item in sound if not _is_shared(item) and item not in histograms]
    taken_alone = {item.key: _taken_alone(source, item) for item in lone}
    alone = {key: measured for key, (measured, _) in taken_alone.items()}
    counted = counted_by_filters(sound, alone, lambda name: is_full(source.footers, name))
    shared = [item for item in sound if _is_shared(item) and item.key not in counted]
    taken = measure_shared(source, shared, histograms, native=native)
    return Taken(
        measured={**refused, **alone, **counted, **taken.measured},
        read_by=together([taken.read_by, *(by for _, by in taken_alone.values())]),
    )


def measure_shared(
    source: SparkSource, wanted: Sequence[Wanted], histograms: Sequence[Wanted] = (), *, native: bool = True
) -> Taken:
    """The aggregates, sketches and groupings, of all rows and by columns; and histograms."""
    whole = [item for item in wanted if not item.spec.by]
    planned, grouped = plan(whole, source.write), list(planned_groups(wanted, source.write))
    groups = [*(each.asked for each in grouped), *values_asked(histograms, source.write)]
    ends = ends_asked(histograms, source.write)
    every = list(dict.fromkeys([*planned.asked, *ends]))
    if native:
        found = taken_natively(source, every, planned.keyed, groups, needed=ends)
    else:
        found = left_to_spark(every, planned.keyed, groups, OFF)
    asked = [one for one in planned.asked if one not in found.told]
    keyed = [each for each in planned.keyed if each not in found.counted]
    lists = listed(source, keyed)
    gathered = {**found.told, **gather(source, [*asked, *(one for pair in lists.values() for one in pair)])}
    counted = {**found.counted, **frequencies(source, keyed, gathered)}
    measured = {item.key: measured_of(item, planned, gathered, counted) for item in whole}
    others = [
        _measured_by(source, grouped, found.groups[: len(grouped)]),
        _histograms(source, histograms, found, found.groups[len(grouped) :]),
    ]
    return Taken(
        measured={**measured, **{key: each for taken in others for key, each in taken.measured.items()}},
        read_by=together([shared_read_by(source, planned, found), *(taken.read_by for taken in others)]),
    )


def _measured_by(source: SparkSource, grouped: Sequence[PlannedGroups], native: Sequence[NativeGroups]) -> Taken:
    """By what the kernels found, and else by Spark; each measurement is one value."""
    measured: dict[str, Measured] = {}
    left: list[tuple[Wanted, Left]] = []
    for each, found in zip(grouped, native, strict=True):
        for item in each.items:
            if why := next((found.left[one] for one in needs(item, each.planned) if one in found.left), None):
                left.append((item, why))
            else:
                measured[item.key] = measured_by(item, each.planned, found.found)
    by = read_by(kernels=len(measured), left=[why for _, why in left])
    if source.rows == 0:
        by = read_by(footers=len(left))  # which know all of no rows
    return Taken(measured={**measured, **measure_by(source, [item for item, _ in left])}, read_by=by)


def _histograms(source: SparkSource, wanted: Sequence[Wanted], native: Native, groups: Sequence[NativeGroups]) -> Taken:
    """By the kernels, and else by Spark, each with queries of its own; each is one value."""
    measured, left = taken_by_kernels(source, wanted, native, groups)
    by = read_by(kernels=len(measured), left=left.values())
    if source.rows == 0:
        by = read_by(footers=len(wanted))
    alone = {item.key: _measure_alone(source, item) for item in wanted if item.key in left}
    return Taken(measured={**measured, **alone}, read_by=by)


def shared_read_by(source: SparkSource, planned: Plan, native: Native) -> ReadBy:
    """Who read what was planned, given what the kernels found: footers know all of no rows."""
    of_footers = told(source.footers, planned.asked)
    every: set[AskedStatistic | Keyed] = {*planned.asked, *planned.keyed}
    by_kernels = sum(one in native.told or one in native.counted for one in every)
    by_footers: set[AskedStatistic | Keyed] = {one for one in of_footers if one not in native.told}
    if source.rows == 0:
        by_footers |= {*planned.keyed}
    left = [why for one, why in native.left.items() if one in every and one not in by_footers]
    return read_by(footers=len(by_footers), kernels=by_kernels, left=left)


def _taken_alone(source: SparkSource, item: Wanted) -> tuple[Measured, ReadBy]:
    """A metric that has queries of its own: one value, and who read it."""
    source.reading.begin()
    measured, reading = _measure_alone(source, item), source.reading
    if LAKE not in METRICS[item.spec.name].taken_by:
        return measured, NO_VALUES
    if item.spec.name in OF_COLUMNS or (item.spec.name in OF_KEYS and source.rows == 0):
        return measured, read_by(footers=1)
    if reading.kernels and reading.left is None:
        return measured, read_by(kernels=1)
    if item.spec.name in OF_KEYS and reading.left is None:
        return measured, NO_VALUES  # other states told it, or it could not be measured at all
    return measured, read_by(left=[reading.left or COMPOUND])


def _is_shared(item: Wanted) -> bool:
    return METRICS[item.spec.name].kind in SHARED


def _measure_alone(source: SparkSource, item: Wanted) -> Measured:
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
