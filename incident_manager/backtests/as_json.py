"""A backtest as one JSON object, the same for the command, the API and the page."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from assay.time.durations import format_duration
from assay.time.windows import Window
from execution_engine.models import Run
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil

from .rules import BacktestIncident, Raised
from .selectors import FoundWindow, LiveIncident
from .services import Backtest


def as_json(found: Backtest, veil: Veil) -> dict[str, Any]:
    """All that a backtest found; what must not be told now has no value and no sentence."""
    revision = found.test.revision
    partitioning = found.test.dataset.partitioning
    assert revision is not None
    assert partitioning is not None
    hidden = veil.hides(revision, found.test.dataset)
    return {
        "dataset": found.test.dataset.full_name,
        "test": found.test.name or None,
        "revision": revision.number if found.test.pk else None,
        "assertion": revision.assertion,
        "severity": revision.severity,
        "sustain": format_duration(found.terms.sustain),
        "grace": format_duration(found.terms.grace),
        "from": found.span.start.isoformat(),
        "to": found.span.end.isoformat(),
        **raised_json(found.raised),
        "incidents": [_incident(one) for one in found.raised.incidents],
        "live_incidents": [_live(one) for one in found.live],
        "bounds": [
            {"assertion": one.other.text, "looser": one.other.is_looser, **raised_json(one.raised)}
            for one in found.others
        ],
        "windows": [_window(one, key=partitioning.key(one.window), hidden=hidden) for one in found.windows],
        "not_measured": _texts(found.missing),
        "cannot_be_known": {window.text: why for window, why in found.unknowable.items()},
        "scans_needed": found.scans,
        "seconds_needed": None if found.seconds is None else round(found.seconds.total_seconds(), 1),
    }


def raised_json(raised: Raised) -> dict[str, Any]:
    """The figures of one rule."""
    return {
        "held": raised.held,
        "broken": raised.broken,
        "unjudged": raised.unjudged,
        "alerts": len(raised.incidents),
        "notices": raised.notices,
        "alerts_a_week": _rounded(raised.a_week(len(raised.incidents))),
        "notices_a_week": _rounded(raised.a_week(raised.notices)),
        "precision": raised.precision,
        "recall": raised.recall,
    }


def _incident(one: BacktestIncident) -> dict[str, Any]:
    return {
        "opened_at": one.opened_at.isoformat(),
        "resolved_at": _instant(one.resolved_at),
        "seconds": one.duration.total_seconds(),
        "windows": _texts(one.windows),
        "told_at": _instant(one.told_at),
        "muted_by": one.muted_by,
    }


def _live(one: LiveIncident) -> dict[str, Any]:
    return {
        "opened_at": one.opened_at.isoformat(),
        "resolved_at": _instant(one.resolved_at),
        "windows": _texts(one.windows),
        "told_at": _instant(one.told_at),
    }


def run_of(one: FoundWindow) -> Run:
    """The result that is told of a window: the first from when it was due, else the newest."""
    judged = [run for run in one.runs if run.outcome != Outcome.ERROR]
    first = next((run for run in judged if run.measured_at and run.measured_at >= one.due_at), None)
    return first or (judged or one.runs)[-1]


def _window(one: FoundWindow, *, key: str, hidden: bool) -> dict[str, Any]:
    run = run_of(one)
    return {
        "window": one.window.text,
        "key": key,
        "due_at": one.due_at.isoformat(),
        "outcome": run.outcome,
        "value": None if hidden else run.value,
        "sentence": "" if hidden else run.sentence,
        "results": len(one.runs),
        "measured_late": one.measured_late,
        "changed_since": one.changed_since,
    }


def _texts(windows: Iterable[Window]) -> list[str]:
    return [window.text for window in windows]


def _instant(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 3)
