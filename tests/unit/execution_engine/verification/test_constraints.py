"""What constraints ask for, and what they say of values, without any data."""

import subprocess
import sys
from collections import UserDict
from collections.abc import Sequence
from datetime import UTC, datetime
from decimal import Decimal
from functools import reduce

import numpy as np
import pytest

from execution_engine.engines.protocol import Measured
from execution_engine.outcome import Failure, Reason
from execution_engine.verification import (
    SIZE,
    Check,
    ConstraintStatus,
    Level,
    OnlineNormal,
    Status,
    UnableToAssert,
    above,
    at_least,
    at_most,
    below,
    between,
    equal_to,
)
from execution_engine.verification.constraints import (
    Bound,
    ConstraintInput,
    EarlierValues,
    Judgement,
    MetricRequest,
    gravest,
    status_of,
)

Series = Sequence[tuple[datetime, float | Decimal]]
BOUNDS = [
    (equal_to(1), "= 1", [1.0, 1 + 1e-15], [0.9999999, 1.1]),
    (at_least(0.99), ">= 0.99", [0.99, 2], [0.98999]),
    (at_most(3), "<= 3", [3, -1], [3.01]),
    (above(0), "> 0", [1e-9], [0]),
    (below(0), "< 0", [-1e-9], [0]),
    (between(1, 2), "between 1 and 2", [1, 2], [0.999, 2.001]),
]
STATUSES = [
    (Level.ERROR, ["success", "failure", "error"], Status.ERROR),
    (Level.ERROR, ["success", "error"], Status.UNABLE),
    (Level.WARNING, ["failure", "error"], Status.UNABLE),
    (Level.WARNING, ["failure", "success"], Status.WARNING),
    (Level.ERROR, ["learning", "success"], Status.SUCCESS),
    (Level.ERROR, [], Status.SUCCESS),
]


def judge(check: Check, measured: Measured, earlier: Series | None = None) -> Judgement:
    (constraint,) = check.constraints
    past = None if earlier is None else EarlierValues(at=datetime(2026, 2, 1, tzinfo=UTC), series=earlier)
    found = ConstraintInput(
        measured=dict.fromkeys(constraint.asks, measured), past=None if past is None else lambda _: past
    )
    return constraint.judge(found)


def days(values: Sequence[float]) -> Series:
    return [(datetime(2026, 1, 1 + at, tzinfo=UTC), value) for at, value in enumerate(values)]


@pytest.mark.parametrize(("bound", "text", "inside", "outside"), BOUNDS)
def test_a_bound_says_what_it_holds(bound: Bound, text: str, inside: list[float], outside: list[float]) -> None:
    assert bound.text == text
    assert all(map(bound, inside))
    assert not any(map(bound, outside))


def test_nothing_lies_between_bounds_in_the_wrong_order() -> None:
    with pytest.raises(ValueError, match="write the lower bound first"):
        between(2, 1)


@pytest.mark.parametrize(("level", "constraints", "status"), STATUSES)
def test_a_check_is_as_grave_as_its_level_and_constraints(level: Level, constraints: list[str], status: Status) -> None:
    assert status_of(level, map(ConstraintStatus, constraints)) is status


def test_the_gravest_of_several_checks_is_the_status_of_all() -> None:
    assert gravest([Status.WARNING, Status.ERROR, Status.UNABLE]) is Status.ERROR
    assert gravest([]) is Status.SUCCESS


def test_a_check_is_never_changed() -> None:
    empty = Check(Level.ERROR, "integrity")
    assert len(empty.is_complete("a", "b").constraints) == 2
    assert empty.constraints == ()


def test_the_filters_of_check_and_constraint_both_apply() -> None:
    (constraint,) = Check(where="a > 0").has_mean("fare", 1, where="b > 0").constraints
    assert constraint.asks[0].spec.where == "(a > 0) and (b > 0)"


def test_columns_that_sql_would_misread_stand_in_backticks() -> None:
    specs = [Check().are_complete(name).constraints[0].asks[0].spec.arguments[0] for name in ("a b", "3d", "s.x")]
    assert specs == ["`a b` is not null", "`3d` is not null", "s.x is not null"]


def test_a_quote_in_an_allowed_value_stays_inside_it() -> None:
    (constraint,) = Check().is_contained_in("name", ["o'hara", "a\\b"]).constraints
    assert constraint.asks[0].spec.arguments[0] == r"name is null or name in ('o\'hara', 'a\\b')"


def test_a_column_that_may_have_no_value_at_all_is_refused_when_it_is_written() -> None:
    with pytest.raises(ValueError, match=r"no value is allowed for c: name those that it may have"):
        Check().is_contained_in("c", [])


