"""Several windows or small tables in one Spark job: files of one schema, grouped by their paths, merged by unit.

A job of its own for each of a thousand small tables would cost a thousand times what starting a job costs.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any, Protocol
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from execution_engine.engines.columns.spec_check import check_spec
from execution_engine.engines.files.footers import NANOSECONDS
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.gathering import AskedStatistic, Keyed, Plan, measured_of, plan
from execution_engine.engines.native.measure import BESIDE
from execution_engine.engines.protocol import Measured, ScanReport, Unit
from execution_engine.engines.spark.measures.frequencies import Found, lists_of, of_lists
from execution_engine.engines.spark.measures.gather import aggregates, selected, values
from execution_engine.engines.spark.measures.native import Native, taken_together
from execution_engine.engines.spark.start.session import UnableToFindJava
from execution_engine.metrics.definition import SHARED
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.states import merge
from execution_engine.metrics.states.statistics import Statistic, Value, over_nothing
from execution_engine.read_by import ReadBy, read_by

from .failures import SPARK_ERRORS, action, counting_jobs
from .kernels import OFF
from .scan import Taken
from .sources import Files, SparkSource, open_source

FILE = "_metadata.file_path"
BATCHED_ROWS = 200_000  # of a part that shares its job with others
ROWS_AT_ONCE = 50 * BATCHED_ROWS  # whose keys may come along in one job
UNITS_AT_ONCE = 2_000


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A unit, its number among those asked for, and its source."""

    at: int
    unit: Unit
    source: SparkSource


class Session(Protocol):
    """What has a Spark session."""

    @property
    def session(self) -> SparkSession:
        """The session, started if need be."""
        ...


def scan_shared(engine: Session, units: Sequence[Unit], *, native: bool = True) -> dict[int, ScanReport]:
    """The reports, by the numbers of the units, of those that could share a job; the others are left to their own.

    ``native``: by the kernels, where these can tell all that is asked.
    """
    try:
        opened = list(_opened(engine.session, units)) if len(units) > 1 else []
    except (UnableToFindJava, *SPARK_ERRORS):
        return {}
    reports: dict[int, ScanReport] = {}
    for batch in batches(opened):
        reports |= _reports(engine.session, batch, native)
    return reports


def _opened(session: SparkSession, units: Sequence[Unit]) -> Iterator[Opened]:
    for at, unit in enumerate(units):
        with suppress(UnableToListFiles):
            if unit.table.storage == "parquet":
                yield Opened(at=at, unit=unit, source=open_source(session, unit.table, unit.part))


def _reports(session: SparkSession, batch: Sequence[Opened], native: bool) -> dict[int, ScanReport]:
    """Of one batch; none if its job fails, as each unit by itself then tells what is wrong with it."""
    started = monotonic()
    try:
        with counting_jobs(session, f"scan of {len(batch)} tables or windows") as count:
            taken = measure_together(session, batch, native=native)
    except SPARK_ERRORS:
        return {}
    seconds = (monotonic() - started) / len(batch)
    told = [one for one in batch if one.at in taken]
    return {
        one.at: ScanReport(
            measured=taken[one.at].measured,
            spark_jobs=count.jobs if one is told[0] else 0,
            seconds=seconds,
            fingerprint=one.source.fingerprint,
            read_by=taken[one.at].read_by,
        )
        for one in told
    }


def batches(opened: Sequence[Opened]) -> Iterator[list[Opened]]:
    """The units that may share a job: of one shape, small, and asked for the same; units alone are not given."""
    alike: dict[object, list[Opened]] = defaultdict(list)
    for one in opened:
        if _may_share(one):
            alike[_shape(one)].append(one)
    for some in alike.values():
        yield from (batch for batch in _cut(some) if len(batch) > 1)


def measure_together(session: SparkSession, batch: Sequence[Opened], *, native: bool = True) -> dict[int, Taken]:
    """What was taken of each unit, by its number: by the kernels, or all by Spark; Spark's error if the job fails."""
    first = batch[0].unit
    planned = plan(first.wanted, batch[0].source.write)
    every: list[AskedStatistic | Keyed] = [*planned.asked, *planned.keyed]
    off = Native(left=dict.fromkeys(every, OFF))
    sources = {one.at: one.source for one in batch}
    found = taken_together(session, sources, planned.asked, planned.keyed) if native else dict.fromkeys(sources, off)
    if whole := [one for one in batch if not found[one.at].left]:
        return {
            one.at: Taken(
                measured=_measured_of_unit(one.unit, first, planned, found[one.at].told, found[one.at].counted),
                read_by=ReadBy(kernels=len(every)),
            )
            for one in whole
        }
    return {
        at: Taken(
            measured=measured,
            read_by=read_by(left={**dict.fromkeys(every, BESIDE), **found[at].left}.values()),
        )
        for at, measured in measure_batch(session, batch, planned).items()
    }


