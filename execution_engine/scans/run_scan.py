"""Work the scans of a datacenter: begin, read outside any transaction, write everything in one."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from time import monotonic
from typing import Any

import structlog
from django.db import connection
from django.db.models import Q, prefetch_related_objects
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.catalog.selectors import with_replicas
from assay.clock import instant_of
from assay.config import config
from assay.database.statements import update_each
from assay.models import Dataset, Tallied
from assay.queue.claims import (
    UnableToFinish,
    claim,
    finish,
    finish_all,
    heartbeat,
    in_transaction,
    is_in_rounds,
    leased,
    log_ids,
    tallied_together,
    tally,
)
from assay.queue.flow import stage
from assay.time.windows import Window
from execution_engine.engines.protocol import Measured, failed
from execution_engine.exact import digits_of
from execution_engine.freshness.derive import is_derived
from execution_engine.models import MAX_ATTEMPTS, Measurement, Scan
from execution_engine.outcome import Reason
from execution_engine.parts.selectors import keeps_states
from execution_engine.parts.state_store import STATE, keep_state
from execution_engine.planning.planner import hash_of
from execution_engine.planning.turns import KINDS, Bounds, full, turn
from execution_engine.quarantine import note_ends, times_ended
from execution_engine.read_by import ReadBy
from execution_engine.watch import note_fingerprints

from .open_scans import BegunScan, Place, ScanReading
from .wake import wake

# Write what scans gave: their measurements, what was seen of the data, and what goes on from there.

Ended = tuple[BegunScan, ScanReading]
WRITTEN = (
    "measured_at",
    "value",
    "exact",
    *STATE,
    "detail",
    "failure_reason",
    "failure_detail",
    "fingerprint",
)
ENDED = ("ended_at", "spark_jobs", "read_by", "taken", "reused", "seconds", "error", "fingerprint")


def close_scans(ended: Sequence[Ended]) -> bool:
    """Within one transaction, all that began together, or UnableToFinish where the lease of one was lost.

    What they measured is as of their beginning. Whether other scans were ordered after them.
    """
    now = ended[0][0].scan.started_at
    assert now
    for begun, reading in ended:
        _fill_all(begun, reading, now)
        scan = begun.scan
        scan.ended_at, scan.error, scan.fingerprint = now, reading.error, reading.fingerprint
        scan.spark_jobs, scan.seconds, scan.read_by = reading.spark_jobs, reading.seconds, reading.read_by.to_json()
        scan.taken, scan.reused = len(reading.results), len(reading.adopted)
    finish_all([begun.scan for begun, _ in ended], *ENDED)
    measurements = [row for begun, _ in ended for row in begun.measurements]
    update_each(measurements, WRITTEN)
    note_fingerprints([reading.seen(begun.scan) for begun, reading in ended], now)
    datasets = {begun.scan.dataset_id: begun.scan.dataset for begun, _ in ended}
    ordered = wake([row.pk for row in measurements], now, datasets)
    with tallied_together():
        for begun, reading in ended:
            tally(Tallied.SCANS_FAILED if reading.error else Tallied.SCANS, begun.scan.datacenter)
            tally(Tallied.SCAN_SECONDS, begun.scan.datacenter, reading.seconds)
            _tally_values(reading.read_by)
    return ordered


def _tally_values(read_by: ReadBy) -> None:
    """What Spark read is the sum of its kinds, and not counted once more."""
    for reader, values in (("footers", read_by.footers), ("kernels", read_by.kernels)):
        if values:
            tally(Tallied.VALUES, reader, values)
    for kind, values in read_by.left_by_kind.items():
        tally(Tallied.VALUES_LEFT, kind, values)


def _fill_all(begun: BegunScan, reading: ScanReading, now: datetime) -> None:
    scan, measurements = begun.scan, begun.measurements
    results = note_ends(scan, measurements, reading.results, alone=reading.alone, known=reading.ends, now=now)
    for row in measurements:
        twin = reading.adopted.get(row.pk)
        if twin is not None:
            for name in WRITTEN:
                setattr(row, name, getattr(twin, name))
        else:
            _fill(row, results[row.pk], reading.fingerprints.get(row.pk, ""), now)


def _fill(row: Measurement, result: Measured, fingerprint: str, now: datetime) -> None:
    row.measured_at = now
    row.value = None if result.value is None else float(result.value)
    row.exact = digits_of(result.value)
    row.detail = dict(result.detail)
    row.fingerprint = fingerprint if result.failure is None else ""
    if result.failure is not None:
        row.failure_reason, row.failure_detail = result.failure.reason.value, result.failure.detail
    keep_state(row, result.state)


# Which scans one process may take together: those that would find the same, and be as many, one after another.


@dataclass(frozen=True, kw_only=True)
class WaitingMeasurement:
    """A measurement without a scan, for want of its inputs."""

    place: Place
    turn: int  # of the scan that it will have
    derived: bool  # from its inputs alone: it will have none
    inputs: set[int] = field(default_factory=set)  # those that are not in: ids


@dataclass(frozen=True, kw_only=True)
class Awaited:
    """What waits for the measurements of some scans."""

    measurements: dict[int, WaitingMeasurement]  # by id
    scans: dict[int, set[int]]  # ids of their inputs, by the id of the scan that takes them


def apart(scans: list[Scan]) -> list[Scan]:
    """Of free scans, in their order, the first ones: as many as change nothing for each other.

    One ends before the next begins: what it wakes may be asked of the next one's place, and be read with it, or may
    come before it. Then the next one waits. A scan that was tried before is taken alone, as its worker may have died
    of it.
    """
    if len(scans) == 1 or scans[0].attempts:
        return scans[:1]
    known = awaited(scans)
    taken: list[Scan] = []
    places: set[Place] = set()
    turns: set[int] = set()
    measured: set[int] = set()
    for scan in scans:
        place = (scan.dataset_id, scan.datacenter, scan.window)
        if place in places or any(earlier < scan.turn for earlier in turns):
            break
        taken.append(scan)
        places.add(place)
        measured |= known.scans.get(scan.pk, set())
        for woken in _woken(known, measured):
            places.add(woken.place)
            turns.add(woken.turn)
    return taken


def _woken(known: Awaited, measured: set[int]) -> list[WaitingMeasurement]:
    """What is to be scanned once these are measured; adds to them what is derived from them."""
    ready: dict[int, WaitingMeasurement] = {}
    while new := {pk: row for pk, row in known.measurements.items() if pk not in ready and row.inputs <= measured}:
        ready |= new
        measured |= {pk for pk, row in new.items() if row.derived}
    return [row for row in ready.values() if not row.derived]


def awaited(scans: Sequence[Scan]) -> Awaited:
    """What waits for these scans, at once or through what is derived in between: one statement."""
    quote = connection.ops.quote_name
    marks = ", ".join(["%s"] * len(scans))
    tables = {
        "links": quote(Measurement.inputs.through._meta.db_table),
        "measurements": quote(Measurement._meta.db_table),
        "datasets": quote(Dataset._meta.db_table),
    }
    with connection.cursor() as cursor:
        cursor.execute(_AWAITED.format(marks=marks, **tables), [scan.pk for scan in scans])
        found = cursor.fetchall()
    known = Awaited(measurements={}, scans={})
    for pk, spec, dataset_id, datacenter, start, end, tier, part, scan_id in found:
        if pk not in known.measurements:
            name = json.loads(spec)["name"]
            window = Window(start=instant_of(start), end=instant_of(end))
            known.measurements[pk] = WaitingMeasurement(
                place=(dataset_id, datacenter, window), turn=turn(tier), derived=is_derived(name)
            )
        known.measurements[pk].inputs.add(part)
        known.scans.setdefault(scan_id, set()).add(part)
    return known


_AWAITED = """
    WITH RECURSIVE users (id) AS (
        SELECT link.from_measurement_id FROM {measurements} own JOIN {links} link ON link.to_measurement_id = own.id
        WHERE own.scan_id IN ({marks}) AND own.measured_at IS NULL
        UNION
        SELECT link.from_measurement_id FROM users JOIN {links} link ON link.to_measurement_id = users.id
    )
    SELECT waiting.id, waiting.spec, waiting.dataset_id, waiting.datacenter, waiting.window_start, waiting.window_end,
        dataset.tier, part.id, part.scan_id
    FROM users
    JOIN {measurements} waiting ON waiting.id = users.id
    JOIN {datasets} dataset ON dataset.id = waiting.dataset_id
    JOIN {links} link ON link.from_measurement_id = waiting.id
    JOIN {measurements} part ON part.id = link.to_measurement_id
    WHERE waiting.measured_at IS NULL AND waiting.scan_id IS NULL AND part.measured_at IS NULL
