"""What the engine does: schedule and request runs, plan, scan and evaluate them, watch what their data looks like.

Other packages call only what is named here; what is decided stands in pure modules beside this folder.
"""

from execution_engine.planning.catalog_sources import expires_at as expires_at
from execution_engine.planning.catalog_sources import is_expired as is_expired
from execution_engine.rows.requests import UnableToKeepRows as UnableToKeepRows
from execution_engine.rows.requests import check_target as check_target
from execution_engine.rows.requests import end_rows as end_rows
from execution_engine.runs.evaluate_runs import evaluate_runs as evaluate_runs
from execution_engine.runs.evaluate_runs import exclude_window as exclude_window
from execution_engine.runs.evaluate_runs import include_windows as include_windows
from execution_engine.runs.evaluate_runs import release_window as release_window
from execution_engine.runs.evaluate_runs import take_release_back as take_release_back
from execution_engine.runs.plan_runs import plan_runs as plan_runs
from execution_engine.runs.request import RequestedRuns as RequestedRuns
from execution_engine.runs.request import UnableToRequest as UnableToRequest
from execution_engine.runs.request import bring_cursors_back as bring_cursors_back
from execution_engine.runs.request import bring_runs_back as bring_runs_back
from execution_engine.runs.request import cost_of as cost_of
from execution_engine.runs.request import first_cursor as first_cursor
from execution_engine.runs.request import is_live as is_live
from execution_engine.runs.request import is_undeclared as is_undeclared
from execution_engine.runs.request import last_partitions as last_partitions
from execution_engine.runs.request import lift_quarantine as lift_quarantine
from execution_engine.runs.request import partitions_to_run as partitions_to_run
from execution_engine.runs.request import read_as_of as read_as_of
from execution_engine.runs.request import request_all as request_all
from execution_engine.runs.request import request_run as request_run
from execution_engine.runs.request import request_runs as request_runs
from execution_engine.runs.request import schedule_tests as schedule_tests
from execution_engine.runs.request import snapshot_objection as snapshot_objection
from execution_engine.runs.request import whole_window as whole_window
from execution_engine.scans.run_scan import scan_pending as scan_pending

from .heartbeats import out_of_bounds as out_of_bounds
from .heartbeats import watch_commits as watch_commits
from .obsolete import mark_obsolete as mark_obsolete
from .obsolete import obsolete_ids as obsolete_ids
from .obsolete import obsolete_reason as obsolete_reason
from .watch import look as look
from .watch import unwatch_window as unwatch_window
from .watch import watch_window as watch_window