def measure_batch(session: SparkSession, batch: Sequence[Opened], planned: Plan) -> dict[int, dict[str, Measured]]:
    """The measurements of each unit by Spark, by its number; Spark's error if the job as a whole fails."""
    first = batch[0]
    lists = {keyed: lists_of(first.source, keyed) for keyed in planned.keyed}
    asked = [*planned.asked, *(one for pair in lists.values() for one in pair)]
    found = _by_unit(_rows(session, batch, asked), batch, asked)
    measured: dict[int, dict[str, Measured]] = {}
    for one in batch:
        gathered = found[one.at]
        counted: dict[Keyed, Found] = {
            keyed: of_lists(*(gathered[each] for each in pair)) for keyed, pair in lists.items()
        }
        measured[one.at] = _measured_of_unit(one.unit, first.unit, planned, gathered, counted)
    return measured


def _measured_of_unit(
    unit: Unit,
    first: Unit,
    planned: Plan,
    gathered: Mapping[AskedStatistic, Value],
    counted: Mapping[Keyed, Found],
) -> dict[str, Measured]:
    """The measurements of a unit that is asked for the same as the first, of which the plan is."""
    return {
        own.key: measured_of(replace(twin, keep_state=own.keep_state), planned, gathered, counted)
        for own, twin in zip(unit.wanted, first.wanted, strict=True)
    }


def _rows(session: SparkSession, batch: Sequence[Opened], asked: Sequence[AskedStatistic]) -> list[Any]:
    """One row for each file, its path first."""
    written = [sql for one in asked for sql in aggregates(one.statistic, one.where)]
    files = [_files(one) for one in batch]
    frame = files[0].open(session, list(dict.fromkeys(url for some in files for url in some.urls)))
    return action(selected(frame, written, [FILE]).collect, rows=sum(one.source.rows or 0 for one in batch))


def _by_unit(
    rows: Sequence[Any], batch: Sequence[Opened], asked: Sequence[AskedStatistic]
) -> dict[int, dict[AskedStatistic, Value]]:
    units_of: Mapping[str, list[int]] = defaultdict(list)  # two datasets may be of one folder
    for one in batch:
        for url in _files(one).urls:
            units_of[_path(url)].append(one.at)
    statistics: list[Statistic] = [one.statistic for one in asked]
    parts: Mapping[int, list[list[Value]]] = defaultdict(list)
    for row in rows:
        for at in units_of[_path(row[0])]:
            parts[at].append(values(statistics, row[1:]))
    return {one.at: dict(zip(asked, _merged(statistics, parts[one.at]), strict=True)) for one in batch}


def _merged(statistics: Sequence[Statistic], parts: Sequence[Sequence[Value]]) -> list[Value]:
    if not parts:
        return [over_nothing(statistic) for statistic in statistics]
    return [merge(statistic, found) for statistic, found in zip(statistics, zip(*parts, strict=True), strict=True)]


def _may_share(one: Opened) -> bool:
    source = one.source
    if source.files is None or not source.small or source.rows is None or source.rows > BATCHED_ROWS:
        return False
    if any(type_ == NANOSECONDS for _, type_ in source.files.stored):
        return False
    if any(check_spec(item.spec, source.kinds, source.name, engine="spark") for item in one.unit.wanted):
        return False
    definitions = [(METRICS[item.spec.name], item.spec) for item in one.unit.wanted]
    return all(each.kind in SHARED and each.merges(spec) and not spec.by for each, spec in definitions)


def _shape(one: Opened) -> object:
    return _files(one).kind, tuple(item.spec for item in one.unit.wanted)


def _files(one: Opened) -> Files:
    assert one.source.files is not None
    return one.source.files


def _cut(some: Sequence[Opened]) -> Iterator[list[Opened]]:
    batch: list[Opened] = []
    rows = 0
    for one in some:
        rows += one.source.rows or 0
        if batch and (rows > ROWS_AT_ONCE or len(batch) == UNITS_AT_ONCE):
            yield batch
            batch, rows = [], one.source.rows or 0
        batch.append(one)
    if batch:
        yield batch


def _path(url: str) -> str:
    """The path that a URL names, however it is written: Spark escapes what we do not."""
    return unquote(urlsplit(url).path) if "://" in url or url.startswith("file:") else url
