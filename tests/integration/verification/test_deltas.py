"""Checks of a table that grows: deltas add up to the whole, and checks on a delta stand beside those on the whole."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pytest

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.outcome import Reason
from execution_engine.verification import (
    SIZE,
    AbsoluteChange,
    Check,
    CheckResult,
    ConstraintStatus,
    FileRepository,
    FolderOfStates,
    Level,
    ResultKey,
    Status,
    Verification,
    VerificationSuite,
    at_least,
    between,
    metric,
)
from tests.integration.verification.rides import RIDES, write

ANY = between(-1e9, 1e9)
WHOLE = (
    Check()
    .has_size(ANY)
    .has_completeness("city", ANY)
    .has_uniqueness("id", ANY)
    .has_entropy("city", ANY)
    .has_mean("fare", ANY)
    .has_standard_deviation("fare", ANY)
    .has_correlation("fare", "tip", ANY)
    .has_approx_count_distinct("city", ANY)
    .is_contained_in("city", ["rome"], ANY, where="tip > 0.5")
)
SMOOTH = AbsoluteChange(max_decrease=1, max_increase=1)
Delta = Callable[[int, int], Verification]


@pytest.fixture
def delta(spark_engine: SparkEngine, tmp_path: Path) -> Delta:
    """So many rides of one day, with the states and metrics of the days before."""

    def of(day: int, rows: int) -> Verification:
        rides = [RIDES[at % len(RIDES)] for at in range(rows)]
        key = ResultKey.of(date(2026, 3, day))
        data = VerificationSuite(engine=spark_engine).on(write(tmp_path / str(day), rides), "rides")
        return data.add_up(FolderOfStates(tmp_path / "states"), key).use_repository(
            FileRepository(tmp_path / "metrics.jsonl"), key
        )

    return of


def statuses(check: CheckResult) -> list[str]:
    return [each.status.value for each in check.constraints]


def test_deltas_add_up_to_the_whole_also_where_one_is_verified_again(spark_engine: SparkEngine, tmp_path: Path) -> None:
    suite, states = VerificationSuite(engine=spark_engine), FolderOfStates(tmp_path / "states")
    for day, rows in ((1, RIDES[:2]), (2, RIDES[2:4]), (2, RIDES[2:4]), (3, RIDES[4:])):
        grown = suite.on(write(tmp_path / str(day), rows)).add_check(WHOLE)
        last = grown.add_up(states, ResultKey.of(date(2026, 3, day))).run()
    whole = suite.on(write(tmp_path / "whole")).add_check(WHOLE).run()
    assert last.metrics == pytest.approx(dict(whole.metrics))
    assert len(whole.metrics) == 9


def test_one_metric_is_measured_of_the_delta_and_of_the_whole(delta: Delta) -> None:
    checks = Check(on="delta").has_size(2).has_mean("fare", ANY), Check().has_size(5).has_mean("fare", ANY)
    delta(1, 3).add_check(*checks).run()
    result = delta(2, 2).add_check(*checks).run()
    assert result.checks[0].constraints[0].status is ConstraintStatus.SUCCESS
    assert result.metrics == {
        "row_count()": 5,
        "mean(fare)": pytest.approx(np.mean([4, 8, 4, 8])),
        "row_count() on delta": 2,
        "mean(fare) on delta": pytest.approx(np.mean([4, 8])),
    }


@pytest.mark.only_on_spark("local", "cluster", why="Connect does not tell how many jobs there were")
def test_both_take_one_scan(delta: Delta) -> None:
    whole = Check().has_size(ANY).is_unique("id").has_approx_quantile("id", 0.5, ANY)
    alone = delta(1, 5).add_check(whole).run()
    both = delta(2, 5).add_check(whole, replace(whole, on="delta")).run()
    assert both.spark_jobs == alone.spark_jobs > 0


def test_anomalies_of_deltas_are_looked_for_among_deltas(delta: Delta) -> None:
    checks = (
        Check(Level.WARNING, on="delta").has_no_anomalies(SIZE, SMOOTH),
        Check(Level.WARNING).has_no_anomalies(SIZE, SMOOTH),
    )
    results = [delta(day, rows).add_check(*checks).run() for day, rows in ((1, 3), (2, 4), (3, 1))]
    assert [statuses(each.checks[0]) for each in results] == [["learning"], ["success"], ["failure"]]
    assert [statuses(each.checks[1]) for each in results] == [["learning"], ["failure"], ["success"]]
    assert [each.checks[0].constraints[0].detail.get("earlier") for each in results[1:]] == [[3], [3, 4]]
    assert [each.checks[1].constraints[0].detail.get("earlier") for each in results[1:]] == [[3], [3, 7]]


def test_histories_of_deltas_are_over_deltas(delta: Delta) -> None:
    growth = "row_count() >= 2 * last(row_count(), last=7)"
    checks = Check(on="delta").holds(growth), Check().holds(growth)
    delta(1, 2).add_check(*checks).run()
    result = delta(2, 3).add_check(*checks).run()
    assert [statuses(check) for check in result.checks] == [["failure"], ["success"]]


def test_what_does_not_add_up_can_be_asked_of_the_delta(delta: Delta) -> None:
    quantile = Check(on="delta").has_quantile("fare", 0.5, 6).has_size(2)
    result = delta(1, 2).add_check(quantile, replace(quantile, on="whole")).run()
    assert [statuses(check) for check in result.checks] == [["success", "success"], ["error", "success"]]
    assert "say Check(…, on='delta')" in result.checks[1].constraints[0].message


def test_a_delta_checked_by_itself_leaves_no_state(delta: Delta, tmp_path: Path) -> None:
    delta(1, 5).add_check(Check(on="delta").is_unique("id").has_size(5)).run()
    assert list(tmp_path.glob("states/**/*.state")) == []


def test_a_metric_that_earlier_deltas_were_not_asked_for_is_no_metric_of_the_whole(delta: Delta) -> None:
    late = Check().has_size(5).has_mean("fare", ANY)
    delta(1, 3).add_check(Check().has_mean("fare", ANY), Check(on="delta").has_size(3)).run()
    (found,) = delta(2, 2).add_check(late).run().checks
    assert statuses(found) == ["error", "success"]
    assert "row_count(): earlier deltas (1, the last of 2026-03-01 00:00 UTC) were" in found.constraints[0].message
    delta(1, 3).add_check(late).run()
    assert statuses(delta(2, 2).add_check(late).run().checks[0]) == ["success", "success"]


def test_an_assertion_about_the_table_by_its_own_name_adds_up_too(delta: Delta) -> None:
    check = Check().holds("row_count(dataset='rides') = row_count()").holds("row_count(dataset='rides') = 5")
    delta(1, 3).add_check(check).run()
    assert statuses(delta(2, 2).add_check(check).run().checks[0]) == ["success", "success"]


def test_without_a_delta_such_a_check_is_an_error_and_the_others_are_judged(
    spark_engine: SparkEngine, tmp_path: Path
) -> None:
    data = VerificationSuite(engine=spark_engine).on(write(tmp_path / "rides"))
    result = data.add_check(Check(on="delta").has_size(5), Check().has_size(at_least(5))).run()
    (found,) = result.checks[0].constraints
    assert found.failure is not None
    assert found.failure.reason is Reason.INVALID
    assert "say add_up(" in found.message
    assert (result.checks[1].status, result.status) == (Status.SUCCESS, Status.UNABLE)


def test_results_say_which_part_they_are_of(delta: Delta) -> None:
    check = Check(on="delta").has_no_anomalies(metric("mean", "fare"), SMOOTH).has_size(9)
    result = delta(1, 5).add_check(check, Check().has_size(5)).run()
    assert list(result.to_dataframe().on) == ["delta", "delta", "whole"]
    assert "Failure(has_size() on delta, row_count() = 9, 5)" in str(result).splitlines()
