"""What a replay came to: one object, the same for every replay."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, QuerySet, Sum
from rich.console import Console
from rich.table import Table

from alerting.models import Flip, Notice, Standing
from alerting.state import State
from assay.config import config
from assay.models import Dataset, DataTest
from assay.time.windows import INSTANT, Window
from execution_engine.models import Run, Scan
from incident_manager.models import EntryKind, Incident, Resolution
from incident_manager.scores.metric_reporter import NONE, scores
from web.rendering.status import plain

from .faults import FAULTS, FaultSeen, fault_named
from .world import BEGINS_AT, ENDS_AT, PARTITIONING, ZONE, window_of


def findings() -> list[dict[str, Any]]:
    """What became of every fault, in their order: each was caught, or missed, as it must be if it is ``expected``."""
    rows = []
    for fault in FAULTS:
        window, seconds = window_of(fault.day), None
        spoilt: dict[str, Any] = {
            "spoilt_windows__window_start": window.start,
            "spoilt_windows__window_end": window.end,
            **({"spoilt_windows__datacenter": fault.spoils} if fault.spoils else {}),
        }
        incidents = Incident.objects.filter(dataset__full_name=fault.table, category=fault.category, **spoilt)
        lasting = incidents.exclude(resolution=Resolution.WITHDRAWN).order_by("detected_at").distinct()
        if (incident := lasting.first()) is None:
            flips = Flip.objects.filter(data_test__dataset__full_name=fault.table, data_test__category=fault.category)
            has_warned = flips.filter(window_start=window.start, window_end=window.end, new=State.WARN).exists()
            seen = FaultSeen.WARN_ONLY if has_warned else FaultSeen.UNSEEN
        elif incident.kind == EntryKind.REPORTED:
            seen = FaultSeen.MISSED_UNTIL_REPORTED
        else:
            seen, seconds = FaultSeen.CAUGHT, (incident.detected_at - fault.started_at).total_seconds()
        rows.append(
            {
                "name": fault.name,
                "expected": fault.expected.value,
                "caught": seen is FaultSeen.CAUGHT,
                "seconds_to_alert": seconds,  # from the fault to its alert; None where no test raised one
                "seen": seen.value,
            }
        )
    return rows


def result(faults: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The object that ``assay demo --json`` prints; instants are of the simulated clock."""
    scored = scores(start=BEGINS_AT, end=ENDS_AT, now=ENDS_AT, listed=NONE)
    scanned = Scan.objects.aggregate(jobs=Sum("spark_jobs"), scans=Count("pk"))
    rows = Incident.objects.select_related("dataset", "alert__cause__dataset").prefetch_related("spoilt_windows")
    incidents = []
    for row in rows.order_by("detected_at", "dataset__full_name", "category"):
        cause = row.alert.cause if row.alert else None
        incident = {
            "dataset": row.dataset.full_name,
            "category": row.category,
            "cause": f"{cause.dataset.full_name} {cause.category}" if cause else None,
            "detected_at": row.detected_at.isoformat(),
            "resolved_at": row.resolved_at.isoformat() if row.resolved_at else None,
            "resolution": row.resolution or None,
            "windows": sorted({window.window.text for window in row.spoilt_windows.all()}),
            "kind": row.kind,
        }
        incidents.append(incident)
    return {
        "datasets": Dataset.objects.count(),
        "data_tests": _counted(DataTest.objects.filter(retired_at__isnull=True), "category"),
        "runs": _counted(Run.objects.exclude(outcome=""), "outcome"),
        "standings": _counted(Standing.objects.all(), "state"),
        "incidents": incidents,
        "notices": {
            "sent": Notice.objects.filter(sent_at__isnull=False).count(),
            "suppressed": _counted(Notice.objects.exclude(suppressed=""), "suppressed"),
        },
        "faults": faults,
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
    return dict(rows.order_by(column).values_list(column).annotate(Count("pk")))


# The demo's result as tables for people.

INCIDENT_HEADINGS = ("dataset", "category", "days", "detected", "lasted", "resolved", "caused by")
FAULT_HEADINGS = ("what went wrong", "expected", "seen as", "alert after", "how it ended")


def show(console: Console, result: Mapping[str, Any]) -> None:
    """Print every part of the result, the verdict on the faults last."""
    counts: dict[str, Mapping[str, int]] = {
        "Live tests by category": result["data_tests"],
        "Runs by outcome": result["runs"],
        "Standings by state": result["standings"],
        "Notices": {
            "sent": result["notices"]["sent"],
            **{f"not sent: {reason}": count for reason, count in result["notices"]["suppressed"].items()},
        },
    }
    for title, numbers in counts.items():
        console.print(_figures(title, {name: f"{count:,}" for name, count in numbers.items()}))
    console.print(_incidents_table(result["incidents"]))
    faults = Table(*FAULT_HEADINGS, title="Faults", title_justify="left")
    for row in result["faults"]:
        fault, seconds = fault_named(row["name"]), row["seconds_to_alert"]
        colour = "green" if row["seen"] == row["expected"] else "red"
        alert_after = "" if seconds is None else _duration(timedelta(seconds=seconds))
        faults.add_row(fault.story, row["expected"], f"[{colour}]{row['seen']}[/{colour}]", alert_after, fault.repair)
    console.print(faults)
    scores = {
        name.replace("_", " ").replace("forced", "false positives"): ""
        if result[name] is None
        else f"{result[name]:.2%}{' so far' if name in ('precision', 'recall') and result['open'] else ''}"
        for name in ("precision", "recall", "data_quality", "query_quality", "query_quality_without_forced")
    }  # an incident that precision and recall count may not have ended
    scores |= {name.replace("_", " "): f"{result[name]:,}" for name in ("scans", "spark_jobs")}
    console.print(_figures("How good that was", scores))


def show_open(console: Console, addresses: Sequence[str], command: str) -> None:
    """Say where to look at what is still open, and which command serves it."""
    count = f"{len(addresses)} incident is" if len(addresses) == 1 else f"{len(addresses)} incidents are"
    console.print(f"{count} open: {', '.join(addresses)}", soft_wrap=True)
    console.print(f"To look at it, and walk through all this in the dashboard: [bold]{command}[/bold]", soft_wrap=True)


def _figures(title: str, figures: Mapping[str, str]) -> Table:
    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(min_width=30)
    table.add_column(justify="right")
    for row in figures.items():
        table.add_row(*row)
    return table


def _incidents_table(incidents: Iterable[Mapping[str, Any]]) -> Table:
    table = Table(*INCIDENT_HEADINGS, title="Incidents (New York time)", title_justify="left")
    for incident in incidents:
        days = []
        for window in map(Window.parse, incident["windows"]):
            first, last = (PARTITIONING.key(PARTITIONING.at(at)) for at in (window.start, window.end - INSTANT))
            days.append(first if first == last else f"{first} to {last}")
        detected = datetime.fromisoformat(incident["detected_at"])
        resolved = datetime.fromisoformat(incident["resolved_at"]) if incident["resolved_at"] else None
        table.add_row(
            incident["dataset"],
            incident["category"],
            ", ".join(days),
            f"{detected.astimezone(ZONE):%d %b %H:%M}",
            _duration(resolved - detected) if resolved else "open",
            plain(incident["resolution"] or ""),
            incident["cause"] or ("a user's report" if incident["kind"] == "reported" else ""),
        )
    return table


def _duration(length: timedelta) -> str:
    """Such as 6 h 40 min."""
    minutes = round(length.total_seconds() / 60)
    hours, rest = divmod(minutes, 60)
    return " ".join(part for part in (f"{hours} h" if hours else "", f"{rest} min" if rest else "") if part) or "0 min"
