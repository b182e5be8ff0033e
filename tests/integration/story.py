"""Tells a story to alerting and the incident manager: results of runs, one after the other, and time that passes."""

from datetime import datetime, timedelta
from itertools import count
from typing import Any

from django.utils.module_loading import import_string

from alerting.models import Notice, Standing
from assay import clock
from assay.models import Dataset, DataTest
from assay.queue.drain import next_due, stages_with_work
from assay.queue.flow import STAGES
from assay.time.windows import Window
from execution_engine.models import Run
from incident_manager.models import Incident
from tests.factories import NOW, DatasetFactory, DataTestFactory, LineageEdgeFactory

# What the engine's stages would do, the story itself tells.
TOLD = tuple(s for s in STAGES if s.task.startswith(("alerting.", "incident_manager.")))
SLA = timedelta(hours=6)  # freshness of tier 2
_slots = count()


def new_table(**more: Any) -> Dataset:
    """A daily table of tier 2, owned by ada; it is due six hours after a day has ended."""
    return DatasetFactory.create(**more)


def new_test(**more: Any) -> DataTest:
    """A live hard test with a sustain period of four hours, on a table of its own unless one is given."""
    return DataTestFactory.create(**more)


def feed(upstream: Dataset, downstream: Dataset) -> None:
    """Let data flow from one table to the other."""
    LineageEdgeFactory.create(upstream=upstream, downstream=downstream)


def settle() -> None:
    """Work every stage but the engine's until nothing is pending."""
    while sum(import_string(stage.task)() for stage in stages_with_work(clock.now()) if stage in TOLD):
        pass


def advance(until: datetime) -> None:
    """Let time pass, stopping wherever something is due."""
    settle()
    while (instant := next_due(clock.now())) and instant <= until:
        clock.simulate(instant)
        settle()
    clock.simulate(until)
    settle()


def result(
    test: DataTest,
    window: Window,
    outcome: str,
    at: datetime,
    *,
    reason: str = "check",
    error: str = "",
    excess: float | None = None,
    value: float | None = None,
    settled: bool = True,
) -> Run:
    """A run of the newest revision that was measured and evaluated at ``at``, with time standing there."""
    advance(at)
    assert test.revision is not None
    run = Run.objects.create(
        data_test=test,
        revision=test.revision,
        reason=reason,
        slot=f"told-{next(_slots)}",
        window_start=window.start,
        window_end=window.end,
        requested_at=at,
        due_at=window.end + SLA if reason == "schedule" else at,
        planned_at=at,
        ready_at=at,
        evaluated_at=at,
        measured_at=at,
        outcome=outcome,
        error_reason=error,
        excess=excess,
        value=value,
        sentence=f"{outcome} at {at:%H:%M}",
    )
    if settled:
        settle()
    return run


def start(at: datetime = NOW) -> None:
    """Begin the story."""
    clock.simulate(at)


def state(test: DataTest, window: Window) -> str:
    """Where a test stands on a window."""
    return Standing.objects.get(data_test=test, window_key=window.text).state


def due(window: Window) -> datetime:
    """When a window is due."""
    return window.end + SLA


def open_incidents() -> list[Incident]:
    """The open incidents, oldest first."""
    return list(Incident.objects.filter(resolved_at__isnull=True).order_by("pk"))


def told(event: str) -> list[str]:
    """Who was told of something in the log, in the order of telling."""
    rows = Notice.objects.filter(event=event, channel="log", suppressed="").order_by("pk")
    return list(rows.values_list("recipient", flat=True))


def hushed(event: str) -> list[tuple[str, str]]:
    """Who was not told of something, and why."""
    rows = Notice.objects.filter(event=event, channel="log").exclude(suppressed="").order_by("pk")
    return list(rows.values_list("recipient", "suppressed"))


def scheduled(test: DataTest, window: Window, outcome: str, **more: Any) -> Run:
    """The scheduled run of a window, measured when it was due."""
    return result(test, window, outcome, due(window), reason="schedule", **more)


def fail(test: DataTest, window: Window, *, excess: float | None = None) -> Incident:
    """The incident of a test without a sustain period that broke when it was due."""
    scheduled(test, window, "broken", excess=excess)
    return Incident.objects.filter(dataset=test.dataset, category=test.category, resolved_at=None).get()
