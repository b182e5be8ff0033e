"""Take the measurements of scans: what is still true is reused, the rest of each is read from its data in one call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import blake2s
from math import isfinite

import structlog

from assay.catalog.locations import UnableToUseLocation
from assay.catalog.place_limits import PlacedDataset
from assay.catalog.selectors import by_names, home, sensitive_columns
from assay.catalog.selectors import replica as replica_of
from assay.catalog.services import limited_datasets
from assay.config import config
from assay.models import Dataset
from assay.time.windows import Window
from execution_engine.disclosure import full_name_of, tables_of, told
from execution_engine.engines.protocol import Engine, Measured, Part, ScanReport, Table, Wanted, failed
from execution_engine.freshness.derive import input_failure
from execution_engine.metrics.definition import SERVICE, ArgumentType, Kind
from execution_engine.metrics.registry import METRICS
from execution_engine.metrics.spec import MetricSpec
from execution_engine.models import Measurement
from execution_engine.outcome import ABNORMAL, Reason
from execution_engine.parts.part_states import scan_by_parts
from execution_engine.parts.state_store import UnableToLoadState, state_of
from execution_engine.quarantine import MOST_ENDS_OF_A_SCAN, NOT_TRIED, Group, ends_before, groups
from execution_engine.read_by import together
from execution_engine.storage import engine_of, extent_of, table_of
from execution_engine.watch import seen_before

from .ask import input_name, settled_by
from .open_scans import BegunScan, ScanReading

# Which tables a metric reads beside its own, a user's query above all, resolved in the catalog.


def tables_read(metric: MetricSpec, dataset: Dataset, datacenter: str) -> dict[str, Table]:
    """The tables that the metric names and the catalog has, in the same datacenter where they have a replica there.

    A name without a namespace has the dataset's. Names that are not found are left out; the engine refuses them.
    """
    names = names_read(metric)
    if not names:
        return {}
    meant = {name: full_name_of(name, dataset.full_name) for name in names}
    found = by_names(meant.values())
    return {name: table for name, full in meant.items() if full in found and (table := _table(found[full], datacenter))}


def names_read(metric: MetricSpec) -> list[str]:
    """The names in a query, or the dataset that a metric compares with; not of one that builds on others' states."""
    definition = METRICS[metric.name]
    if queries := definition.signature.texts(ArgumentType.QUERY, metric.arguments):
        return [name for query in queries for name in sorted(set(tables_of(query)))]
    return [] if definition.inputs else definition.signature.texts(ArgumentType.DATASET, metric.arguments)


def reads_others(metric: MetricSpec) -> bool:
    """Whether what is measured may hang on more than the metric's own table; a query's always may."""
    return ArgumentType.QUERY in METRICS[metric.name].signature.arguments or bool(names_read(metric))


def _table(dataset: Dataset, datacenter: str) -> Table | None:
    if not dataset.replicas.all() or dataset.business_metric is not None:
        return None
    try:
        return table_of(dataset, replica_of(dataset, datacenter) or home(dataset))
    except UnableToUseLocation:
        return None


log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Target:
    """What a scan reads, and with what."""

    engine: Engine
    table: Table
    part: Part
    strays: tuple[str, ...] | None = None  # the keys of the rows that lie in no partition
    sensitive: frozenset[str] = frozenset()

    @property
    def fingerprint(self) -> str:
        """What its data looks like now; empty where that cannot be told."""
        return self.engine.fingerprint(self.table, self.part) or ""


@dataclass(kw_only=True)
class Portion:
    """The measurements of a scan that read one part of its table, and what that looks like."""

    rows: Sequence[Measurement]
    target: Target
    fingerprint: str


@dataclass(kw_only=True)
class LookedAt:
    """A scan, what was found of it so far, and the parts of its table that it may read: that of its window first."""

    begun: BegunScan
    reading: ScanReading
    portions: Sequence[Portion] = ()

    def missing(self, portion: Portion) -> list[Measurement]:
        """What could not be adopted."""
        return [row for row in portion.rows if row.pk not in self.reading.adopted]


def read(begun: Sequence[BegunScan]) -> Iterator[tuple[BegunScan, ScanReading]]:
    """Everything that scans which began together are to measure, one scan after another.

    A failure of the engine is a failure of each measurement of its scan, never an exception. If something ended
    abnormally, that is to be written before the next scan is asked for.
    """
    limited = limited_datasets()
    looked = [_look(each, limited) for each in begun]
    _adopt(looked)
    _note_news(looked)
    has_read, is_known = False, True
    for each in looked:
        if any(each.missing(portion) for portion in each.portions):
            scan, rows = each.begun.scan, each.begun.measurements
            assert scan.started_at
            _read(each, each.begun.ends if is_known else ends_before(rows, scan.started_at), is_first=not has_read)
            has_read = True
        yield each.begun, each.reading
        is_known = is_known and not each.reading.is_abnormal


