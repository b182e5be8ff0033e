"""The engine of the lake: parquet folders and catalog tables, read by Spark, classic or Connect alike."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from threading import Lock
from time import monotonic

from pyspark.sql import SparkSession

from assay.catalog.profile import FILES
from execution_engine.engines.column_types import quote
from execution_engine.engines.files.commits import ListedFiles
from execution_engine.engines.files.listing import UnableToListFiles, list_partitions
from execution_engine.engines.native.local_scan import report_of_small_part
from execution_engine.engines.native.profiles import profiles_told
from execution_engine.engines.native.rows import write_without_spark
from execution_engine.engines.protocol import (
    HIVE_NULL,
    WHOLE,
    CommitLog,
    DescribedCatalog,
    FailingRows,
    Measured,
    MeasurementRequest,
    Part,
    RowsRequest,
    ScanReport,
    SparkOptions,
    Table,
    Unit,
    WrittenRows,
    none_failing,
    none_written,
)
from execution_engine.engines.spark.measures.failing import failing_rows
from execution_engine.engines.spark.measures.rows import write_by_spark
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Failure, Reason
from execution_engine.read_by import NO_VALUES, ReadBy, together

from .batch import scan_shared
from .catalog import describe_table, list_tables
from .catalog_commits import commits_in_catalog
from .executors import fault_of_tasks
from .failures import SPARK_ERRORS, counting_jobs, failure_of
from .scan import measure
from .session import UnableToFindJava, start_session, use_java
from .sources import fingerprints_in_catalog, listed_keys, open_source


class SparkEngine(ListedFiles):
    """One shared session, started by the first scan; scans may run in several threads at once."""

    name = "spark"

    def __init__(self, options: SparkOptions | None = None) -> None:
        self._options = options or SparkOptions()
        self._session: SparkSession | None = None
        self._starting = Lock()

    @property
    def session(self) -> SparkSession:
        """The session, started if need be."""
        with self._starting:
            if self._session is None:
                if self._options.is_local:
                    use_java()
                self._session = start_session(self._options)
                if self._options.native:
                    fault_of_tasks(self._session)  # the time until executors are there is that of the start
            return self._session

    def scan(self, table: Table, part: Part, requests: Sequence[MeasurementRequest]) -> ScanReport:
        """Every measurement wanted; all aggregates of the scan in one Spark job."""
        (report,) = self.scan_all([Unit(table=table, part=part, requests=tuple(requests))])
        return report

    def scan_all(self, units: Sequence[Unit]) -> tuple[ScanReport, ...]:
        """The reports of several scans, in their order; small ones of one shape share a Spark job.

        Small profiles need none: Arrow has them. Nor do the parts that are read here, as the options say.
        """
        reports: dict[int, ScanReport] = {}
        if most := self._options.most_bytes_here:
            for at, unit in enumerate(units):
                if (
                    unit.requests
                    and (report := report_of_small_part(unit.table, unit.part, unit.requests, most)) is not None
                ):
                    reports[at] = report
        rest = [at for at in range(len(units)) if at not in reports]
        profiles = [profiles_told(units[at].table, units[at].part, units[at].requests) for at in rest]
        left = [
            replace(
                units[at], requests=tuple(item for item in units[at].requests if item.key not in part_profiles.measured)
            )
            for at, part_profiles in zip(rest, profiles, strict=True)
        ]
        shared = scan_shared(lambda: self.session, left, native=self._options.native)
        for number, (at, unit, part_profiles) in enumerate(zip(rest, left, profiles, strict=True)):
            report = shared.get(number) or self._scan_alone(unit)
            if (
                part_profiles.measured and report.measured and report.fingerprint != part_profiles.fingerprint
            ):  # replaced meanwhile
                report = self._scan_alone(units[at])
            elif part_profiles.measured:
                report = replace(
                    report,
                    measured={**report.measured, **part_profiles.measured},
                    fingerprint=part_profiles.fingerprint,
                    read_by=together([report.read_by, ReadBy(kernels=len(part_profiles.measured))]),
                )
            reports[at] = report
        return tuple(reports[at] for at in range(len(units)))

    def _scan_alone(self, unit: Unit) -> ScanReport:
        if not unit.requests:
            return ScanReport(measured={}, spark_jobs=0, seconds=0.0, fingerprint=None)
        started = monotonic()
        report = self._scan(unit, started)
        reasons = {measured.failure.reason for measured in report.measured.values() if measured.failure}
        if Reason.ENGINE_UNREACHABLE in reasons:
            self.close()  # the next scan connects anew
        if Reason.UNREADABLE in reasons and self.fingerprint(unit.table, unit.part) not in (None, report.fingerprint):
            return self._scan(unit, started)  # a file was replaced under the reader
        return report

    def failing_rows(self, table: Table, part: Part, specs: Sequence[MetricSpec], limit: int) -> FailingRows:
        """Up to ``limit`` rows that break row-wise metrics or whose key is repeated."""
        try:
            return failing_rows(open_source(self.session, table, part), specs, limit)
        except (UnableToListFiles, UnableToFindJava, *SPARK_ERRORS) as error:
            return none_failing(specs, _failure(error, table.name))

    def write_rows(self, table: Table, part: Part, request: RowsRequest) -> WrittenRows:
        """Write the rows that break metrics: by the kernels where they know all conditions, else by Spark."""
        try:
            here = write_without_spark(table, part, request)
            return here or write_by_spark(open_source(self.session, table, part), request)
        except (UnableToListFiles, UnableToFindJava, *SPARK_ERRORS) as error:
            return none_written(request.specs, _failure(error, table.name))

    def fingerprint(self, table: Table, part: Part) -> str | None:
        """Of the files of a part, also of those of a table of Spark's catalog."""
        return self.fingerprints(table, [part])[0]

    def fingerprints(self, table: Table, parts: Sequence[Part]) -> tuple[str | None, ...]:
        """The same of several parts."""
        if table.storage != "table":
            return super().fingerprints(table, parts)
        try:
            return fingerprints_in_catalog(self.session, table, parts)
        except (UnableToFindJava, *SPARK_ERRORS):
            return (None,) * len(parts)

    def commits(self, table: Table, mark: str, now: datetime) -> CommitLog:
        """By the log or the files of a table, also of one of Spark's catalog."""
        if table.storage != "table":
            return super().commits(table, mark, now)
        try:
            return commits_in_catalog(self.session, table, mark, now)
        except UnableToFindJava as error:
            return CommitLog(mark=mark, fault=str(error))

    def partitions(self, table: Table) -> tuple[str, ...] | None:
        """The keys present, sorted: from the folders' names, else from the column; None where neither can."""
        if table.partition_column is None:
            return None
        try:
            if table.storage in FILES and (keys := list_partitions(table)) is not None:
                return keys
            column = table.partition_column
            if table.storage == "table" and (keys := listed_keys(self.session, table.location, column)) is not None:
                return keys
            source = open_source(self.session, table, WHOLE)
            if written(column).lower() not in {name.lower() for name in source.columns}:
                return None
            rows = source.frame.selectExpr(f"cast({quote(column)} as string) as k").distinct().collect()
            return tuple(sorted({HIVE_NULL if row["k"] is None else row["k"] for row in rows}))
        except (UnableToListFiles, UnableToFindJava, *SPARK_ERRORS):
            return None

    def list_tables(self, catalog: str) -> DescribedCatalog:
        """The names of the tables of one of Spark's catalogs."""
        try:
            return DescribedCatalog(names=list_tables(self.session, catalog))
        except (UnableToFindJava, *SPARK_ERRORS) as error:
            return DescribedCatalog(failure=_failure(error, "the catalog of Spark"))

    def describe_tables(self, names: Sequence[str]) -> DescribedCatalog:
        """What Spark's catalog says of these tables."""
        name = ""
        try:
            tables = []
            for name in names:
                tables.append(describe_table(self.session, name))
            return DescribedCatalog(tables=tuple(tables))
        except (UnableToFindJava, *SPARK_ERRORS) as error:
            return DescribedCatalog(failure=_failure(error, name))

    def close(self) -> None:
        """Stops the session; a later scan starts another."""
        with self._starting:
            session, self._session = self._session, None
        if session is not None:
            with suppress(*SPARK_ERRORS):
                session.stop()

    def _scan(self, unit: Unit, started: float) -> ScanReport:
        jobs, fingerprint, by = 0, None, NO_VALUES
        try:
            session = self.session  # another thread may close it meanwhile, and the next read would start another
            with counting_jobs(session, f"scan of {unit.table.name}") as count:
                source = open_source(session, unit.table, unit.part)
                fingerprint = source.fingerprint
                taken = measure(source, unit.requests, native=self._options.native)
            measured, by, jobs = taken.measured, taken.read_by, count.jobs
        except (UnableToListFiles, UnableToFindJava, *SPARK_ERRORS) as error:
            failure = Measured(failure=_failure(error, unit.table.name))
            measured = {item.key: failure for item in unit.requests}
        seconds = monotonic() - started
        return ScanReport(measured=measured, spark_jobs=jobs, seconds=seconds, fingerprint=fingerprint, read_by=by)


def _failure(error: Exception, where: str) -> Failure:
    if isinstance(error, UnableToListFiles):
        return error.failure
    if isinstance(error, UnableToFindJava):
        return Failure(reason=Reason.ENGINE_UNREACHABLE, detail=str(error))
    return failure_of(error, where)
