"""Take the measurements of scans: what is still true is reused, the rest of each is read from its data in one call."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import blake2s
from math import isfinite

import structlog

from assay.catalog.limits import limited_datasets
from assay.catalog.locations import UnableToUseLocation
from assay.catalog.place_limits import PlacedDataset
from assay.catalog.profile import PARQUET
from assay.catalog.selectors import by_names, home, sensitive_columns
from assay.catalog.selectors import replica as replica_of
from assay.config import config
from assay.models import Dataset
from assay.time.windows import UnableToAlign, Window
from execution_engine.disclosure import full_name_of, redact_detail, tables_of
from execution_engine.engines.protocol import (
    HIVE_NULL,
    WHOLE,
    Engine,
    Measured,
    MeasurementRequest,
    Part,
    ScanReport,
    Table,
    failed,
)
from execution_engine.freshness.derive import input_failure
from execution_engine.metrics.definition import SERVICE, ArgumentType, MetricKind
from execution_engine.metrics.definitions.row_count import ALL_ROWS, RowsByKey, detail_of_keys
from execution_engine.metrics.expressions import written
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.group_values import GroupValues
from execution_engine.models import Measurement, Scan
from execution_engine.outcome import ABNORMAL, Reason
from execution_engine.parts.part_states import scan_by_parts
from execution_engine.parts.state_store import UnableToLoadState, state_of
from execution_engine.quarantine import MOST_ENDS_OF_A_SCAN, NOT_TRIED, ends_before, groups
from execution_engine.read_by import together
from execution_engine.storage import engine_of, extent_of, pinned, table_of
from execution_engine.watch import seen_before

from .ask import ScanReading, input_name, settled_by

log = structlog.get_logger(__name__)


@dataclass(kw_only=True)
class Portion:
    """The measurements of a scan that read one part of its table, and what that looks like."""

    rows: Sequence[Measurement]
    engine: Engine
    table: Table
    part: Part
    strays: tuple[str, ...] | None  # the keys of the rows that lie in no partition
    sensitive: frozenset[str]
    snapshot: str = ""  # what people call the one that it is of
    fingerprint: str = ""

    def look(self) -> str:
        """What its data looks like now; empty where that cannot be told."""
        return self.engine.fingerprint(self.table, self.part) or ""


def read(begun: Sequence[ScanReading]) -> Iterator[ScanReading]:
    """Measure everything that scans which began together are to measure, one scan after another.

    A failure of the engine is a failure of each measurement of its scan, never an exception. If something ended
    abnormally, that is to be written before the next scan is asked for.
    """
    limited = limited_datasets()
    portions = [_look(reading, limited) for reading in begun]  # of the window first
    for reading, own in zip(begun, portions, strict=True):
        reading.fingerprint = own[0].fingerprint if own else ""
    _adopt(list(zip(begun, portions, strict=True)))
    _note_news(list(zip(begun, portions, strict=True)))
    has_read, is_known = False, True
    for reading, own in zip(begun, portions, strict=True):
        if any(row.pk not in reading.adopted for portion in own for row in portion.rows) and not reading.error:
            if not is_known:
                assert reading.scan.started_at
                reading.ends = ends_before(reading.measurements, reading.scan.started_at)
            try:
                _read(reading, own, is_first=not has_read)
            except Exception as error:
                _fail_unforeseen(reading, error)
            has_read = True
        yield reading
        is_known = is_known and not reading.is_abnormal


def _look(reading: ScanReading, limited: Sequence[PlacedDataset]) -> list[Portion]:
    """The parts of its table that a scan may read, and what they look like, without reading them."""
    scan = reading.scan
    replica = replica_of(scan.dataset, scan.datacenter)
    if replica is None:
        detail = f"{scan.dataset} has no replica in {scan.datacenter} any more"
        reading.fail(Reason.UNREADABLE, detail, error=detail)
        return []
    portions: list[Portion] = []
    try:
        engine, table = engine_of(replica), table_of(scan.dataset, replica, limited)
        for as_of in sorted({"", *(row.as_of for row in reading.measurements)}):  # as it is now first
            rows = [row for row in reading.measurements if row.as_of == as_of]
            try:
                portions += _portions(scan, rows, engine, *pinned(table, as_of))
            except UnableToUseLocation as error:
                failure = failed(Reason.UNREADABLE, str(error))
                reading.results |= {row.pk: failure for row in rows}
    except UnableToUseLocation as error:
        detail = f"{scan.dataset} in {scan.datacenter}: {error}"
        reading.fail(Reason.STORE_UNREACHABLE if error.is_away else Reason.UNREADABLE, detail, error=detail)
        return []
    except UnableToAlign as error:  # the table is cut otherwise than when the run was planned
        reading.fail(Reason.MISALIGNED, str(error), error=str(error))
        return []
    except Exception as error:
        _fail_unforeseen(reading, error)
        return []
    reading.snapshots = {row.pk: portion.snapshot for portion in portions for row in portion.rows}
    return portions


def _portions(scan: Scan, rows: Sequence[Measurement], engine: Engine, table: Table, snapshot: str) -> list[Portion]:
    """The part that holds the window, and where rows of the whole table are asked for, that with those beside it."""
    of_table = [row for row in rows if row.is_of_whole_table]
    extent = extent_of(scan.dataset, scan.window, engine, table, with_strays=bool(of_table))
    own = Portion(
        rows=[row for row in rows if not row.is_of_whole_table],
        engine=engine,
        table=table,
        part=extent.part,
        strays=None,
        sensitive=sensitive_columns(scan.dataset),
        snapshot=snapshot,
    )
    own.fingerprint = own.look()
    if not of_table:
        return [own]
    whole = replace(own, rows=of_table, part=extent.whole, strays=extent.strays)
    if whole.part != own.part:
        whole.fingerprint = whole.look()
    return [own, whole]


Looked = Sequence[tuple[ScanReading, Sequence[Portion]]]


def _adopt(looked: Looked) -> None:
    """Reuse what is still true of data that looks as it does: the newest of the earlier measurements."""
    prints: dict[Measurement, str] = {}
    for reading, portions in looked:
        for portion in portions:
            for row in portion.rows:
                reading.adopted.pop(row.pk, None)
                # of all that it was taken from, inputs included; empty where that cannot be told
                parts = [portion.fingerprint, *sorted(part.fingerprint for part in row.inputs.all())]
                fingerprint = parts[0]
                if reads_others(row.metric) or not all(parts):
                    fingerprint = ""
                elif len(parts) > 1:
                    fingerprint = blake2s("\0".join(parts).encode(), digest_size=16).hexdigest()
                reading.fingerprints[row.pk] = prints[row] = fingerprint
    fingerprints = {row: print_ for row, print_ in prints.items() if print_}
    if not fingerprints:
        return
    earlier = Measurement.objects.filter(
        dataset__in={row.dataset_id for row in fingerprints},
        datacenter__in={row.datacenter for row in fingerprints},
        window_start__in={row.window_start for row in fingerprints},
        window_end__in={row.window_end for row in fingerprints},
        spec_hash__in={row.spec_hash for row in fingerprints},
        fingerprint__in=set(fingerprints.values()),
        measured_at__isnull=False,
        failure_reason="",
    ).order_by("measured_at")
    newest = {(*_place(twin), twin.fingerprint): twin for twin in earlier}
    for reading, portions in looked:
        for row in (row for portion in portions for row in portion.rows):
            twin = newest.get((*_place(row), prints[row]))
            if twin and (row.accept_from is None or (twin.measured_at and twin.measured_at >= row.accept_from)):
                reading.adopted[row.pk] = twin


def _place(row: Measurement) -> tuple[int, str, Window, str]:
    return row.dataset_id, row.datacenter, row.window, row.spec_hash


def _note_news(looked: Looked) -> None:
    """When the newest file came, of data that was never seen as it is now."""
    readable = [(reading, portions[0]) for reading, portions in looked if portions]
    for number, watch_id in seen_before([reading.seen for reading, _ in readable]).items():
        reading, own = readable[number]
        reading.watch_id = watch_id
        if watch_id is None:
            try:
                reading.written_at = own.engine.written_at(own.table, own.part)
            except Exception as error:
                _fail_unforeseen(reading, error)


def _read(reading: ScanReading, portions: Sequence[Portion], *, is_first: bool) -> None:
    """Read what is not adopted; what was looked at before other data was read is looked at again."""
    for portion in portions:
        if not is_first and (fingerprint := portion.look()) != portion.fingerprint:
            portion.fingerprint = fingerprint  # written while other data was read
            _adopt([(reading, [portion])])
            if portion is portions[0]:
                reading.fingerprint, reading.written_at, reading.watch_id = fingerprint, None, None
                _note_news([(reading, [portion])])
                if reading.error:
                    return
        if missing := [row for row in portion.rows if row.pk not in reading.adopted]:
            _take(reading, missing, portion)
            is_first = False


def _take(reading: ScanReading, rows: Sequence[Measurement], portion: Portion) -> None:
    """Read what could not be reused; what once ended a scan abnormally, apart from the rest."""
    requests: list[MeasurementRequest] = []
    for row in rows:
        if METRICS[row.metric.name].kind is MetricKind.LAYOUT:  # the rows in no partition, which engines do not know of
            is_sensitive = (portion.table.partition_column or "").casefold() in portion.sensitive
            count = METRICS[row.metric.name].function_for(SERVICE)
            counted: ScanReport = count(portion.engine, portion.table, portion.strays, is_sensitive=is_sensitive)
            _add_cost(reading, counted)
            (reading.results[row.pk],) = counted.measured.values()
            continue
        try:
            item = _request(row)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            # what nobody foresaw of one measurement is its failure, and of no other of the scan
            log.exception("cannot be asked for", measurement=row.pk)
            item = failed(Reason.QUERY_FAILED, f"{row.spec_text} cannot be asked for: {error!r}"[:1000])
        if isinstance(item, MeasurementRequest):
            requests.append(item)
        else:
            reading.results[row.pk] = item
    abnormal = 0
    for group in groups(requests, {str(pk): times for pk, times in reading.ends.items()}) if requests else ():
        if abnormal >= MOST_ENDS_OF_A_SCAN:
            reading.results |= {int(item.key): Measured(failure=NOT_TRIED) for item in group}
            continue
        report = scan_by_parts(
            portion.engine,
            portion.table,
            portion.part,
            group,
            dataset=reading.scan.dataset,
            datacenter=reading.scan.datacenter,
            keeps=reading.keeps_states,
        )
        _add_cost(reading, report)
        results = {int(item.key): _result(report, item, portion) for item in group}
        reading.results |= results
        if len(results) == 1:
            reading.alone |= results.keys()
        abnormal += any(result.failure and result.failure.reason in ABNORMAL for result in results.values())


def _add_cost(reading: ScanReading, report: ScanReport) -> None:
    reading.spark_jobs += report.spark_jobs
    reading.seconds += report.seconds
    reading.read_by = together([reading.read_by, report.read_by])


def _request(row: Measurement) -> MeasurementRequest | Measured:
    """What an engine is asked for of a measurement, or what it is without one."""
    metric = row.metric
    inputs = list(row.inputs.all())
    if failure := input_failure(inputs):
        return Measured(failure=failure)
    try:
        states = {input_name(row, part): state_of(part) for part in inputs}
    except UnableToLoadState as error:
        return failed(Reason.ENGINE_UNREACHABLE, str(error))
    state_key = config().state_key.get_secret_value().encode() or None
    if settled := settled_by(metric.name, states, state_key):
        return settled
    tables = tables_read(metric, row.dataset, row.datacenter)
    return MeasurementRequest(key=str(row.pk), spec=metric, inputs=states, tables=tables, state_key=state_key)


def _result(report: ScanReport, item: MeasurementRequest, portion: Portion) -> Measured:
    """What the engine says of one item, in numbers that every database can hold, and nothing that is secret."""
    result = report.measured.get(item.key)
    if result is None:
        return failed(Reason.QUERY_FAILED, f"the engine gave nothing for {item.spec.text}")
    if result.value is not None and not isfinite(result.value):
        return failed(Reason.NOT_FINITE, f"{item.spec.text} is {result.value}")
    failure = result.failure
    if failure and portion.table.location_label:
        failure = replace(failure, detail=failure.detail.replace(portion.table.location, portion.table.location_label))
    return replace(result, failure=failure, detail=redact_detail(item.spec, portion.sensitive, result.detail))


def _fail_unforeseen(reading: ScanReading, error: Exception) -> None:
    """Engines return what they foresee; whatever else goes wrong must not stop the scans behind this one."""
    log.error("scan failed", of=str(reading.scan), exc_info=error)
    reason = Reason.TIMEOUT if isinstance(error, TimeoutError) else Reason.ENGINE_UNREACHABLE
    reading.fail(reason, f"{type(error).__name__}: {error}"[:1000])


# Which tables a metric reads beside its own, a user's query above all, resolved in the catalog.


def tables_read(metric: MetricSpec, dataset: Dataset, datacenter: str) -> dict[str, Table]:
    """The tables that the metric names and the catalog has, in the same datacenter where they have a replica there.

    A name without a namespace has the dataset's. Names that are not found are left out; the engine refuses them.
    """
    names = names_read(metric)
    if not names:
        return {}
    meant = {name: full_name_of(name, dataset.full_name) for name in names}
    datasets_by_name = by_names(meant.values())
    tables: dict[str, Table] = {}
    for name, full in meant.items():
        dataset_read = datasets_by_name.get(full)
        if dataset_read and dataset_read.replicas.all() and dataset_read.business_metric is None:
            with suppress(UnableToUseLocation):
                replica = replica_of(dataset_read, datacenter) or home(dataset_read)
                tables[name], _ = pinned(table_of(dataset_read, replica))
    return tables


def names_read(metric: MetricSpec) -> list[str]:
    """The names in a query, or the dataset that a metric compares with; not of one that builds on others' states."""
    definition = METRICS[metric.name]
    if queries := definition.signature.texts(ArgumentType.QUERY, metric.arguments):
        return [name for query in queries for name in sorted(set(tables_of(query)))]
    return [] if definition.inputs else definition.signature.texts(ArgumentType.DATASET, metric.arguments)