def _look(begun: BegunScan, limited: Sequence[PlacedDataset]) -> LookedAt:
    try:
        return _look_at(begun, limited)
    except Exception as error:
        return LookedAt(begun=begun, reading=_unforeseen(begun, error))


def _look_at(begun: BegunScan, limited: Sequence[PlacedDataset]) -> LookedAt:
    """What a scan's data looks like, without reading it."""
    scan = begun.scan
    replica = replica_of(scan.dataset, scan.datacenter)
    if replica is None:
        return LookedAt(
            begun=begun, reading=_all_failed(begun, f"{scan.dataset} has no replica in {scan.datacenter} any more")
        )
    try:
        table = table_of(scan.dataset, replica, limited)
    except UnableToUseLocation as error:
        return LookedAt(begun=begun, reading=_all_failed(begun, f"{scan.dataset} in {scan.datacenter}: {error}"))
    engine = engine_of(replica)
    of_table = [row for row in begun.measurements if row.is_of_whole_table]
    extent = extent_of(scan.dataset, scan.window, engine, table, with_strays=bool(of_table))
    target = Target(engine=engine, table=table, part=extent.part, sensitive=sensitive_columns(scan.dataset))
    own = Portion(
        rows=[row for row in begun.measurements if not row.is_of_whole_table],
        target=target,
        fingerprint=target.fingerprint,
    )
    portions = [own]
    if of_table:
        whole = replace(target, part=extent.whole, strays=extent.strays)
        is_more = whole.part != target.part
        print_ = whole.fingerprint if is_more else own.fingerprint
        portions.append(Portion(rows=of_table, target=whole, fingerprint=print_))
    return LookedAt(begun=begun, reading=ScanReading(fingerprint=own.fingerprint), portions=portions)


def _adopt(looked: Sequence[LookedAt]) -> None:
    """Reuse what is still true of data that looks as it does."""
    prints = {
        row: _fingerprint(row, portion.fingerprint)
        for each in looked
        for portion in each.portions
        for row in portion.rows
    }
    adopted = _reusable(prints)
    for each in looked:
        rows = [row for portion in each.portions for row in portion.rows]
        each.reading.fingerprints = {row.pk: prints[row] for row in rows}
        each.reading.adopted = {row.pk: adopted[row.pk] for row in rows if row.pk in adopted}


def _note_news(looked: Sequence[LookedAt]) -> None:
    """When the newest file came, of data that was never seen as it is now."""
    found = [each for each in looked if each.portions]
    for number, watch_id in seen_before([each.reading.seen(each.begun.scan) for each in found]).items():
        each = found[number]
        each.reading.watch_id = watch_id
        if watch_id is not None:
            continue
        target = each.portions[0].target
        try:
            each.reading.written_at = target.engine.written_at(target.table, target.part)
        except Exception as error:
            each.reading, each.portions = _unforeseen(each.begun, error), ()


def _read(looked: LookedAt, ends: Mapping[int, int], *, is_first: bool) -> None:
    """Read what is not adopted; what was looked at before other data was read is looked at again."""
    try:
        for portion in looked.portions:
            if not is_first and portion.target.fingerprint != portion.fingerprint:
                _look_again(looked, portion)
            if missing := looked.missing(portion):
                _take(looked, missing, portion.target, ends)
                is_first = False
    except Exception as error:
        looked.reading = _unforeseen(looked.begun, error)


def _look_again(looked: LookedAt, portion: Portion) -> None:
    """Data that was written while other data was read."""
    portion.fingerprint = portion.target.fingerprint
    fresh = LookedAt(
        begun=looked.begun,
        reading=ScanReading(fingerprint=portion.fingerprint),
        portions=[portion],
    )
    _adopt([fresh])
    reading = looked.reading
    reading.fingerprints |= fresh.reading.fingerprints
    kept = {pk: twin for pk, twin in reading.adopted.items() if pk not in fresh.reading.fingerprints}
    reading.adopted = kept | fresh.reading.adopted
    if portion is looked.portions[0]:
        _note_news([fresh])
        reading.fingerprint, reading.written_at = portion.fingerprint, fresh.reading.written_at
        reading.watch_id = fresh.reading.watch_id


