"""Count the rows that lie in no partition, by the keys they lie under, with as few jobs as the table allows."""

from collections.abc import Sequence
from dataclasses import replace

from execution_engine.engines.protocol import (
    HIVE_NULL,
    WHOLE,
    Engine,
    Measured,
    Part,
    ScanReport,
    Table,
    Wanted,
    failed,
)
from execution_engine.metrics.definitions.row_count import ALL_ROWS, Counted, detail_of_keys
from execution_engine.metrics.expressions import written
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupValues
from execution_engine.outcome import Reason
from execution_engine.read_by import NO_VALUES, ReadBy, together

MOST_COUNTED = 100  # keys of which each is counted by itself where nothing groups them
_KEY = "rows"


def count_unpartitioned(
    engine: Engine, table: Table, strays: Sequence[str] | None, *, is_sensitive: bool = False
) -> ScanReport:
    """The rows under these keys, as the one measurement ``rows``; no engine is asked where there is no such key.

    ``strays=None``: nobody knows the keys, and only a table without rows has none. The keys of a column that is
    sensitive are not told.
    """
    if table.partition_column is None:
        return _only(failed(Reason.NO_PARTITION_COLUMN, f"{table.name} has no partition key; add one to it"))
    if strays is None:
        return _without_keys(engine, table)
    if not strays:
        return _only(Measured(value=0.0))
    count = _by_group if _is_grouped(engine, table, strays) else _by_key
    reports, counted = count(engine, table, strays)
    failures = (each for report in reports for each in report.measured.values() if each.failure)
    detail = {} if is_sensitive else detail_of_keys(table.partition_column, counted, HIVE_NULL)
    measured = next(failures, Measured(value=float(counted.total), detail=detail))
    jobs = sum(report.spark_jobs for report in reports)
    seconds, by = sum(report.seconds for report in reports), together(report.read_by for report in reports)
    return _only(measured, spark_jobs=jobs, seconds=seconds, by=by)


def _is_grouped(engine: Engine, table: Table, strays: Sequence[str]) -> bool:
    """Whether one job that groups by the key costs least: footers of parquet, and databases, count key by key."""
    if table.storage == "sql":
        return False
    return table.storage != "parquet" or engine.fingerprints_by_key(table, Part(keys=tuple(strays))) is None


def _by_key(engine: Engine, table: Table, strays: Sequence[str]) -> tuple[list[ScanReport], Counted]:
    named, rest = strays[:MOST_COUNTED], tuple(strays[MOST_COUNTED:])
    reports = [_scan(engine, table, (key,), ALL_ROWS) for key in named]
    rows = {key: _rows(report) for key, report in zip(named, reports, strict=True)}
    if not rest:
        return reports, Counted(rows=rows)
    together = _scan(engine, table, rest, ALL_ROWS)
    return [*reports, together], Counted(rows=rows, others=len(rest), rows_of_others=_rows(together))


def _by_group(engine: Engine, table: Table, strays: Sequence[str]) -> tuple[list[ScanReport], Counted]:
    report = _scan(engine, table, tuple(strays), replace(ALL_ROWS, by=(written(table.partition_column or ""),)))
    state = report.measured[_KEY].state
    groups = GroupValues.from_bytes(state).groups if state else {}
    return [report], Counted(
        rows={HIVE_NULL if key is None else key: int(rows or 0) for (key,), rows in groups.items()}
    )


def _scan(engine: Engine, table: Table, keys: tuple[str, ...], spec: MetricSpec) -> ScanReport:
    return engine.scan(table, Part(keys=keys), [Wanted(key=_KEY, spec=spec)])


def _rows(report: ScanReport) -> int:
    return int(report.measured[_KEY].value or 0)


def _without_keys(engine: Engine, table: Table) -> ScanReport:
    """A table that has no rows has none outside its partitions; of any other nobody can tell."""
    report = engine.scan(table, WHOLE, [Wanted(key=_KEY, spec=ALL_ROWS)])
    measured = report.measured[_KEY]
    if measured.failure is None and measured.value:
        said = f"the partitions of {table.name} cannot be listed by {table.partition_column}"
        mend = "set its partition key to a column or folder that it has"
        measured = failed(Reason.NO_PARTITION_COLUMN, f"{said}: {mend}")
    return _only(measured, spark_jobs=report.spark_jobs, seconds=report.seconds, by=report.read_by)


def _only(measured: Measured, *, spark_jobs: int = 0, seconds: float = 0.0, by: ReadBy = NO_VALUES) -> ScanReport:
    return ScanReport(measured={_KEY: measured}, spark_jobs=spark_jobs, seconds=seconds, fingerprint=None, read_by=by)
