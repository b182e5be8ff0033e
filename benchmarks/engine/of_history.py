"""The forty checks of many days of trips, which have no single date, and their two halves."""

from collections.abc import Iterator
from dataclasses import replace

from benchmarks.data.days import FIRST_DAY
from execution_engine.metrics.spec import MetricSpec

from .suite import ONLY, Check

SINCE = f"datestr >= '{FIRST_DAY}'"
KEYED = ("uniqueness", "distinctness")


def of_history(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """The same, with another condition on the date."""
    spec = MetricSpec(name="compliance", arguments=(SINCE,))
    sql = f"count_if({SINCE}){ONLY} / count(*){ONLY}"
    return tuple(
        replace(check, spec=spec, sql=sql) if check.name == "datestr is the day" else check for check in checks
    )


def scanned(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Those that one pass over the rows answers."""
    return tuple(check for check in of_history(checks) if check.spec.name not in KEYED)


def keyed(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    """Those that must know all keys: uniqueness, and with it distinctness."""
    return tuple(both for check in of_history(checks) if check.spec.name in KEYED for both in _with_distinctness(check))


def _with_distinctness(check: Check) -> Iterator[Check]:
    yield check
    yield replace(check, name=f"{check.name}, distinct", spec=replace(check.spec, name="distinctness"))
