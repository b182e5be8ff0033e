"""Take the measurements of one scan: what is still true is reused, the rest is read from the data in one call."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2s
from math import isfinite

import structlog

from assay.catalog.locations import UnableToUseLocation
from assay.catalog.selectors import replica as replica_of
from assay.catalog.selectors import sensitive_columns
from assay.config import config
from execution_engine.disclosure.rules import told
from execution_engine.engines.protocol import Engine, Measured, Part, ScanReport, Table, Wanted, failed
from execution_engine.freshness.derive import input_failure
from execution_engine.metrics.definition import SERVICE, Kind
from execution_engine.metrics.registry import METRICS
from execution_engine.models import Measurement, Scan
from execution_engine.outcome import ABNORMAL, Reason
from execution_engine.parts.selectors import state_of
from execution_engine.parts.services import scan_by_parts
from execution_engine.parts.state_store import UnableToLoadState
from execution_engine.quarantine.rules import MOST_ENDS_OF_A_SCAN, NOT_TRIED, Group, groups
from execution_engine.quarantine.suspects import ends_before
from execution_engine.storage import engine_of, extent_of, table_of
from execution_engine.watch.services import is_news

from .found import ScanReading
from .query_tables import reads_others, tables_read
from .settle import input_name, settled_by

log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a scan reads, and with what."""

    engine: Engine
    table: Table
    part: Part
    strays: tuple[str, ...] | None = None  # the keys of the rows that lie in no partition
    sensitive: frozenset[str] = frozenset()


def read(scan: Scan, measurements: Sequence[Measurement]) -> ScanReading:
    """Everything the scan's measurements need; a failure of the engine is a failure of each, never an exception."""
    try:
        return _read(scan, measurements)
    except Exception as error:
        # Engines return what they foresee; whatever else goes wrong must not stop the scans behind this one.
        log.exception("scan failed", of=str(scan))
        reason = Reason.TIMEOUT if isinstance(error, TimeoutError) else Reason.ENGINE_UNREACHABLE
        failure = failed(reason, f"{type(error).__name__}: {error}"[:1000])
        return ScanReading(results={row.pk: failure for row in measurements}, error=str(failure.failure))


def _read(scan: Scan, measurements: Sequence[Measurement]) -> ScanReading:
    replica = replica_of(scan.dataset, scan.datacenter)
    if replica is None:
        return _all_failed(measurements, f"{scan.dataset} has no replica in {scan.datacenter} any more")
    try:
        table = table_of(scan.dataset, replica)
    except UnableToUseLocation as error:
        return _all_failed(measurements, f"{scan.dataset} in {scan.datacenter}: {error}")
    engine = engine_of(replica)
    of_window = [row for row in measurements if not row.is_of_whole_table]
    of_table = [row for row in measurements if row.is_of_whole_table]
    extent = extent_of(scan.dataset, scan.window, engine, table, with_strays=bool(of_table))
    target = Target(engine=engine, table=table, part=extent.part, sensitive=sensitive_columns(scan.dataset))
    reading = ScanReading(fingerprint=engine.fingerprint(table, target.part) or "")
    if is_news(scan.dataset, scan.datacenter, scan.window, reading.fingerprint):
        reading.written_at = engine.written_at(table, target.part)
    _reuse_or_take(scan, of_window, target, reading, reading.fingerprint)
    whole = replace(target, part=extent.whole, strays=extent.strays)
    is_more = bool(of_table) and whole.part != target.part
    print_ = (engine.fingerprint(table, whole.part) or "") if is_more else reading.fingerprint
    _reuse_or_take(scan, of_table, whole, reading, print_)
    return reading


def _reuse_or_take(
    scan: Scan, measurements: Sequence[Measurement], target: Target, reading: ScanReading, fingerprint: str
) -> None:
    """Those that read one part of the table, which looks like ``fingerprint``."""
    fingerprints = {row.pk: _fingerprint(row, fingerprint) for row in measurements}
    adopted = _reusable(scan, measurements, fingerprints)
    reading.fingerprints |= fingerprints
    reading.adopted |= adopted
    _take(scan, [row for row in measurements if row.pk not in adopted], target, reading)


def _take(scan: Scan, measurements: Sequence[Measurement], target: Target, reading: ScanReading) -> None:
    """Read what could not be reused; what once ended a scan abnormally, apart from the rest."""
    wanted: list[Wanted] = []
    for row in measurements:
        item = _layout(row, target, reading) or _wanted_alone(row, target)
        if isinstance(item, Wanted):
            wanted.append(item)
        else:
            reading.results[row.pk] = item
    if not wanted:
        return
    reading.ends = ends_before(scan, measurements)
    abnormal = 0
    for group in groups(wanted, {str(pk): ends for pk, ends in reading.ends.items()}):
        if abnormal >= MOST_ENDS_OF_A_SCAN:
            reading.results |= {int(item.key): Measured(failure=NOT_TRIED) for item in group}
        elif _take_together(scan, group, target, reading):
            abnormal += 1


