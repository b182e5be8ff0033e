from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from execution_engine.engines.column_types import expressions
from execution_engine.engines.gathering import (
    MOST_AGGREGATES,
    MOST_CLAUSES,
    GroupResults,
    Keyed,
    StatisticRequest,
    frequencies_of,
    in_order,
    measured_by,
    measured_number,
    of_no_data,
    of_no_rows,
    planned_groups,
    selects,
)
from execution_engine.engines.protocol import MeasurementRequest
from execution_engine.engines.spark.measures.frequencies import PULLED_BYTES, batches
from execution_engine.metrics.definition import Grouping
from execution_engine.metrics.spec import MetricSpec
from execution_engine.metrics.states.frequencies import Counts, Frequencies
from execution_engine.metrics.states.group_values import GroupValues
from execution_engine.metrics.states.statistics import Gather, Statistic
from execution_engine.outcome import Failure, Reason


def request_of(column: str, where: str | None = None, gather: Gather = Gather.SUM) -> StatisticRequest:
    return StatisticRequest(statistic=Statistic(gather=gather, of=(column,)), where=where)


def test_what_is_asked_twice_is_gathered_once() -> None:
    (select,) = selects([request_of("a"), request_of("b"), request_of("a")], together=False)
    assert select.requests == (request_of("a"), request_of("b"))


def test_sketches_have_a_select_of_their_own() -> None:
    given = [request_of("a"), request_of("b", gather=Gather.HLL), request_of("c", gather=Gather.PERCENTILE)]
    assert [len(select.requests) for select in selects(given, together=False)] == [1, 2]
    assert [len(select.requests) for select in selects(given, together=True)] == [3]


def test_no_select_is_too_wide_for_generated_code() -> None:
    given = [request_of(f"c{at}") for at in range(2 * MOST_AGGREGATES + 1)]
    assert [len(select.requests) for select in selects(given, together=False)] == [MOST_AGGREGATES, MOST_AGGREGATES, 1]


def test_statistics_under_several_clauses_are_gathered_by_mask() -> None:
    given = [request_of(column, where) for where in ("w", "v") for column in "ab"]
    (select,) = selects(given, together=False)
    assert (select.clauses, set(select.requests)) == (("w", "v"), set(given))


def test_one_clause_needs_no_mask() -> None:
    (select,) = selects([request_of("a", "w"), request_of("b", "w")], together=False)
    assert select.clauses == ()


def test_what_cannot_be_merged_is_not_masked() -> None:
    exact = [request_of("c", where, Gather.PERCENTILE) for where in ("w", "v")]
    masked, plain = selects([request_of(c, w) for w in ("w", "v") for c in "ab"] + exact, together=False)
    assert (masked.clauses, plain.clauses, plain.requests) == (("w", "v"), (), tuple(exact))


def test_many_clauses_are_cut_into_masks() -> None:
    given = [request_of(column, f"w{at}") for at in range(MOST_CLAUSES + 1) for column in "ab"] + [request_of("a")]
    found = selects(given, together=False)
    assert [len(select.clauses) for select in found] == [MOST_CLAUSES, 1]
    assert sorted(map(repr, given)) == sorted(repr(one) for select in found for one in select.requests)


def test_a_mask_is_worth_it_from_two_clauses_and_two_times_each_statistic_on() -> None:
    twice = [request_of("a", "w"), request_of("a", "v")]
    assert [select.clauses for select in selects(twice, together=False)] == [("w", "v")]
    assert [select.clauses for select in selects([*twice, request_of("b", "w")], together=False)] == [()]
    assert [
        select.clauses for select in selects([*twice, request_of("b", "w"), request_of("b", "v")], together=False)
    ] == [("w", "v")]
    assert [select.clauses for select in selects(twice, together=True)] == [()]


def test_what_is_asked_without_a_clause_joins_the_first_mask_that_gathers_it() -> None:
    given = [request_of("a", "w"), request_of("a", "v"), request_of("a"), request_of("b")]
    masked, plain = selects(given, together=False)
    assert (masked.requests, masked.clauses) == (
        (request_of("a", "w"), request_of("a", "v"), request_of("a")),
        ("w", "v"),
    )
    assert (plain.requests, plain.clauses) == ((request_of("b"),), ())


def test_sketches_under_clauses_have_a_mask_of_their_own() -> None:
    given = [request_of("a", where, gather) for gather in (Gather.SUM, Gather.HLL) for where in ("w", "v")]
    sums, sketches = selects(given, together=False)
    assert (sums.requests, sums.clauses) == (tuple(given[:2]), ("w", "v"))
    assert (sketches.requests, sketches.clauses) == (tuple(given[2:]), ("w", "v"))


def test_the_limits_are_those_of_generated_code_and_of_a_mask() -> None:
    assert (MOST_AGGREGATES, MOST_CLAUSES) == (90, 10)
    full = [request_of(f"c{at}") for at in range(MOST_AGGREGATES)]
    assert [len(select.requests) for select in selects(full, together=True)] == [90]
    assert [len(select.requests) for select in selects([*full, request_of("x")], together=True)] == [90, 1]
    clauses = [request_of("a", f"w{at}") for at in range(MOST_CLAUSES)]
    assert [len(select.clauses) for select in selects(clauses, together=False)] == [10]
    assert selects([], together=False) == selects([], together=True) == []


TRIP, CITY, DAY = (Grouping(columns=(name,)) for name in ("trip", "city", "day"))


def keyed(grouping: Grouping, count: int) -> list[Keyed]:
    return [Keyed(grouping=grouping, where=f"fare > {at}") for at in range(count)]


