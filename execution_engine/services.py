"""What the engine does: schedule and request runs, plan, scan and evaluate them, watch what their data looks like.

Other packages call only what is named here; what is decided stands in pure modules beside this folder.
"""

from execution_engine.planning.catalog_sources import expires_at, is_expired
from execution_engine.runs.evaluate_runs import (
    evaluate_runs,
    exclude_window,
    include_windows,
    release_window,
    take_release_back,
)
from execution_engine.runs.plan_runs import plan_runs
from execution_engine.runs.request import (
    RequestedRuns,
    UnableToRequest,
    bring_cursors_back,
    bring_runs_back,
    cost_of,
    first_cursor,
    is_live,
    is_undeclared,
    last_partitions,
    lift_quarantine,
    partitions_to_run,
    request_all,
    request_run,
    request_runs,
    schedule_tests,
    whole_window,
)
from execution_engine.scans.run_scan import scan_pending

from .watch import look, unwatch_window, watch_window

__all__ = [
    "RequestedRuns",
    "UnableToRequest",
    "bring_cursors_back",
    "bring_runs_back",
    "cost_of",
    "evaluate_runs",
    "exclude_window",
    "expires_at",
    "first_cursor",
    "include_windows",
    "is_expired",
    "is_live",
    "is_undeclared",
    "last_partitions",
    "lift_quarantine",
    "look",
    "partitions_to_run",
    "plan_runs",
    "release_window",
    "request_all",
    "request_run",
    "request_runs",
    "scan_pending",
    "schedule_tests",
    "take_release_back",
    "unwatch_window",
    "watch_window",
    "whole_window",
]
