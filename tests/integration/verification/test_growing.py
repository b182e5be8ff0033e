"""Checks of a table that grows: its deltas are read once each, and give the values of the whole."""

from datetime import date
from pathlib import Path

import pytest

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import (
    Check,
    ConstraintStatus,
    FolderOfStates,
    ResultKey,
    VerificationResult,
    VerificationSuite,
    between,
)
from tests.integration.verification.rides import RIDES, write

ANY = between(-1e9, 1e9)
CHECK = (
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
DELTAS = (RIDES[:2], RIDES[2:4], RIDES[4:])


def verify(engine: SparkEngine, folder: Path, states: Path, day: int) -> VerificationResult:
    key = ResultKey.of(date(2026, 3, day))
    return VerificationSuite(engine=engine).on(folder).add_check(CHECK).add_up(FolderOfStates(states), key).run()


def test_deltas_add_up_to_the_whole_also_where_one_is_verified_again(spark_engine: SparkEngine, tmp_path: Path) -> None:
    folders = [write(tmp_path / str(at), rows) for at, rows in enumerate(DELTAS)]
    for day in (1, 2, 2, 3):
        last = verify(spark_engine, folders[day - 1], tmp_path / "states", day)
    whole = VerificationSuite(engine=spark_engine).on(write(tmp_path / "whole")).add_check(CHECK).run()
    assert last.metrics == pytest.approx(dict(whole.metrics))
    assert len(whole.metrics) == 9


def test_what_does_not_add_up_is_an_error_that_says_so(spark_engine: SparkEngine, tmp_path: Path) -> None:
    suite = VerificationSuite(engine=spark_engine).on(write(tmp_path / "rides"))
    key = ResultKey.of(date(2026, 3, 1))
    check = Check().has_quantile("fare", 0.5, ANY).has_size(5)
    result = suite.add_check(check).add_up(FolderOfStates(tmp_path / "states"), key).run()
    quantile, size = result.checks[0].constraints
    assert (quantile.status, size.status) == (ConstraintStatus.ERROR, ConstraintStatus.SUCCESS)
    assert "does not add up over deltas" in quantile.message
