"""The two layers of the tests: ``make test`` asks each behaviour once, ``make test-all`` asks the same of more.

``WHOLE``: what only the second runs, as it takes long, or asks of more parts or inputs what the first asks of one; but
``QUICK``, which the first runs too.
``ON_BOTH``: what the first runs on MariaDB too, as locks, upserts, collations or instants decide it.
"""

from collections.abc import Iterable
from pathlib import PurePath

WHOLE = (
    "tests/airflow/",
    "tests/browser/",
    "tests/crawler/",
    "tests/e2e/",
    "tests/faults/",
    "tests/fuzz/",
    "tests/integration/benchmarks/",
    "tests/integration/commands/test_cron",
    "tests/integration/commands/test_restart",
    "tests/integration/deploy/",
    "tests/integration/engines/",
    "tests/integration/kernels/",
    "tests/integration/metrics/",
    "tests/integration/publish/",
    "tests/integration/test_bad_input",
    "tests/integration/test_columns_of_any_name",
    "tests/integration/test_java",
    "tests/integration/test_wide_and_long_tables",
    "tests/integration/verification/",
    "tests/integration/web/test_largest_requests",
    "tests/mutants/",
    "tests/zoo/",
)
QUICK = (  # of what stands above: one of each kind
    "tests/browser/test_journeys.py",
    "tests/e2e/cases/test_ending_cases.py",
    "tests/e2e/cases/test_gate_cases.py",
    "tests/e2e/test_loop.py",
    "tests/faults/guards/test_guards.py",
    "tests/faults/test_invariants.py",
    "tests/integration/engines/test_metrics_against_references.py",
    "tests/integration/engines/test_postgresql.py",
    "tests/integration/engines/test_who_reads.py",
    "tests/integration/verification/test_checks.py",
)
ON_BOTH = (
    "tests/integration/alerting/test_alerts.py",
    "tests/integration/alerting/test_sending.py",
    "tests/integration/assay/test_catalog_rows.py",
    "tests/integration/assay/test_queue.py",
    "tests/integration/execution_engine/test_requested_rows.py",
    "tests/integration/incident_manager/test_incidents.py",
    "tests/integration/test_servers.py",
    "tests/integration/web/test_response_times.py",
    "tests/integration/web/test_scores_api.py",
)


def layers_of(path: PurePath, marks: Iterable[str]) -> list[str]:
    """The marks of a test in the file at ``path`` (from the project's root): ``whole``, ``on_both``, or none."""
    name = path.as_posix()
    if "thorough" in marks or (name.startswith(WHOLE) and name not in QUICK):
        return ["whole"]
    return ["on_both"] if "django_db" in marks and name.startswith(ON_BOTH) else []
