"""Write what scans gave: their measurements, what was seen of the data, and what goes on from there."""

from collections.abc import Sequence
from datetime import datetime

from assay.database.bulk import update_each
from assay.models import Tallied
from assay.queue.claims import finish_all
from assay.queue.tallies import tallied_together, tally
from execution_engine.engines.protocol import Measured
from execution_engine.exact import digits_of
from execution_engine.models import Measurement
from execution_engine.parts.row_states import STATE, keep_state
from execution_engine.quarantine.suspects import note_ends
from execution_engine.read_by import ReadBy
from execution_engine.watch.services import note_fingerprints

from .found import BegunScan, ScanReading
from .wake import wake

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
