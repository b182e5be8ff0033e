"""Work the scans of a datacenter: begin, read outside any transaction, write everything in one."""

from collections.abc import Sequence
from time import monotonic
from typing import Any

import structlog
from django.db.models import Q, prefetch_related_objects
from structlog.contextvars import bound_contextvars

from assay import clock
from assay.catalog.selectors import with_replicas
from assay.config import config
from assay.models import Tallied
from assay.queue.claims import UnableToFinish, claim, finish, in_transaction, is_in_rounds, leased
from assay.queue.flow import stage
from assay.queue.heartbeat import heartbeat
from assay.queue.log_ids import log_ids
from assay.queue.tallies import tally
from execution_engine.engines.protocol import failed
from execution_engine.models import MAX_ATTEMPTS, Measurement, Scan
from execution_engine.outcome import Reason
from execution_engine.parts.selectors import keeps_states
from execution_engine.planning.planner import hash_of
from execution_engine.planning.turns import KINDS, Bounds, full
from execution_engine.quarantine.suspects import times_ended

from .close_scans import Ended, close_scans
from .found import BegunScan, ScanReading
from .lanes import scans_of_lane
from .together import apart

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