def _take(looked: LookedAt, rows: Sequence[Measurement], target: Target, ends: Mapping[int, int]) -> None:
    """Read what could not be reused; what once ended a scan abnormally, apart from the rest.

    ``ends``: how often the metric of each measurement had done so, by its id.
    """
    wanted: list[Wanted] = []
    reading = looked.reading
    for row in rows:
        item = _layout(row, target, reading) or _wanted_alone(row, target)
        if isinstance(item, Wanted):
            wanted.append(item)
        else:
            reading.results[row.pk] = item
    if not wanted:
        return
    reading.ends |= {row.pk: ends[row.pk] for row in rows if row.pk in ends}
    abnormal = 0
    for group in groups(wanted, {str(pk): times for pk, times in reading.ends.items()}):
        if abnormal >= MOST_ENDS_OF_A_SCAN:
            reading.results |= {int(item.key): Measured(failure=NOT_TRIED) for item in group}
        elif _take_group(looked.begun, group, target, reading):
            abnormal += 1


def _take_group(begun: BegunScan, group: Group, target: Target, reading: ScanReading) -> bool:
    """Read a group in as few passes as it allows; whether any of it ended abnormally."""
    report = scan_by_parts(
        target.engine,
        target.table,
        target.part,
        group,
        dataset=begun.scan.dataset,
        datacenter=begun.scan.datacenter,
        keeps=begun.keeps_states,
    )
    _add(reading, report)
    results = {int(item.key): _result(report, item, target) for item in group}
    reading.results |= results
    if len(results) == 1:
        reading.alone |= results.keys()
    return any(result.failure and result.failure.reason in ABNORMAL for result in results.values())


def _add(reading: ScanReading, report: ScanReport) -> None:
    """What one pass has cost."""
    reading.spark_jobs += report.spark_jobs
    reading.seconds += report.seconds
    reading.read_by = together([reading.read_by, report.read_by])


def _layout(row: Measurement, target: Target, reading: ScanReading) -> Measured | None:
    """The rows that lie in no partition, which engines do not know of; None for all other metrics."""
    if METRICS[row.metric.name].kind is not Kind.LAYOUT:
        return None
    is_sensitive = (target.table.partition_column or "").casefold() in target.sensitive
    count = METRICS[row.metric.name].function_for(SERVICE)
    report: ScanReport = count(target.engine, target.table, target.strays, is_sensitive=is_sensitive)
    _add(reading, report)
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


def _reusable(prints: Mapping[Measurement, str]) -> dict[int, Measurement]:
    """By the id of each measurement the newest earlier one that still says the same of the same data."""
    wanted = {row: print_ for row, print_ in prints.items() if print_}
    if not wanted:
        return {}
    earlier = Measurement.objects.filter(
        dataset__in={row.dataset_id for row in wanted},
        datacenter__in={row.datacenter for row in wanted},
        window_start__in={row.window_start for row in wanted},
        window_end__in={row.window_end for row in wanted},
        spec_hash__in={row.spec_hash for row in wanted},
        fingerprint__in=set(wanted.values()),
        measured_at__isnull=False,
        failure_reason="",
    ).order_by("measured_at")
    newest = {(_what(twin), twin.fingerprint): twin for twin in earlier}
    twins = {row: newest.get((_what(row), print_)) for row, print_ in wanted.items()}
    return {row.pk: twin for row, twin in twins.items() if twin and _is_new_enough(twin, row.accept_from)}


def _what(row: Measurement) -> tuple[int, str, Window, str]:
    return row.dataset_id, row.datacenter, row.window, row.spec_hash


def _is_new_enough(twin: Measurement, accept_from: datetime | None) -> bool:
    return accept_from is None or (twin.measured_at is not None and twin.measured_at >= accept_from)


def _unforeseen(begun: BegunScan, error: Exception) -> ScanReading:
    """Engines return what they foresee; whatever else goes wrong must not stop the scans behind this one."""
    log.error("scan failed", of=str(begun.scan), exc_info=error)
    reason = Reason.TIMEOUT if isinstance(error, TimeoutError) else Reason.ENGINE_UNREACHABLE
    failure = failed(reason, f"{type(error).__name__}: {error}"[:1000])
    return ScanReading(results={row.pk: failure for row in begun.measurements}, error=str(failure.failure))


def _all_failed(begun: BegunScan, detail: str) -> ScanReading:
    failure = failed(Reason.UNREADABLE, detail)
    return ScanReading(results={row.pk: failure for row in begun.measurements}, error=detail)
