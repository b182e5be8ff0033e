"""The forty checks of many days of trips, which have no single date."""

from dataclasses import replace

from benchmarks.data.days import FIRST_DAY
from benchmarks.engine.suite import ONLY, Check
from execution_engine.metrics.spec import MetricSpec

SINCE = f"datestr >= '{FIRST_DAY}'"


def of_history(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """The same, with another condition on the date."""
    spec = MetricSpec(name="compliance", arguments=(SINCE,))
    sql = f"count_if({SINCE}){ONLY} / count(*){ONLY}"
    return tuple(
        replace(check, spec=spec, sql=sql) if check.name == "datestr is the day" else check for check in checks
    )
