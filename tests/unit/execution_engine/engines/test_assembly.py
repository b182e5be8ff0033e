"""From metrics to what must be gathered for them, and from what was gathered to their values."""

from typing import Any

import numpy as np
import pytest

from execution_engine.engines.gathering import (
    Keyed,
    Plan,
    StatisticRequest,
    from_state,
    from_summaries,
    measured_of,
    plan,
)
from execution_engine.engines.protocol import Measured, MeasurementRequest
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.expressions import Expressions
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Counts, Frequencies
from execution_engine.metrics.states.states import MetricState, from_bytes
from execution_engine.metrics.states.statistics import ROWS, Gather, Statistic, Summary
from execution_engine.outcome import Failure, Reason

WRITE = Expressions(quote=lambda name: f"[{name}]", translate=str.upper, text=repr)
SUM = MetricSpec(name="sum", columns=("fare",), where="x > 1")
MEAN = MetricSpec(name="mean", columns=("fare",))
UNIQUE = MetricSpec(name="uniqueness", columns=("id", "city"), where="x > 1")
MUTUAL = MetricSpec(name="mutual_information", columns=("id", "city"))
TOTAL = Statistic(gather=Gather.SUM, of=("[fare]",), column="fare")
COUNT = Statistic(gather=Gather.COUNT, of=("[fare]",), column="fare")
WHERE = "(\nX > 1\n)"
TIMEOUT = Failure(reason=Reason.TIMEOUT, detail="10 s")
LOST = Failure(reason=Reason.UNREADABLE)


def request_of(spec: MetricSpec, *, keep_state: bool = False) -> MeasurementRequest:
    return MeasurementRequest(key=f"key of {spec.name}", spec=spec, keep_state=keep_state)


def keys(*values: int, nulls: int = 0) -> Frequencies:
    return Frequencies(whole=counts(*values), with_nulls=counts(*range(nulls)))


def counts(*values: int) -> Counts:
    return Counts.of(np.array(values, np.int64))


def pairs(columns: tuple[str, ...]) -> Keyed:
    return Keyed(grouping=Grouping(columns=columns), where=WHERE)


def measured(spec: MetricSpec, gathered: Any, *, keep_state: bool = False) -> Measured:
    """With one answer for all that is needed, or one for each."""
    item = request_of(spec, keep_state=keep_state)
    planned = plan([item], WRITE)
    needed = [*planned.statistic_requests, *planned.keyed]
    each = dict(zip(needed, gathered, strict=True))
    return measured_of(item, planned, each, each)  # type: ignore[arg-type]


def test_a_plan_has_the_statistics_and_groupings_of_each_under_its_condition() -> None:
    assert plan([request_of(SUM), request_of(MEAN), request_of(UNIQUE)], WRITE) == Plan(
        statistics={
            "key of sum": {"sum": StatisticRequest(statistic=TOTAL, where=WHERE)},
            "key of mean": {"sum": StatisticRequest(statistic=TOTAL), "count": StatisticRequest(statistic=COUNT)},
        },
        groupings={"key of uniqueness": (pairs(("id", "city")),)},
    )


def test_what_two_metrics_need_is_asked_once_in_its_order() -> None:
    average = MetricSpec(name="sum", columns=("fare",))
    found = plan([request_of(MEAN), request_of(average), request_of(MetricSpec(name="row_count"))], WRITE)
    assert found.statistic_requests == [
        StatisticRequest(statistic=TOTAL),
        StatisticRequest(statistic=COUNT),
        StatisticRequest(statistic=ROWS),
    ]
    distinct = MetricSpec(name="distinctness", columns=("id", "city"), where="x > 1")
    found = plan([request_of(UNIQUE), request_of(distinct)], WRITE)
    assert (found.statistic_requests, found.keyed) == ([], [pairs(("id", "city"))])
    assert set(found.groupings) == {"key of uniqueness", "key of distinctness"}


def test_a_metric_that_needs_neither_is_not_planned() -> None:
    assert plan([request_of(MetricSpec(name="query", arguments=("select 1",)))], WRITE) == Plan(
        statistics={}, groupings={}
    )


