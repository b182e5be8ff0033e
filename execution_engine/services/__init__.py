"""What the engine does: schedule and request runs, plan, scan and evaluate them, watch what their data looks like.

Other packages call only what is named here; what is decided stands in pure modules beside this folder.
"""

from .evaluate import evaluate_runs
from .exclude import exclude_window, include_windows
from .leaps import bring_cursors_back, bring_runs_back
from .plan import plan_runs
from .quarantine import lift_quarantine
from .request import expires_at, is_expired, is_undeclared, request_run, request_runs
from .scan import run_scan, scan_pending
from .schedule import first_cursor, schedule_tests, whole_window
from .watch import look, unwatch_window, watch_window

__all__ = [
    "bring_cursors_back",
    "bring_runs_back",
    "evaluate_runs",
    "exclude_window",
    "expires_at",
    "first_cursor",
    "include_windows",
    "is_expired",
    "is_undeclared",
    "lift_quarantine",
    "look",
    "plan_runs",
    "request_run",
    "request_runs",
    "run_scan",
    "scan_pending",
    "schedule_tests",
    "unwatch_window",
    "watch_window",
    "whole_window",
]
