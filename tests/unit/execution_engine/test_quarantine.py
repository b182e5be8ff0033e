"""What is measured apart after a scan ended abnormally, and when it is quarantined."""

import pytest

from execution_engine.engines.protocol import MeasurementRequest
from execution_engine.metrics.spec import MetricSpec
from execution_engine.outcome import TRANSIENT, Failure, Reason
from execution_engine.quarantine import groups, is_quarantined, quarantine_failure

ROWS = MeasurementRequest(key="rows", spec=MetricSpec(name="row_count"))
MEAN = MeasurementRequest(key="mean", spec=MetricSpec(name="mean", columns=("fare",)))
SOME = MeasurementRequest(key="some", spec=MetricSpec(name="row_count", where="city like '%a'"))
QUERY = MeasurementRequest(key="query", spec=MetricSpec(name="query", arguments=("select 1",)))
ALL = (ROWS, MEAN, SOME, QUERY)


def test_at_first_all_is_scanned_together() -> None:
    assert groups(ALL, {}) == (ALL,)


def test_after_one_end_each_sql_of_users_is_scanned_by_itself_and_what_is_new_first() -> None:
    assert groups(ALL, {"mean": 1, "some": 1, "query": 1}) == ((ROWS,), (MEAN,), (SOME,), (QUERY,))


def test_after_one_end_what_the_platform_wrote_is_scanned_together() -> None:
    assert groups(ALL, dict.fromkeys(("rows", "mean", "some", "query"), 1)) == ((ROWS, MEAN), (SOME,), (QUERY,))


def test_after_two_ends_everything_is_scanned_by_itself_and_the_worst_last() -> None:
    assert groups(ALL, {"rows": 2, "mean": 3, "some": 1, "query": 2}) == ((SOME,), (ROWS,), (QUERY,), (MEAN,))


@pytest.mark.parametrize(("ends", "alone", "expected"), [(2, True, False), (3, False, False), (3, True, True)])
def test_only_the_third_end_by_itself_is_quarantined(ends: int, alone: bool, expected: bool) -> None:
    assert is_quarantined(ends, alone=alone) is expected


def test_a_quarantine_is_for_good_and_says_how_to_end_it() -> None:
    failure = quarantine_failure("query('select 1')", 3, Failure(reason=Reason.TIMEOUT, detail="600 s"))
    assert failure.reason not in TRANSIENT
    assert str(failure).startswith("quarantined: query('select 1') ended abnormally 3 times")
    assert "timeout: 600 s" in str(failure)
    assert "revised, or an operator lifts" in str(failure)