"""


# Slow scans in a lane of their own: where one process works everything, they hold up nothing but each other.
#
# A dataset is slow while one of its scans of the last day has taken long, as one does that ran to its deadline.

REMEMBERED = timedelta(days=1)
SLOW_SECONDS = 60.0  # or half of the deadline, where that is less


class Lane(StrEnum):
    """Which scans a thread takes; all of them where it has no lane."""

    QUICK = "quick"
    SLOW = "slow"


_lane: ContextVar[Lane | None] = ContextVar("lane", default=None)


@contextmanager
def only(lane: Lane) -> Iterator[None]:
    """Take only the scans of this lane meanwhile."""
    token = _lane.set(lane)
    try:
        yield
    finally:
        _lane.reset(token)


def scans_of_lane(now: datetime) -> Q:
    """A condition on the scans that this thread may take; an empty one where it may take all."""
    lane = _lane.get()
    if lane is None:
        return Q()
    is_slow = Q(dataset_id__in=slow_datasets(now))
    return is_slow if lane is Lane.SLOW else ~is_slow


def slow_datasets(now: datetime) -> list[int]:
    """The datasets of which a scan took long of late, by id."""
    least = min(SLOW_SECONDS, config().scan_deadline_seconds / 2)
    rows = Scan.objects.filter(ended_at__gt=now - REMEMBERED, seconds__gte=least)
    return sorted(set(rows.values_list("dataset_id", flat=True)))


log = structlog.get_logger(__name__)

MOST_UNWRITTEN_SECONDS = 2.0  # of reading; then what was found is written before more is read
MOST_AT_A_TIME = 20  # then the task ends, so that a worker asked to stop does not go on until nothing is pending


def scan_pending(datacenter: str | None = None, *, worker: str = "") -> int:
    """Work pending scans, of one datacenter or of all; how many there were, at most ``MOST_AT_A_TIME``.

    Each is claimed only when its turn has come: a lease that waited behind another's reading would run out, and would
    keep other workers from it. Where one process does everything, it claims together those that change nothing for
    each other, so that most statements are asked once for all of them.
    """
    total, is_more = 0, True
    while is_more and total < MOST_AT_A_TIME:
        scans, is_more = _next(datacenter, MOST_AT_A_TIME - total, worker)
        total += len(scans)
        is_more = bool(scans) and (_attempt(scans) or is_more)
    return total


def _next(datacenter: str | None, most: int, worker: str) -> tuple[list[Scan], bool]:
    """The next scans that may begin, claimed and begun, so that nothing is added to them; whether there may be more."""
    filters: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    now, together, is_more = clock.now(), is_in_rounds(), True

    def fit(free: list[Scan]) -> list[Scan]:
        nonlocal is_more
        fitting = apart(free)
        is_more = len(fitting) < len(free)
        return fitting

    may = scans_of_lane(now)
    scans = claim(
        stage("scan"),
        now=now,
        limit=most if together else 1,
        may=may if together else may & may_begin(datacenter),  # one thread reads one after another
        fit=fit if together else None,
        also={"started_at": now, "open_key": None, "worker": worker},
        **filters,
    )
    return scans, is_more


def run_scan(scan: Scan, *, worker: str = "") -> None:
    """Take the measurements of a claimed scan; raises UnableToFinish when its lease was lost meanwhile."""
    now = clock.now()
    rows = Scan.objects.filter(pk=scan.pk, epoch=scan.epoch)
    if rows.update(started_at=now, open_key=None, worker=worker) != 1:
        raise UnableToFinish(f"{scan}: claimed again since epoch {scan.epoch}")
    scan.started_at, scan.open_key, scan.worker = now, None, worker
    _take_alone(*_begun([scan]))


def _attempt(scans: Sequence[Scan]) -> bool:
    """Take the measurements of scans that have begun; whether others were ordered after them.

    What goes wrong with one of them is logged, and stays with it.
    """
    first = scans[0]
    with bound_contextvars(**(log_ids("scan", first) if len(scans) == 1 else {"stage": "scan"})):
        try:
            begun = _begun(scans)
            return _take_alone(*begun) if len(begun) == 1 else _take_together(begun)
        except UnableToFinish as lost:
            log.warning("lease lost", of=str(first), why=str(lost))
        except Exception:
            log.exception("scan failed", of=str(first), scans=len(scans), attempts=first.attempts)
    return False


def _begun(scans: Sequence[Scan]) -> list[BegunScan]:
    """The scans with their datasets, and with all that they are to measure."""
    datasets = with_replicas({scan.dataset_id for scan in scans})
    found: dict[int | None, list[Any]] = {scan.pk: [] for scan in scans}
    assert scans[0].started_at
    wanted = Measurement.objects.filter(scan__in=list(found), measured_at__isnull=True)
    known = {"ends": times_ended(scans[0].started_at), "keeps_states": keeps_states("dataset_id")}
    rows: list[Any] = list(wanted.annotate(**known).order_by("pk"))
    _fetch_inputs(rows)
    for row in rows:
        row.dataset = datasets[row.dataset_id]
        found[row.scan_id].append(row)
    for scan in scans:
        scan.dataset = datasets[scan.dataset_id]
    return [
        BegunScan(
            scan=scan,
            measurements=found[scan.pk],
            ends={row.pk: row.ends for row in found[scan.pk] if row.ends is not None},
            keeps_states=any(row.keeps_states for row in found[scan.pk]),
        )
        for scan in scans
    ]


def _fetch_inputs(rows: Sequence[Measurement]) -> None:
    """Of measurements that have some: those whose hash is not that of what is measured alone."""
    without = [row for row in rows if row.spec_hash == hash_of(row.metric, whole_table=row.is_of_whole_table)]
    for row in without:
        row._prefetched_objects_cache = {"inputs": Measurement.objects.none()}  # type: ignore[attr-defined]
    prefetch_related_objects([row for row in rows if row not in without], "inputs")


def _take_alone(begun: BegunScan) -> bool:
    """One scan, which may have been tried before; whether others were ordered after it."""
    scan, measurements = begun.scan, begun.measurements
    assert scan.started_at
    if scan.attempts == MAX_ATTEMPTS and len(measurements) > 1:
        in_transaction(lambda: _split(begun))
        return True
    if scan.attempts > MAX_ATTEMPTS:
        failure = failed(Reason.LEASE_LOST, f"{MAX_ATTEMPTS} workers were lost while they read this")
        reading = ScanReading(results={row.pk: failure for row in measurements}, error=str(failure.failure))
    else:
        from .reading import read  # with it pyarrow and numpy, for which no gate should wait

        with heartbeat(scan):
            ((_, reading),) = read([begun])
    return in_transaction(lambda: close_scans([(begun, reading)]))


def _take_together(begun: Sequence[BegunScan]) -> bool:
    """Scans that nobody has tried before; whether others were ordered after them."""
    from .reading import read

    ended: list[Ended] = []
    ordered, since = False, monotonic()
    with heartbeat(*(each.scan for each in begun)):
        for each in read(begun):
            ended.append(each)
            _, reading = each
            # what is read next must know of an abnormal end, and what was found waits for no long reading
            if reading.is_abnormal or monotonic() - since >= MOST_UNWRITTEN_SECONDS:
                ordered |= _close(ended)
                ended, since = [], monotonic()
        return (bool(ended) and _close(ended)) or ordered


def _close(ended: Sequence[Ended]) -> bool:
    """Write what scans found, all in one transaction; each in its own where that fails."""
    if len(ended) > 1:
        try:
            return in_transaction(lambda: close_scans(ended))
        except Exception as error:
            log.info("not together, so one by one", scans=len(ended), why=f"{type(error).__name__}: {error}"[:500])
    ordered = [_close_alone(*each) for each in ended]
    return any(ordered)


def _close_alone(begun: BegunScan, reading: ScanReading) -> bool:
    scan = begun.scan
    with bound_contextvars(**log_ids("scan", scan)):
        try:
            return in_transaction(lambda: close_scans([(begun, reading)]))
        except UnableToFinish as lost:
            log.warning("lease lost", of=str(scan), why=str(lost))
        except Exception:
            log.exception("scan failed", of=str(scan), attempts=scan.attempts)
    return False


def _split(begun: BegunScan) -> None:
    """Give each measurement a scan of its own: one of them may be what its workers die of."""
    scan = begun.scan
    for row in begun.measurements:
        row.scan = Scan.objects.create(
            dataset=scan.dataset,
            datacenter=scan.datacenter,
            window_start=scan.window_start,
            window_end=scan.window_end,
            turn=scan.turn,
            owner=scan.owner,
            engine=scan.engine,
            created_at=scan.created_at,
        )
        row.save(update_fields=["scan"])
    finish(scan, ended_at=scan.started_at, error=f"{scan.attempts - 1} workers were lost with it: measured one by one")
    tally(Tallied.SCANS_FAILED, scan.datacenter)


def bounds() -> Bounds:
    """The bounds of the settings."""
    settings = config()
    return {
        "dataset_id": settings.scans_per_dataset,
        "owner": settings.scans_per_owner,
        "engine": settings.scans_per_engine,
    }


def may_begin(datacenter: str | None, most: Bounds | None = None) -> Q:
    """A condition on scans that leaves out those of whatever is at its bound."""
    running = Scan.objects.filter(leased(clock.database_now()))
    if datacenter:
        running = running.filter(datacenter=datacenter)
    allowed = Q()
    for each in full(running.values("datacenter", *KINDS), bounds() if most is None else most):
        allowed &= ~Q(**{"datacenter": each.datacenter, f"{each.kind}__in": sorted(each.values, key=str)})
    return allowed
