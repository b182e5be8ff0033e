"""What a replay came to: one object, the same for every replay."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Count, QuerySet, Sum

from alerting.models import Flip, Notice, Standing
from alerting.state import State
from assay.config import config
from assay.models import Dataset, DataTest
from execution_engine.models import Run, Scan
from incident_manager.models import EntryKind, Incident, Resolution
from incident_manager.scores.metric_reporter import NONE, scores

from .days import BEGINS_AT, ENDS_AT, window_of
from .faults import FAULTS, Fault, FaultSeen


@dataclass(frozen=True, kw_only=True)
class FaultFound:
    """What became of one fault."""

    fault: Fault
    seen: FaultSeen
    alerted_at: datetime | None = None

    @property
    def is_as_expected(self) -> bool:
        """Whether the fault was caught, or missed, as it must be."""
        return self.seen is self.fault.expected

    @property
    def seconds_to_alert(self) -> float | None:
        """From the fault to its alert; None where no test raised one."""
        return (self.alerted_at - self.fault.started_at).total_seconds() if self.alerted_at else None


def findings() -> list[FaultFound]:
    """What became of every fault, in their order."""
    return [_finding(fault) for fault in FAULTS]


def _finding(fault: Fault) -> FaultFound:
    incident = _incidents_of(fault).first()
    if incident is None:
        window = window_of(fault.day)
        flips = Flip.objects.filter(data_test__dataset__full_name=fault.table, data_test__category=fault.category)
        warned = flips.filter(window_start=window.start, window_end=window.end, new=State.WARN).exists()
        return FaultFound(fault=fault, seen=FaultSeen.WARN_ONLY if warned else FaultSeen.UNSEEN)
    if incident.kind == EntryKind.REPORTED:
        return FaultFound(fault=fault, seen=FaultSeen.MISSED_UNTIL_REPORTED)
    return FaultFound(fault=fault, seen=FaultSeen.CAUGHT, alerted_at=incident.detected_at)


def _incidents_of(fault: Fault) -> QuerySet[Incident]:
    """The incidents that found the fault's own window spoilt, where it was."""
    window = window_of(fault.day)
    spoilt: dict[str, Any] = {"spoilt_windows__window_start": window.start, "spoilt_windows__window_end": window.end}
    if fault.spoils:
        spoilt["spoilt_windows__datacenter"] = fault.spoils
    found = Incident.objects.filter(dataset__full_name=fault.table, category=fault.category, **spoilt)
    return found.exclude(resolution=Resolution.WITHDRAWN).order_by("detected_at").distinct()


def result(found: Iterable[FaultFound]) -> dict[str, Any]:
    """The object that ``assay demo --json`` prints; instants are of the simulated clock."""
    scored = scores(start=BEGINS_AT, end=ENDS_AT, now=ENDS_AT, listed=NONE)
    scanned = Scan.objects.aggregate(jobs=Sum("spark_jobs"), scans=Count("pk"))
    return {
        "datasets": Dataset.objects.count(),
        "data_tests": _counted(DataTest.objects.filter(retired_at__isnull=True), "category"),
        "runs": _counted(Run.objects.exclude(outcome=""), "outcome"),
        "standings": _counted(Standing.objects.all(), "state"),
        "incidents": [_incident(incident) for incident in _incidents()],
        "notices": {
            "sent": Notice.objects.filter(sent_at__isnull=False).count(),
            "suppressed": _counted(Notice.objects.exclude(suppressed=""), "suppressed"),
        },
        "faults": [
            {
                "name": finding.fault.name,
                "expected": finding.fault.expected.value,
                "caught": finding.seen is FaultSeen.CAUGHT,
                "seconds_to_alert": finding.seconds_to_alert,
                "seen": finding.seen.value,
            }
            for finding in found
        ],
        "precision": scored.total.precision,
        "recall": scored.total.recall,
        "open": scored.total.open,
        "spark_jobs": scanned["jobs"],
        "scans": scanned["scans"],
        "data_quality": scored.total.data_quality,
        "query_quality": scored.queries.quality,
        "query_quality_without_forced": scored.queries.quality_without_forced,
    }


def open_addresses() -> list[str]:
    """Where the dashboard shows the incidents that are still open, the oldest first."""
    rows = Incident.objects.filter(resolved_at__isnull=True).order_by("detected_at", "pk")
    return [f"{config().public_url}/incidents/{pk}" for pk in rows.values_list("pk", flat=True)]


def _counted(rows: QuerySet[Any], column: str) -> dict[str, int]:
    counts = rows.order_by(column).values_list(column).annotate(Count("pk"))
    return dict(counts)


def _incidents() -> QuerySet[Incident]:
    rows = Incident.objects.select_related("dataset", "alert__cause__dataset").prefetch_related("spoilt_windows")
    return rows.order_by("detected_at", "dataset__full_name", "category")


def _incident(incident: Incident) -> dict[str, Any]:
    cause = incident.alert.cause if incident.alert else None
    return {
        "dataset": incident.dataset.full_name,
        "category": incident.category,
        "cause": f"{cause.dataset.full_name} {cause.category}" if cause else None,
        "detected_at": incident.detected_at.isoformat(),
        "resolved_at": incident.resolved_at.isoformat() if incident.resolved_at else None,
        "resolution": incident.resolution or None,
        "windows": sorted({window.window.text for window in incident.spoilt_windows.all()}),
        "kind": incident.kind,
    }