def test_null_and_the_text_none_are_two_values_of_a_histogram() -> None:
    bins = [{"value": None, "count": 3, "ratio": 0.75}, {"value": "None", "count": 1, "ratio": 0.25}]
    seen: list[object] = []
    check = Check().has_histogram_values("c", lambda h: seen.append((h.count(None), h.count("None"), h.ratio(None))))
    judge(check, Measured(value=2, detail={"bins": bins}))
    assert seen == [(3, 1, 0.75)]


def test_a_truth_is_found_in_a_histogram_as_spark_writes_it() -> None:
    bins = [{"value": "true", "count": 3, "ratio": 1.0}]
    check = Check().has_histogram_values("c", lambda histogram: histogram.count(True) == 3)
    assert judge(check, Measured(value=1, detail={"bins": bins})).status is ConstraintStatus.SUCCESS


def test_an_assertion_that_cannot_be_read_is_refused_when_it_is_written() -> None:
    with pytest.raises(UnableToAssert, match="there is no metric completness: did you mean completeness"):
        Check().holds("completness(id) = 1")


def test_an_assertion_looks_up_its_own_metrics_and_no_others() -> None:
    class Lookups(UserDict[MetricRequest, Measured]):
        count = 0

        def __getitem__(self, metric: MetricRequest) -> Measured:
            self.count += 1
            return super().__getitem__(metric)

    check = reduce(lambda check, at: check.holds(f"completeness(c{at}) = 1"), range(100), Check())
    lookups = Lookups({each.asks[0]: Measured(value=1) for each in check.constraints})
    assert {each.judge(ConstraintInput(measured=lookups)).status for each in check.constraints} == {
        ConstraintStatus.SUCCESS
    }
    assert lookups.count == 2 * 100  # for its value, and for its notes


def test_a_measurement_that_failed_is_an_error_with_its_reason() -> None:
    failure = Failure(reason=Reason.UNREADABLE, detail="/lake is gone")
    found = judge(Check().has_size(1), Measured(failure=failure))
    assert (found.status, found.failure) == (ConstraintStatus.ERROR, failure)


def test_a_value_far_from_its_past_is_an_anomaly() -> None:
    check = Check().has_no_anomalies(SIZE, OnlineNormal(std_devs=3))
    found = judge(check, Measured(value=500), days([100, 102, 98, 101]))
    assert (found.status, found.value) == (ConstraintStatus.FAILURE, 500)
    assert judge(check, Measured(value=103), days([100, 102, 98, 101])).status is ConstraintStatus.SUCCESS


def test_too_few_days_are_learning_and_no_repository_is_an_error() -> None:
    check = Check().has_no_anomalies(SIZE, OnlineNormal())
    assert judge(check, Measured(value=1), days([100, 102])).status is ConstraintStatus.LEARNING
    assert "use_repository" in judge(check, Measured(value=1)).message


PAST = [10.0, 20, 30, 40]
HISTORIES = [
    ("mean(row_count(), last=4)", np.mean(PAST)),
    ("median(row_count(), last=3)", np.median(PAST[-3:])),
    ("stddev(row_count(), last=4)", np.std(PAST)),
    ("min(row_count(), last=2)", 30),
    ("max(row_count(), last=7, min=4)", 40),
    ("last(row_count(), last=7)", 40),
    ("lag(row_count(), 3)", 20),
    ("lag(row_count(), 30, every=1d)", 20),  # of 1 February: 2 January
    ("mean(row_count(), last=2, every=4w)", 40),  # 4 January, and none on 7 December
]


@pytest.mark.parametrize(("history", "value"), HISTORIES)
def test_a_history_is_over_the_earlier_runs(history: str, value: float) -> None:
    found = judge(Check().holds(f"{history} = {value}"), Measured(value=50), days(PAST))
    assert found.status is ConstraintStatus.SUCCESS, found.message


@pytest.mark.parametrize(
    "history", ["lag(row_count(), 5)", "mean(row_count(), last=9)", "lag(row_count(), 9, every=999999w)"]
)
def test_a_history_of_too_few_runs_is_learning(history: str) -> None:
    found = judge(Check().holds(f"row_count() > {history}"), Measured(value=50), days(PAST))
    assert found.status is ConstraintStatus.LEARNING


def test_a_history_without_a_repository_is_an_error_that_says_how() -> None:
    found = judge(Check().holds("row_count() >= 0.8 * mean(row_count(), last=7)"), Measured(value=50))
    assert found.status is ConstraintStatus.ERROR
    assert "mean(row_count(), last=7) is over earlier runs: keep their metrics, by use_repository(" in found.message


def test_a_check_is_on_the_whole_or_on_the_delta() -> None:
    assert Check(on="delta").has_size(1).on == "delta"
    with pytest.raises(ValueError, match="write on='whole', or on='delta'"):
        Check(on="detla")  # type: ignore[arg-type]


def test_checks_need_neither_django_nor_spark_to_be_written() -> None:
    code = "import sys, execution_engine.verification; print({'django', 'pyspark', 'celery'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
