"""Several windows or small tables in one Spark job: files of one schema, grouped by their paths, merged by unit.

A job of its own for each of a thousand small tables would cost a thousand times what starting a job costs.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic
from urllib.parse import unquote, urlsplit

from pyspark.sql import SparkSession

from assay.catalog.profile import PARQUET
from execution_engine.engines.files.footers import NANOSECONDS
from execution_engine.engines.files.listing import UnableToListFiles
from execution_engine.engines.gathering import Keyed, Plan, StatisticRequest, measured_of, plan
from execution_engine.engines.native.measure import BESIDE, Native
from execution_engine.engines.protocol import Measured, ScanReport, Unit
from execution_engine.engines.spark.measures.frequencies import KeyFrequencies, lists_of, of_lists
from execution_engine.engines.spark.measures.gather import aggregates, selected, values
from execution_engine.engines.spec_check import check_spec
from execution_engine.metrics.definition import SHARED
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.states.states import merge
from execution_engine.metrics.states.statistics import Statistic, Value, over_nothing
from execution_engine.read_by import ReadBy, read_by

from .failures import SPARK_ERRORS, action, counting_jobs
from .kernels import OFF, taken_together
from .scan import Taken
from .session import UnableToFindJava
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


def scan_shared(
    session: Callable[[], SparkSession], units: Sequence[Unit], *, native: bool = True
) -> dict[int, ScanReport]:
    """The reports, by the numbers of the units, of those that could share a job; the others are left to their own.

    ``native``: by the kernels, where these can tell all that is asked. Where a job fails there is none of its units, as
    each by itself then tells what is wrong with it.
    """
    opened: list[Opened] = []
    try:
        for at, unit in enumerate(units if len(units) > 1 else ()):
            with suppress(UnableToListFiles):
                if unit.table.storage in PARQUET:
                    opened.append(Opened(at=at, unit=unit, source=open_source(session(), unit.table, unit.part)))
    except (UnableToFindJava, *SPARK_ERRORS):
        return {}
    reports: dict[int, ScanReport] = {}
    for batch in batches(opened):
        started = monotonic()
        try:
            with counting_jobs(session(), f"scan of {len(batch)} tables or windows") as count:
                taken = measure_together(session(), batch, native=native)
        except (UnableToListFiles, *SPARK_ERRORS):
            continue
        seconds = (monotonic() - started) / len(batch)
        jobs = count.jobs  # of the first
        for member in batch:
            if member.at in taken:
                reports[member.at] = ScanReport(
                    measured=taken[member.at].measured,
                    spark_jobs=jobs,
                    seconds=seconds,
                    fingerprint=member.source.fingerprint,
                    read_by=taken[member.at].read_by,
                )
                jobs = 0
    return reports


def batches(opened: Sequence[Opened]) -> Iterator[list[Opened]]:
    """The units that may share a job: of one shape, small, and asked for the same; units alone are not given."""
    alike: dict[object, list[Opened]] = defaultdict(list)
    for member in opened:
        source, specs = member.source, tuple(item.spec for item in member.unit.requests)
        if source.listing is None or not source.small or source.rows is None or source.rows > BATCHED_ROWS:
            continue
        if source.files and any(type_ == NANOSECONDS for _, type_ in source.files.stored):
            continue
        if any(check_spec(spec, source.kinds, source.name, engine="spark") for spec in specs):
            continue
        if all(METRICS[spec.name].kind in SHARED and METRICS[spec.name].merges(spec) and not spec.by for spec in specs):
            kind = source.files.kind if source.files else tuple(source.columns.items())
            alike[kind, specs].append(member)
    for group in alike.values():
        batch: list[Opened] = []
        rows = 0
        for member in group:
            rows += member.source.rows or 0
            if batch and (rows > ROWS_AT_ONCE or len(batch) == UNITS_AT_ONCE):
                yield from [batch] if len(batch) > 1 else []
                batch, rows = [], member.source.rows or 0
            batch.append(member)
        yield from [batch] if len(batch) > 1 else []


def measure_together(session: SparkSession, batch: Sequence[Opened], *, native: bool = True) -> dict[int, Taken]:
    """What was taken of units, by their numbers: by the kernels, or all by Spark; Spark's error if the job fails."""
    planned = plan(batch[0].unit.requests, batch[0].source.write)
    every: list[StatisticRequest | Keyed] = [*planned.statistic_requests, *planned.keyed]
    if native:
        sources = {member.at: member.source for member in batch}
        results = taken_together(session, sources, planned.statistic_requests, planned.keyed)
    else:
        results = {member.at: Native(left=dict.fromkeys(every, OFF)) for member in batch}
    whole = [member for member in batch if not results[member.at].left]
    if whole or batch[0].source.files is None:  # files of a log or a store are not Spark's to read together
        return {
            member.at: Taken(
                measured=_measured(batch, member, planned, results[member.at].statistics, results[member.at].counted),
                read_by=ReadBy(kernels=len(every)),
            )
            for member in whole
        }
    return {
        at: Taken(
            measured=measured, read_by=read_by(left={**dict.fromkeys(every, BESIDE), **results[at].left}.values())
        )
        for at, measured in measure_batch(session, batch, planned).items()
    }


