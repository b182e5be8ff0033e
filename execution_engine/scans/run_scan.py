"""Work the scans of a datacenter: begin, read outside any transaction, write everything in one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from time import monotonic
from typing import Any

import structlog
from django.db.models import Q, prefetch_related_objects
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.catalog.selectors import with_replicas
from assay.config import config
from assay.database.statements import update_each
from assay.models import Dataset, Tallied
from assay.queue.claims import (
    UnableToFinish,
    claim,
    finish,
    finish_all,
    heartbeat,
    in_one_transaction,
    in_transaction,
    is_in_rounds,
    leased,
    log_ids,
    pending,
    tallied_together,
    tally,
)
from assay.queue.flow import stage
from execution_engine.exact import digits_of
from execution_engine.freshness.derive import is_derived, settle_derived
from execution_engine.models import MAX_ATTEMPTS, Ask, Measurement, Run, Scan
from execution_engine.outcome import Reason
from execution_engine.parts.state_store import STATE, keep_state
from execution_engine.planning.planner import hash_of
from execution_engine.planning.schedules import KINDS, Bounds, at_bound
from execution_engine.quarantine import ends_before, note_ends
from execution_engine.read_by import FallbackKind
from execution_engine.selectors import keeping_states
from execution_engine.watch import note_fingerprints

from .ask import ScanReading, open_scans, scans_for

log = structlog.get_logger(__name__)

MOST_UNWRITTEN_SECONDS = 2.0  # of reading; then what was found is written before more is read
MOST_AT_A_TIME = 20  # then the task ends, so that a worker asked to stop does not go on until nothing is pending
WRITTEN = ("measured_at", "value", "exact", *STATE, "detail", "failure_reason", "failure_detail", "fingerprint")
ENDED = ("ended_at", "spark_jobs", "read_by", "taken", "reused", "seconds", "error", "fingerprint")


def scan_pending(datacenter: str | None = None, *, worker: str = "") -> int:
    """Work pending scans, of one datacenter or of all; how many there were, at most ``MOST_AT_A_TIME``.

    Each is claimed only when its turn has come: a lease that waited behind another's reading would run out, and would
    keep other workers from it. Where one process does everything, it claims several at once, so that most statements
    are asked once for all of them.
    """
    filters: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    total = 0
    while total < MOST_AT_A_TIME:
        now, may = clock.now(), scans_of_lane(clock.now())
        if _lane.get() is Lane.SLOW and not pending(stage("scan"), now, **filters).filter(may).exists():
            break  # it asks each second: on SQLite each claim would wait for whoever writes
        scans = claim(
            stage("scan"),
            now=now,
            limit=MOST_AT_A_TIME - total if is_in_rounds() else 1,
            may=may if is_in_rounds() else may & may_begin(datacenter),  # one thread reads one after another
            also={"started_at": now, "open_key": None, "worker": worker},  # nothing is added to what has begun
            second_try=1,  # its worker may have died of it, and at the third try it is split unread
            **filters,
        )
        if not scans:
            break
        total += len(scans)
        with _log_failure(*scans):
            _take(scans)
    return total


@contextmanager
def _log_failure(*scans: Scan) -> Iterator[None]:
    """What goes wrong is logged, and stays with these scans; each line has the id of a scan that is alone."""
    first = scans[0]
    with bound_contextvars(**(log_ids("scan", first) if len(scans) == 1 else {"stage": "scan"})):
        try:
            yield
        except UnableToFinish as lost:
            log.warning("lease lost", of=str(first), scans=len(scans), why=str(lost))
        except Exception:
            log.exception("scan failed", of=str(first), scans=len(scans), attempts=first.attempts)


def _take(scans: Sequence[Scan]) -> None:
    datasets = with_replicas({scan.dataset_id for scan in scans})
    unmeasured = Measurement.objects.filter(scan__in=[scan.pk for scan in scans], measured_at__isnull=True)
    rows: list[Any] = list(unmeasured.order_by("pk"))
    for row in rows:
        row.dataset = datasets[row.dataset_id]
        alone = hash_of(row.metric, whole_table=row.is_of_whole_table, as_of=row.as_of)
        if row.spec_hash == alone:  # that of what is measured without inputs
            row._prefetched_objects_cache = {"inputs": Measurement.objects.none()}
    prefetch_related_objects([row for row in rows if not hasattr(row, "_prefetched_objects_cache")], "inputs")
    assert scans[0].started_at
    ends, keeping = ends_before(rows, scans[0].started_at), keeping_states(datasets)
    begun = []
    for scan in scans:
        scan.dataset = datasets[scan.dataset_id]
        own = [row for row in rows if row.scan_id == scan.pk]
        keeps = scan.dataset_id in keeping
        begun.append(ScanReading(scan=scan, measurements=own, ends=ends, keeps_states=keeps))
    first, *others = begun
    if not others and first.scan.attempts == MAX_ATTEMPTS and len(first.measurements) > 1:
        in_transaction(lambda: _split(first))
        return
    if not others and first.scan.attempts > MAX_ATTEMPTS:
        first.fail(Reason.LEASE_LOST, f"{MAX_ATTEMPTS} workers were lost while they read this")
        _close([first])
        return
    from .reading import read  # with it pyarrow and numpy, for which no gate should wait

    ended: list[ScanReading] = []
    since = monotonic()
    with heartbeat(*scans):
        for reading in read(begun):
            ended.append(reading)
            # what is read next must know of an abnormal end, and what was found waits for no long reading
            if reading.is_abnormal or monotonic() - since >= MOST_UNWRITTEN_SECONDS:
                _close(ended)
                ended, since = [], monotonic()
        _close(ended)


def _split(reading: ScanReading) -> None:
    """Give each measurement a scan of its own: one of them may be what its workers die of."""
    scan = reading.scan
    names = ("dataset", "datacenter", "window_start", "window_end", "turn", "owner", "engine", "created_at")
    for row in reading.measurements:
        row.scan = Scan.objects.create(**{name: getattr(scan, name) for name in names})
        row.save(update_fields=["scan"])
    finish(scan, ended_at=scan.started_at, error=f"{scan.attempts - 1} workers were lost with it: measured one by one")
    tally(Tallied.SCANS_FAILED, scan.datacenter)


# Write what scans gave: their measurements, what was seen of the data, and what goes on from there.


def _close(ended: Sequence[ScanReading]) -> None:
    """Write what scans found, all in one transaction; each in its own where that fails."""
    if len(ended) > 1 and in_one_transaction("scan", lambda: close_scans(ended), scans=len(ended)):
        return
    for reading in ended:
        with _log_failure(reading.scan):
            in_transaction(lambda: close_scans([reading]))  # noqa: B023  # it is run at once


def close_scans(ended: Sequence[ScanReading]) -> None:
    """Within one transaction, all that began together, or UnableToFinish where the lease of one was lost.

    What they measured is as of their beginning.
    """
    now = ended[0].scan.started_at
    assert now
    for reading in ended:
        results = note_ends(
            reading.scan, reading.measurements, reading.results, alone=reading.alone, earlier_ends=reading.ends, now=now
        )
        for row in reading.measurements:
            row.snapshot = reading.snapshots.get(row.pk, "")
            if (twin := reading.adopted.get(row.pk)) is not None:
                for name in WRITTEN:
                    setattr(row, name, getattr(twin, name))
                continue
            result = results[row.pk]
            row.measured_at = now
            row.value = None if result.value is None else float(result.value)
            row.exact = digits_of(result.value)
            row.detail = dict(result.detail)
            row.fingerprint = reading.fingerprints.get(row.pk, "") if result.failure is None else ""
            if result.failure is not None:
                row.failure_reason, row.failure_detail = result.failure.reason.value, result.failure.detail
            keep_state(row, result.state)
        scan = reading.scan
        scan.ended_at, scan.error, scan.fingerprint = now, reading.error, reading.fingerprint
        scan.spark_jobs, scan.seconds, scan.read_by = reading.spark_jobs, reading.seconds, reading.read_by.to_json()
        scan.taken, scan.reused = len(reading.results), len(reading.adopted)
    finish_all([reading.scan for reading in ended], *ENDED)
    measurements = [row for reading in ended for row in reading.measurements]
    update_each(measurements, (*WRITTEN, "snapshot"))
    note_fingerprints([reading.seen for reading in ended], now)
    wake([row.pk for row in measurements], now, {reading.scan.dataset_id: reading.scan.dataset for reading in ended})
    with tallied_together():
        for reading in ended:
            tally(Tallied.SCANS_FAILED if reading.error else Tallied.SCANS, reading.scan.datacenter)
            tally(Tallied.SCAN_SECONDS, reading.scan.datacenter, reading.seconds)
            for reader, values in (("footers", reading.read_by.footers), ("kernels", reading.read_by.kernels)):
                if values:  # what Spark read is the sum of its kinds, and not counted once more
                    tally(Tallied.VALUES, reader, values)
            for kind, values in reading.read_by.left_by_kind.items():
                tally(Tallied.VALUES_LEFT, kind, values)
    for why in {left.why for reading in ended for left in reading.read_by.left if left.kind is FallbackKind.EXECUTORS}:
        _warn_of_executors(why)


@cache
def _warn_of_executors(why: str) -> None:
    """Once in a process: what costs each scan several times as much is no silence."""
    log.warning("kernels are left to Spark", why=why)


def wake(measured: Collection[int], now: datetime, datasets: Mapping[int, Dataset]) -> None:
    """Go on with everything that waited only for these measurements (ids): compute, scan and evaluate it.

    ``datasets``: those that the caller has read with their replicas, by id.
    """
    done = frontier = set(measured)
    while frontier:
        ready = _with_all_inputs(frontier)
        derived = {row: inputs for row, inputs in ready.items() if is_derived(row.metric.name)}
        settle_derived(derived, now)
        places = {row: (row.dataset_id, row.datacenter, row.window) for row in ready if row not in derived}
        if places:
            scans = scans_for(list(places.values()), open_scans(set(places.values())), now, datasets=datasets)
            for row, place in places.items():
                row.scan = scans[place]
            update_each(list(places), ("scan",))
        frontier = {row.pk for row in derived}
        done |= frontier
    # the runs whose measurements are all in, locked before that is looked at, for the same reason as measurements
    asking = Ask.objects.filter(measurement__in=done)
    locked = Run.objects.select_for_update().filter(
        ready_at__isnull=True, pk__in=sorted(set(asking.values_list("run_id", flat=True)))
    )
    runs = set(locked.order_by("pk").values_list("pk", flat=True))
    waiting = Ask.objects.filter(measurement__measured_at__isnull=True, run__in=runs)
    if ready_runs := runs and runs - set(waiting.values_list("run_id", flat=True)):
        Run.objects.filter(pk__in=ready_runs).update(ready_at=now)


def _with_all_inputs(measured: Collection[int]) -> dict[Measurement, list[Measurement]]:
    """Measurements that waited for these, and now wait for nothing else, each with its inputs.

    They are locked before their inputs are looked at: of two scans that end together the second sees both.
    """
    links = Measurement.inputs.through.objects
    waiting = Measurement.objects.select_for_update().filter(
        measured_at__isnull=True,
        scan__isnull=True,
        pk__in=links.filter(to_measurement__in=measured).values("from_measurement_id"),
    )
    keys = list(waiting.order_by("pk").values_list("pk", flat=True))
    if not keys:
        return {}
    rows = links.filter(from_measurement__in=keys).select_related("from_measurement__dataset", "to_measurement")
    users: dict[Measurement, list[Measurement]] = {}
    for link in rows.defer("from_measurement__state", "to_measurement__state").order_by("from_measurement", "pk"):
        users.setdefault(link.from_measurement, []).append(link.to_measurement)
    return {user: inputs for user, inputs in users.items() if all(part.measured_at for part in inputs)}


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


def may_begin(datacenter: str | None, most: Bounds | None = None) -> Q:
    """A condition on scans that leaves out those of whatever is at its bound (that of the settings)."""
    if most is None:
        settings = config()
        most = {
            "dataset_id": settings.scans_per_dataset,
            "owner": settings.scans_per_owner,
            "engine": settings.scans_per_engine,
        }
    running = Scan.objects.filter(leased(clock.database_now()))
    if datacenter:
        running = running.filter(datacenter=datacenter)
    allowed = Q()
    for place, kind, value in at_bound(running.values("datacenter", *KINDS), most):
        allowed &= ~Q(**{"datacenter": place, kind: value})
    return allowed
