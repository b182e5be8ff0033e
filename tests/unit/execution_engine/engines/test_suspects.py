"""What is scanned apart after a scan had to be killed."""

from execution_engine.engines.protocol import Measured, ScanReport, Wanted, failed
from execution_engine.engines.suspects import Suspects
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import Reason

ROWS = Wanted(key="rows", spec=MetricSpec(name="row_count"))
MEAN = Wanted(key="mean", spec=MetricSpec(name="mean", columns=("fare",)))
SOME = Wanted(key="some", spec=MetricSpec(name="row_count", where="city like '%a'"))
QUERY = Wanted(key="query", spec=MetricSpec(name="query", arguments=("select 1",)))
ALL = (ROWS, MEAN, SOME, QUERY)


def report(**measured: Measured) -> ScanReport:
    return ScanReport(measured=measured, spark_jobs=0, seconds=0, fingerprint=None)


def killed(*items: Wanted) -> ScanReport:
    return report(**{item.key: failed(Reason.TIMEOUT, "late") for item in items})


def test_at_first_all_is_scanned_together() -> None:
    assert Suspects().groups("trips", ALL) == (ALL,)


def test_after_a_kill_each_sql_of_users_is_scanned_by_itself_and_what_is_new_first() -> None:
    suspects = Suspects()
    suspects.note("trips", ALL[1:], killed(*ALL[1:]))
    assert suspects.groups("trips", ALL) == ((ROWS,), (MEAN,), (SOME,), (QUERY,))
    assert suspects.groups("another", ALL) == (ALL,)


def test_what_gives_a_value_is_suspected_no_more_and_the_worst_comes_last() -> None:
    suspects = Suspects()
    suspects.note("trips", ALL, killed(*ALL))
    suspects.note("trips", (ROWS, MEAN), report(rows=Measured(value=1), mean=Measured(value=1)))
    suspects.note("trips", (SOME,), killed(SOME))
    assert suspects.groups("trips", ALL) == ((ROWS, MEAN), (QUERY,), (SOME,))


def test_a_failure_that_killed_nothing_changes_nothing() -> None:
    suspects = Suspects()
    suspects.note("trips", (QUERY,), report(query=failed(Reason.QUERY_FAILED, "division by zero")))
    assert suspects.groups("trips", ALL) == (ALL,)