def measure_batch(session: SparkSession, batch: Sequence[Opened], planned: Plan) -> dict[int, dict[str, Measured]]:
    """The measurements of each unit by Spark, by its number; Spark's error if the job as a whole fails."""
    lists = {keyed: lists_of(batch[0].source, keyed) for keyed in planned.keyed}
    requests = [*planned.statistic_requests, *(member for pair in lists.values() for member in pair)]
    statistics: list[Statistic] = [member.statistic for member in requests]
    written = [sql for member in requests for sql in aggregates(member.statistic, member.where)]
    urls = dict.fromkeys(url for member in batch for url in _files(member).urls)
    frame = _files(batch[0]).open(session, list(urls))
    # one row for each file, its path first
    rows = action(selected(frame, written, [FILE]).collect, rows=sum(member.source.rows or 0 for member in batch))
    units_of: Mapping[str, list[int]] = defaultdict(list)  # two datasets may be of one folder
    for member in batch:
        for url in _files(member).urls:
            units_of[_path(url)].append(member.at)
    parts: Mapping[int, list[list[Value]]] = defaultdict(list)
    for row in rows:
        for at in units_of[_path(row[0])]:
            parts[at].append(values(statistics, row[1:]))
    measured: dict[int, dict[str, Measured]] = {}
    for member in batch:
        by_statistic = zip(*parts[member.at], strict=True) if parts[member.at] else None
        merged = map(merge, statistics, by_statistic) if by_statistic else map(over_nothing, statistics)
        gathered = dict(zip(requests, merged, strict=True))
        counted = {keyed: of_lists(*(gathered[request] for request in pair)) for keyed, pair in lists.items()}
        measured[member.at] = _measured(batch, member, planned, gathered, counted)
    return measured


def _measured(
    batch: Sequence[Opened],
    member: Opened,
    planned: Plan,
    gathered: Mapping[StatisticRequest, Value],
    counted: Mapping[Keyed, KeyFrequencies],
) -> dict[str, Measured]:
    """The measurements of one unit; all units share the first unit's plan."""
    return {
        item.key: measured_of(replace(twin, keep_state=item.keep_state), planned, gathered, counted)
        for item, twin in zip(member.unit.requests, batch[0].unit.requests, strict=True)
    }


def _files(member: Opened) -> Files:
    assert member.source.files is not None
    return member.source.files


def _path(url: str) -> str:
    """The path that a URL names, however it is written: Spark escapes what we do not."""
    return unquote(urlsplit(url).path) if "://" in url or url.startswith("file:") else url