def test_a_hundred_clauses_of_a_grouping_cost_one_pull() -> None:
    assert list(batches(keyed(TRIP, 100), 10**7)) == [keyed(TRIP, 100)]


def test_groupings_are_pulled_together_as_far_as_the_driver_has_room() -> None:
    wanted = [*keyed(TRIP, 2), *keyed(CITY, 2), *keyed(DAY, 2)]
    assert list(batches(wanted, PULLED_BYTES // 16)) == [wanted[:4], wanted[4:]]
    assert list(batches(wanted, PULLED_BYTES)) == [wanted[:2], wanted[2:4], wanted[4:]]


@pytest.mark.parametrize(
    ("value", "number", "reason", "why"),
    [
        (None, None, None, ""),
        *[(2.5, 2.5, None, ""), (Decimal("1.5"), 1.5, None, "")],
        ("x", None, Reason.QUERY_FAILED, "mean(a) gave a str, not a number; measure or cast to a number"),
        (float("nan"), None, Reason.NOT_FINITE, "mean(a) is nan; leave such values out with where="),
    ],
)
def test_what_is_no_finite_number_is_no_value(
    value: Any, number: float | None, reason: Reason | None, why: str
) -> None:
    found = measured_number(value, "mean(a)")
    assert (found.value, found.failure) == (number, reason and Failure(reason=reason, detail=why))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("unpartitioned_rows", "unpartitioned_rows() needs the format of the partitions' keys: register the table"),
        ("freshness", "freshness() is derived from other measurements; ask for those"),
        ("query", "nothing measures query() here: its definition names no function for it"),
    ],
)
def test_what_no_engine_measures_says_why(name: str, why: str) -> None:
    failure = of_no_data(MeasurementRequest(key="", spec=MetricSpec(name=name))).failure
    assert failure is not None
    assert (failure.reason, failure.detail[: len(why)]) == (Reason.INVALID, why)


def test_metrics_by_the_same_columns_are_gathered_together_and_each_group_has_its_value() -> None:
    mean = MeasurementRequest(key="mean", spec=MetricSpec(name="mean", columns=("a",), by=("city",)))
    unique = MeasurementRequest(
        key="unique", spec=MetricSpec(name="uniqueness", columns=("a",), where="w", by=("city",))
    )
    rows = MeasurementRequest(key="rows", spec=MetricSpec(name="row_count", by=("app",)))
    whole = MeasurementRequest(key="whole", spec=MetricSpec(name="row_count"))
    by_city, by_app = planned_groups([mean, rows, unique, whole], expressions({"a": "double", "city": "string"}))
    assert [(group.request.by, list(group.items)) for group in (by_city, by_app)] == [
        (("city",), [mean, unique]),
        (("app",), [rows]),
    ]
    total, count = by_city.request.requests
    (keyed,) = by_city.request.keyed
    assert (total.statistic.gather, count.statistic.gather, keyed.where) == (Gather.SUM, Gather.COUNT, "(\n`w`\n)")
    ones, twins = (Frequencies(whole=Counts.of(np.array(keys))).summary for keys in ([1, 2, 3, 4], [1, 1, 2]))
    groups = GroupResults(
        keys=[("rome",), (None,)],
        statistics={total: [6.0, 0.0], count: [4, 0]},
        counted={keyed: [ones, twins]},
    )
    found = {item.key: measured_by(item, by_city.planned, groups) for item in by_city.items}
    assert [measured.value for measured in found.values()] == [2, 2]
    values = {key: GroupValues.from_bytes(measured.state or b"").groups for key, measured in found.items()}
    assert values == {"mean": {("rome",): 1.5, (None,): None}, "unique": {("rome",): 1.0, (None,): 1 / 3}}
    nothing = measured_by(mean, by_city.planned, of_no_rows(by_city.request))
    assert (nothing.value, GroupValues.from_bytes(nothing.state or b"").groups) == (0, {})
    failure = measured_by(mean, by_city.planned, GroupResults(too_many=True)).failure
    assert failure is not None
    assert "100,000" in failure.detail


def test_keys_of_groups_stand_in_their_order_with_nulls_first() -> None:
    assert in_order([("b", "x"), ("a", None), (None, "z"), ("a", "y")]) == [2, 1, 3, 0]
    assert in_order([("b",), ("a",)]) == [1, 0]


NULLS = {"a": np.array([True, False, False, True]), "b": np.array([False, False, True, True])}


@pytest.mark.parametrize(
    ("grouping", "met", "whole", "with_nulls"),
    [
        (Grouping(columns=("a",)), None, [2, 3], [1, 4]),
        (Grouping(columns=("c",)), None, [1, 2, 3, 4], []),
        (Grouping(columns=("a", "b")), None, [2], [1, 3, 4]),
        (Grouping(columns=("a", "b"), partial=True), None, [1, 2, 3], [4]),
        (Grouping(columns=("a", "c"), partial=True), None, [1, 2, 3, 4], []),
        (Grouping(columns=("a",)), [True, True, False, False], [2], [1]),
        (Grouping(columns=("a",), present=("b",)), None, [2], [1]),
        (Grouping(columns=("c",), present=("b", "a")), [False, True, True, True], [2], []),
    ],
)
def test_keys_are_counted_of_rows_that_count_and_those_with_nulls_apart(
    grouping: Grouping, met: list[bool] | None, whole: list[int], with_nulls: list[int]
) -> None:
    hashes = np.array([1, 2, 3, 4])
    found = frequencies_of(hashes, grouping, NULLS, None if met is None else np.array(met))
    assert (found.whole.single.tolist(), found.with_nulls.single.tolist()) == (whole, with_nulls)