def test_a_value_comes_from_its_statistics_by_their_names() -> None:
    assert measured(MEAN, [9.0, 4]) == Measured(value=2.25)
    assert measured(MEAN, [None, 0]) == Measured()


def test_a_state_is_kept_where_it_is_wanted_and_merges() -> None:
    found = measured(MEAN, [9.0, 4], keep_state=True)
    assert found.value == 2.25
    assert found.state is not None
    assert from_bytes(MEAN, found.state).statistics == {"sum": 9.0, "count": 4}
    exact = MetricSpec(name="quantile", columns=("fare",), arguments=(0.5,))
    assert measured(exact, [3.0], keep_state=True) == Measured(value=3.0)


def test_a_failure_of_anything_that_is_needed_is_the_measurements_own() -> None:
    assert measured(MEAN, [9.0, TIMEOUT]) == Measured(failure=TIMEOUT)
    assert measured(MEAN, [LOST, TIMEOUT], keep_state=True) == Measured(failure=LOST)
    assert measured(UNIQUE, [TIMEOUT], keep_state=True) == Measured(failure=TIMEOUT)
    assert measured(MUTUAL, [keys(1, 2), LOST, TIMEOUT]) == Measured(failure=LOST)


def test_keys_give_their_value_what_there_is_to_tell_and_their_state() -> None:
    found = measured(UNIQUE, [keys(1, 2, 2, nulls=2)], keep_state=True)
    note = "2 rows were skipped, where one of id, city is null"
    assert (found.value, found.detail) == (1 / 3, {"skipped_rows": 2, "note": note})
    assert found.state is not None
    (again,) = from_bytes(UNIQUE, found.state).groupings
    assert again.summary == keys(1, 2, 2, nulls=2).summary
    assert measured(UNIQUE, [keys(1, 2)]) == Measured(value=1.0)


def test_of_summaries_alone_there_is_a_value_and_no_state() -> None:
    assert measured(UNIQUE, [Summary(rows=4, distinct=3, single=2)], keep_state=True) == Measured(value=0.5)
    both = keys(1, 2, 3, 4)
    known = measured(MUTUAL, [both, both, both])
    assert known.value == pytest.approx(np.log(4))
    assert measured(MUTUAL, [both.summary, both, both], keep_state=True) == Measured(value=known.value)


def test_the_detail_of_statistics_is_told_too() -> None:
    spec = MetricSpec(name="correlation", columns=("fare", "riders"))
    state = MetricState(statistics={"comoments": (3, 1.0, 1.0, 0.0, 2.0, 0.0)})
    found = from_state(spec, state)
    assert found.value is None
    assert "note" in found.detail
    assert found.state is None


def test_a_value_that_is_no_number_fails_under_the_name_of_the_metric_and_keeps_its_state() -> None:
    state = MetricState(statistics={"sum": float("inf")})
    found = from_state(MetricSpec(name="sum", columns=("fare",)), state, keep_state=True)
    assert found.failure == Failure(
        reason=Reason.NOT_FINITE, detail="sum(fare) is inf; leave such values out with where="
    )
    assert found.state is not None


@pytest.mark.parametrize(
    ("name", "statistics"),
    [
        ("stddev", {"moments": (3, np.nan, np.nan)}),
        ("correlation", {"comoments": (3, np.nan, 1.0, np.nan, 2.0, np.nan)}),
    ],
)
def test_a_nan_among_the_values_is_no_deviation_of_0_and_no_constant_column(
    name: str, statistics: dict[str, Any]
) -> None:
    found = from_state(MetricSpec(name=name, columns=("fare", "riders")), MetricState(statistics=statistics))
    assert (found.failure and found.failure.reason, found.detail) == (Reason.NOT_FINITE, {})


def test_summaries_of_several_groupings_are_all_taken() -> None:
    summaries = tuple(keys(*values).summary for values in ((1, 1, 2, 2), (1, 2, 3, 4), (1, 2, 3, 4)))
    value = from_summaries(MUTUAL, summaries).value
    assert value == pytest.approx(np.log(2))
