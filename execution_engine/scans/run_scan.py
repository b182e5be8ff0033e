"""Work the scans of a datacenter: begin, read outside any transaction, write everything in one."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import structlog
from django.db.models import Q
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.config import config
from assay.database.bulk import update_each
from assay.models import Tallied
from assay.queue.claims import UnableToFinish, claim, finish, in_transaction, leased
from assay.queue.flow import stage
from assay.queue.heartbeat import heartbeat
from assay.queue.log_ids import log_ids
from assay.queue.tallies import tally
from execution_engine.engines.protocol import Measured, failed
from execution_engine.exact import digits_of
from execution_engine.models import MAX_ATTEMPTS, Measurement, Scan
from execution_engine.outcome import Reason
from execution_engine.parts.state_store import INLINE_BYTES, store_state
from execution_engine.planning.turns import KINDS, Bounds, full
from execution_engine.quarantine.suspects import note_ends
from execution_engine.watch.services import note_fingerprint

from .found import ScanReading
from .wake import wake

log = structlog.get_logger(__name__)

MOST_AT_A_TIME = 20  # then the task ends, so that a worker asked to stop does not go on until nothing is pending
WRITTEN = (
    "measured_at",
    "value",
    "exact",
    "state",
    "state_path",
    "state_length",
    "state_checksum",
    "detail",
    "failure_reason",
    "failure_detail",
    "fingerprint",
)


def scan_pending(datacenter: str | None = None, *, worker: str = "") -> int:
    """Work pending scans, of one datacenter or of all; how many there were, at most ``MOST_AT_A_TIME``.

    Each is claimed only when its turn has come: a lease that waited behind another's reading would run out.
    """
    total, now = 0, clock.now()
    while total < MOST_AT_A_TIME and (scan := _next(datacenter, now)):
        total += 1
        _attempt(scan, worker)
    return total


def _next(datacenter: str | None, now: datetime) -> Scan | None:
    """The next scan that may begin, claimed."""
    filters: dict[str, Any] = {"datacenter": datacenter} if datacenter else {}
    claimed: list[Scan] = claim(stage("scan"), now=now, limit=1, may=may_begin(datacenter), **filters)
    return claimed[0] if claimed else None


def run_scan(scan: Scan, *, worker: str = "") -> None:
    """Take the scan's measurements; raises UnableToFinish when its lease was lost meanwhile."""
    now = clock.now()
    in_transaction(lambda: _begin(scan, now, worker))
    rows = scan.measurements.filter(measured_at__isnull=True)
    measurements = list(rows.prefetch_related("inputs").order_by("pk"))
    for row in measurements:
        row.dataset = scan.dataset
    if scan.attempts == MAX_ATTEMPTS and len(measurements) > 1:
        in_transaction(lambda: _split(scan, measurements, now))
        return
    if scan.attempts > MAX_ATTEMPTS:
        failure = failed(Reason.LEASE_LOST, f"{MAX_ATTEMPTS} workers were lost while they read this")
        reading = ScanReading(results={row.pk: failure for row in measurements}, error=str(failure.failure))
    else:
        from .reading import read  # with it pyarrow and numpy, for which no gate should wait

        with heartbeat(scan):
            reading = read(scan, measurements)
    in_transaction(lambda: _close(scan, measurements, reading, now))


def _attempt(scan: Scan, worker: str) -> None:
    with bound_contextvars(**log_ids("scan", scan)):
        try:
            run_scan(scan, worker=worker)
        except UnableToFinish as lost:
            log.warning("lease lost", of=str(scan), why=str(lost))
        except Exception:
            log.exception("scan failed", of=str(scan), attempts=scan.attempts)


def _begin(scan: Scan, now: datetime, worker: str) -> None:
    """From here on nothing is added to the scan; what it measures is as of now."""
    rows = Scan.objects.filter(pk=scan.pk, epoch=scan.epoch)
    if rows.update(started_at=now, open_key=None, worker=worker) != 1:
        raise UnableToFinish(f"{scan}: claimed again since epoch {scan.epoch}")
    scan.started_at = now


def _split(scan: Scan, measurements: Sequence[Measurement], now: datetime) -> None:
    """Give each measurement a scan of its own: one of them may be what its workers die of."""
    for row in measurements:
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
    finish(scan, ended_at=now, error=f"{scan.attempts - 1} workers were lost with it: measured one by one")
    tally(Tallied.SCANS_FAILED, scan.datacenter)


def _close(scan: Scan, measurements: Sequence[Measurement], reading: ScanReading, now: datetime) -> None:
    results = note_ends(scan, measurements, reading.results, alone=reading.alone, known=reading.ends, now=now)
    for row in measurements:
        twin = reading.adopted.get(row.pk)
        if twin is not None:
            for name in WRITTEN:
                setattr(row, name, getattr(twin, name))
        else:
            _fill(row, results[row.pk], reading.fingerprints.get(row.pk, ""), now)
    finish(
        scan,
        ended_at=now,
        spark_jobs=reading.spark_jobs,
        taken=len(reading.results),
        reused=len(reading.adopted),
        seconds=reading.seconds,
        error=reading.error,
    )
    update_each(measurements, WRITTEN)
    note_fingerprint(scan.dataset, scan.datacenter, scan.window, reading.fingerprint, now, reading.written_at)
    wake([row.pk for row in measurements], now)
    tally(Tallied.SCANS_FAILED if reading.error else Tallied.SCANS, scan.datacenter)
    tally(Tallied.SCAN_SECONDS, scan.datacenter, reading.seconds)


def _fill(row: Measurement, result: Measured, fingerprint: str, now: datetime) -> None:
    row.measured_at = now
    row.value = None if result.value is None else float(result.value)
    row.exact = digits_of(result.value)
    row.detail = dict(result.detail)
    row.fingerprint = fingerprint if result.failure is None else ""
    if result.failure is not None:
        row.failure_reason, row.failure_detail = result.failure.reason.value, result.failure.detail
    if result.state is not None and len(result.state) > INLINE_BYTES:
        stored = store_state(config().states, result.state)
        row.state_path, row.state_length, row.state_checksum = stored.path, stored.length, stored.checksum
    else:
        row.state = result.state


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
