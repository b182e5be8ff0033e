"""What the engine does: schedule and request runs, plan, scan and evaluate them, watch what their data looks like."""

from execution_engine.services.evaluate import evaluate_run
from execution_engine.services.exclude import exclude_window, include_window
from execution_engine.services.plan import plan
from execution_engine.services.request import expires_at, is_expired, request_run
from execution_engine.services.scan import run_scan, scan_pending
from execution_engine.services.schedule import first_cursor, schedule
from execution_engine.services.watch import look, unwatch_window, watch_window

__all__ = [
    "evaluate_run",
    "exclude_window",
    "expires_at",
    "first_cursor",
    "include_window",
    "is_expired",
    "look",
    "plan",
    "request_run",
    "run_scan",
    "scan_pending",
    "schedule",
    "unwatch_window",
    "watch_window",
]