def reads_others(metric: MetricSpec) -> bool:
    """Whether what is measured may hang on more than the metric's own table; a query's always may."""
    return ArgumentType.QUERY in METRICS[metric.name].signature.arguments or bool(names_read(metric))


# The rows that lie in no partition, by the keys they lie under, with as few jobs as the table allows.

MOST_COUNTED = 100  # keys of which each is counted by itself where nothing groups them
_KEY = "rows"


def count_unpartitioned(
    engine: Engine, table: Table, strays: Sequence[str] | None, *, is_sensitive: bool = False
) -> ScanReport:
    """The rows under these keys, as the one measurement ``rows``; no engine is asked where there is no such key.

    ``strays=None``: nobody knows the keys, and only a table without rows has none. The keys of a column that is
    sensitive are not told.
    """
    column = table.partition_column
    if column is None:
        missing = f"{table.name} has no partition key; add one to it"
        return _report_of([], failed(Reason.NO_PARTITION_COLUMN, missing))
    if strays is None:
        report = _scan_rows(engine, table, WHOLE, ALL_ROWS)
        measured = report.measured[_KEY]
        if measured.failure is None and measured.value:
            text = f"the partitions of {table.name} cannot be listed by {column}"
            mend = "set its partition key to a column or folder that it has"
            measured = failed(Reason.NO_PARTITION_COLUMN, f"{text}: {mend}")
        return _report_of([report], measured)
    if not strays:
        return _report_of([], Measured(value=0.0))
    # one job that groups by the key costs least, but footers of parquet, and databases, count key by key
    by_key = table.storage == "sql" or (
        table.storage in PARQUET and engine.fingerprints_by_key(table, Part(keys=tuple(strays))) is not None
    )
    if by_key:
        single, others = strays[:MOST_COUNTED], tuple(strays[MOST_COUNTED:])
        reports = [_scan_rows(engine, table, Part(keys=(key,)), ALL_ROWS) for key in single]
        counted = RowsByKey(rows=dict(zip(single, map(_rows, reports), strict=True)))
        if others:
            reports.append(_scan_rows(engine, table, Part(keys=others), ALL_ROWS))
            counted = replace(counted, others=len(others), rows_of_others=_rows(reports[-1]))
    else:
        by_column = replace(ALL_ROWS, by=(written(column),))
        reports = [_scan_rows(engine, table, Part(keys=tuple(strays)), by_column)]
        state = reports[0].measured[_KEY].state
        groups = GroupValues.from_bytes(state).groups if state else {}
        counted = RowsByKey(rows={HIVE_NULL if key is None else key: int(rows or 0) for (key,), rows in groups.items()})
    failures = (measured for report in reports for measured in report.measured.values() if measured.failure)
    detail = {} if is_sensitive else detail_of_keys(column, counted, HIVE_NULL)
    return _report_of(reports, next(failures, Measured(value=float(counted.total), detail=detail)))


def _scan_rows(engine: Engine, table: Table, part: Part, spec: MetricSpec) -> ScanReport:
    return engine.scan(table, part, [MeasurementRequest(key=_KEY, spec=spec)])


def _rows(report: ScanReport) -> int:
    return int(report.measured[_KEY].value or 0)


def _report_of(reports: Sequence[ScanReport], measured: Measured) -> ScanReport:
    return ScanReport(
        measured={_KEY: measured},
        spark_jobs=sum(report.spark_jobs for report in reports),
        seconds=sum(report.seconds for report in reports),
        fingerprint=None,
        read_by=together(report.read_by for report in reports),
    )
