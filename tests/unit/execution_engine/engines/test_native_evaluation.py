"""Conditions over rows: what is left to Spark once the types and the rows are known."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from execution_engine.engines.files.footers import spark_type_of
from execution_engine.engines.native.compiled import compiled
from execution_engine.engines.native.evaluation import Batch
from execution_engine.engines.native.nodes import UnableToTell
from execution_engine.engines.native.values import values_of

NULLABLE = pa.array([1, None, -1])


def truths(sql: str, **columns: pa.Array) -> list[bool | None]:
    """Of each row, whether it meets the condition; None where that is NULL."""
    rows = len(next(iter(columns.values())))

    def column(name: str) -> Any:
        return values_of(columns[name], spark_type_of(columns[name].type) or "")

    met = Batch(rows=rows, columns=column).met(compiled(sql))
    null = [False] * rows if met.null is None else met.null.tolist()
    return [None if unknown else yes for yes, unknown in zip(met.yes.tolist(), null, strict=True)]


@pytest.mark.parametrize("number", ["9223372036854775808", "-9223372036854775809", "9223372036854775807.5"])
@pytest.mark.parametrize("by", ["<", "<=", ">", ">="])
def test_an_order_beyond_64_bits_is_left_to_spark_which_answers_it_for_null_too(by: str, number: str) -> None:
    with pytest.raises(UnableToTell):
        truths(f"a {by} {number}", a=NULLABLE)


def test_all_else_beyond_64_bits_is_null_where_the_number_is() -> None:
    assert truths("a = 9223372036854775808", a=NULLABLE) == [False, None, False]
    assert truths("a <> 9223372036854775808", a=NULLABLE) == [True, None, True]
    assert truths("a in (1, 9223372036854775808)", a=NULLABLE) == [True, None, False]
    assert truths("a < 9223372036854775807", a=NULLABLE) == [True, None, True]
    decimals = pa.array([Decimal(1), None, Decimal(-1)], pa.decimal128(18, 0))
    assert truths("a < 9223372036854775808", a=decimals) == [True, None, True]


def test_a_literal_of_more_digits_than_pythons_decimals_keep_is_not_rounded() -> None:
    tiny = pa.array([1, None, -1], pa.int8())
    assert truths("a = 1.00000000000000000000000000000001", a=tiny) == [False, None, False]
    assert truths("a > -1.00000000000000000000000000000001", a=tiny) == [True, None, True]
    assert truths("a >= 0.99999999999999999999999999999999", a=tiny) == [True, None, False]
