"""Reports of scans that did not end as they should."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from execution_engine.engines.protocol import Measured, ScanReport, Wanted
from execution_engine.outcome import Failure, Reason

BY_CANCELLING = frozenset({Reason.TIMEOUT, Reason.QUERY_FAILED, Reason.ENGINE_UNREACHABLE, Reason.UNREADABLE})


def all_failed(wanted: Sequence[Wanted], failure: Failure, seconds: float) -> ScanReport:
    """Nothing could be measured."""
    measured = {item.key: Measured(failure=failure) for item in wanted}
    return ScanReport(measured=measured, spark_jobs=0, seconds=seconds, fingerprint=None)


def past_deadline(report: ScanReport, failure: Failure) -> ScanReport:
    """What was measured before the deadline stays; what cancelling made fail, failed by the deadline."""
    measured = {
        key: Measured(failure=failure) if item.failure and item.failure.reason in BY_CANCELLING else item
        for key, item in report.measured.items()
    }
    return replace(report, measured=measured)


def ran_out_of_memory(result: Any) -> bool:
    """Whether a scan filled a process that had better be replaced."""
    reports = result if isinstance(result, tuple) else (result,)
    measured = [item for each in reports if isinstance(each, ScanReport) for item in each.measured.values()]
    return any(item.failure is not None and item.failure.reason is Reason.OUT_OF_MEMORY for item in measured)