def _take_together(scan: Scan, group: Group, target: Target, reading: ScanReading) -> bool:
    """Read a group in as few passes as it allows; whether any of it ended abnormally."""
    report = scan_by_parts(
        target.engine, target.table, target.part, group, dataset=scan.dataset, datacenter=scan.datacenter
    )
    reading.spark_jobs += report.spark_jobs
    reading.seconds += report.seconds
    results = {int(item.key): _result(report, item, target) for item in group}
    reading.results |= results
    if len(results) == 1:
        reading.alone |= results.keys()
    return any(result.failure and result.failure.reason in ABNORMAL for result in results.values())


def _layout(row: Measurement, target: Target, reading: ScanReading) -> Measured | None:
    """The rows that lie in no partition, which engines do not know of; None for all other metrics."""
    if METRICS[row.metric.name].kind is not Kind.LAYOUT:
        return None
    is_sensitive = (target.table.partition_column or "").casefold() in target.sensitive
    count = METRICS[row.metric.name].function_for(SERVICE)
    report: ScanReport = count(target.engine, target.table, target.strays, is_sensitive=is_sensitive)
    reading.spark_jobs += report.spark_jobs
    reading.seconds += report.seconds
    (measured,) = report.measured.values()
    return measured


def _wanted_alone(row: Measurement, target: Target) -> Wanted | Measured:
    """As ``_wanted``; what nobody foresaw of one measurement is its failure, and of no other of the scan."""
    try:
        return _wanted(row, target)
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        log.exception("cannot be asked for", measurement=row.pk)
        return failed(Reason.QUERY_FAILED, f"{row.spec_text} cannot be asked for: {error!r}"[:1000])


def _wanted(row: Measurement, target: Target) -> Wanted | Measured:
    inputs = list(row.inputs.all())
    if failure := input_failure(inputs):
        return Measured(failure=failure)
    try:
        states = {input_name(row, part): state_of(part) for part in inputs}
    except UnableToLoadState as error:
        return failed(Reason.ENGINE_UNREACHABLE, str(error))
    metric, state_key = row.metric, config().state_key.get_secret_value().encode() or None
    if settled := settled_by(metric.name, states, state_key):
        return settled
    tables = tables_read(metric, row.dataset, row.datacenter)
    return Wanted(key=str(row.pk), spec=metric, inputs=states, tables=tables, state_key=state_key)


def _result(report: ScanReport, item: Wanted, target: Target) -> Measured:
    """What the engine says of one item, in numbers that every database can hold, and nothing that is secret."""
    result = report.measured.get(item.key)
    if result is None:
        return failed(Reason.QUERY_FAILED, f"the engine gave nothing for {item.spec.text}")
    if result.value is not None and not isfinite(result.value):
        return failed(Reason.NOT_FINITE, f"{item.spec.text} is {result.value}")
    failure = result.failure
    if failure and target.table.shown:
        failure = replace(failure, detail=failure.detail.replace(target.table.location, target.table.shown))
    return replace(result, failure=failure, detail=told(item.spec, target.sensitive, result.detail))


def _fingerprint(row: Measurement, own: str) -> str:
    """Of all the measurement was taken from, inputs included; empty where it cannot be told."""
    parts = [own, *sorted(part.fingerprint for part in row.inputs.all())]
    if reads_others(row.metric) or not all(parts):
        return ""  # it reads other tables too
    return own if len(parts) == 1 else blake2s("\0".join(parts).encode(), digest_size=16).hexdigest()


def _reusable(scan: Scan, rows: Sequence[Measurement], fingerprints: Mapping[int, str]) -> dict[int, Measurement]:
    """For each measurement the newest earlier one that still says the same of the same data."""
    known = {fingerprint for fingerprint in fingerprints.values() if fingerprint}
    if not known:
        return {}
    earlier = Measurement.objects.filter(
        dataset=scan.dataset_id,
        datacenter=scan.datacenter,
        window_start=scan.window_start,
        window_end=scan.window_end,
        spec_hash__in={row.spec_hash for row in rows},
        fingerprint__in=known,
        measured_at__isnull=False,
        failure_reason="",
    ).order_by("measured_at")
    newest = {(twin.spec_hash, twin.fingerprint): twin for twin in earlier}
    twins = {row.pk: newest.get((row.spec_hash, fingerprints[row.pk])) for row in rows}
    return {row.pk: twin for row in rows if (twin := twins[row.pk]) and _is_new_enough(twin, row.accept_from)}


def _is_new_enough(twin: Measurement, accept_from: datetime | None) -> bool:
    return accept_from is None or (twin.measured_at is not None and twin.measured_at >= accept_from)


def _all_failed(measurements: Sequence[Measurement], detail: str) -> ScanReading:
    failure = failed(Reason.UNREADABLE, detail)
    return ScanReading(results={row.pk: failure for row in measurements}, error=detail)
