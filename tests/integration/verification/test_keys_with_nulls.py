"""Keys in which a part is null: what the standard test of duplicates says of them, and what uniqueness skips."""

from typing import Any

import pytest

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import Check, ConstraintResult, VerificationSuite
from test_generator.generation.standard import duplicates

Rows = list[tuple[Any, ...]]
ORDERS: Rows = [("o1", None), ("o1", None), ("o1", None), ("o2", 1), (None, None)]


def one(engine: SparkEngine, rows: Rows, check: Check) -> ConstraintResult:
    frame = engine.session.createDataFrame(rows, "order string, item long")
    (found,) = VerificationSuite().on(frame, "orders").add_check(check).run().checks[0].constraints
    return found


@pytest.mark.parametrize(
    ("key", "rows", "sla", "status"),
    [
        (["item"], [("o1", 1), ("o2", 2)], 0, "success"),
        (["item"], [("o1", 1), ("o2", None)], 0, "failure"),
        (["item"], [("o1", 1), ("o2", None)], 0.5, "success"),
        (["order", "item"], [("o1", 1), ("o1", None), (None, 1)], 0, "failure"),
        (["order", "item"], [("o1", 1), ("o1", None), (None, 1)], 0.6, "failure"),
        (["order", "item"], [("o1", 1), ("o1", 2)], 0, "success"),
        (["order", "item"], [("o1", 1), ("o1", 1)], 0, "failure"),
    ],
)
def test_a_row_whose_primary_key_is_null_in_a_part_counts_as_a_duplicate(
    spark_engine: SparkEngine, key: list[str], rows: Rows, sla: float, status: str
) -> None:
    found = one(spark_engine, rows, Check().holds(duplicates(key, sla)))
    assert found.status == status, found.message


def test_uniqueness_says_how_many_rows_it_skipped_and_why(spark_engine: SparkEngine) -> None:
    found = one(spark_engine, ORDERS, Check().is_unique("order", "item"))
    assert (found.status.value, found.value) == ("success", 1)
    assert found.message.endswith("; 4 rows were skipped, where one of order, item is null")
    by_language = one(spark_engine, ORDERS, Check().holds("count_distinct(item) = 1"))
    assert by_language.message.endswith("; 4 rows were skipped, where item is null")


@pytest.mark.parametrize(
    ("assertion", "value"),
    [
        ("uniqueness({}) = 0.25", 1 / 4),
        ("distinctness({}) = 0.5", 2 / 4),
        ("unique_value_ratio({}) = 0.5", 1 / 2),
        ("count_distinct({}) = 2", 2),
    ],
)
def test_keys_that_are_null_in_part_are_kept_where_that_is_said(
    spark_engine: SparkEngine, assertion: str, value: float
) -> None:
    found = one(spark_engine, ORDERS, Check().holds(assertion.format("order, item, nulls='keep'")))
    assert (found.status.value, found.value) == ("success", value), found.message
    assert "1 row was skipped, where each of order, item is null" in found.message


def test_python_and_the_language_keep_the_same(spark_engine: SparkEngine) -> None:
    found = one(spark_engine, ORDERS, Check().is_unique("order", "item", nulls="keep"))
    assert (found.status.value, found.value, found.metric) == ("failure", 0.25, "uniqueness(order, item, nulls='keep')")
    with pytest.raises(ValueError, match="write 'skip' or 'keep'"):
        Check().is_unique("order", nulls="all")  # type: ignore[arg-type]


def test_groups_keep_them_too(spark_engine: SparkEngine) -> None:
    kept = one(spark_engine, ORDERS, Check().holds("count_distinct(order, item, nulls='keep') >= 1 by order"))
    skipped = one(spark_engine, ORDERS, Check().holds("count_distinct(order, item) >= 1 by order"))
    assert (kept.value, skipped.value) == (2 / 3, 1 / 3)


def test_rows_that_share_a_key_which_is_null_in_part_are_shown(spark_engine: SparkEngine) -> None:
    frame = spark_engine.session.createDataFrame(ORDERS, "order string, item long")
    verification = VerificationSuite().on(frame, "orders").add_check(Check().is_unique("order", "item", nulls="keep"))
    rows = verification.failing_rows(verification.run(), 10).rows
    assert [row.values for row in rows] == [("o1", None)] * 3
