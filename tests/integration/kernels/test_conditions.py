"""A slice of random conditions: on each row, the kernels answer what Spark answers."""

import pytest

from execution_engine.engines.spark.engine import SparkEngine

from .both import Tally, judged

TABLES, CONDITIONS = range(4), 150
FIRST_OTHER = 1000


def test_kernels_meet_refuse_and_leave_unknown_what_spark_does(spark_engine: SparkEngine) -> None:
    tally = Tally()
    for seed in TABLES:
        tally.add(judged(spark_engine.session, seed, CONDITIONS))
    assert tally.differing == []
    assert tally.ends["native"] > 0.7 * tally.ends["asked"]
    assert min(tally.truths[truth] for truth in (1, 0, -1)) > 1000


@pytest.mark.parametrize("seed", [1])
def test_a_number_draws_one_table_and_its_conditions(spark_engine: SparkEngine, seed: int) -> None:
    first, second = (judged(spark_engine.session, seed, 20) for _ in range(2))
    assert (first.ends, first.truths, first.declined) == (second.ends, second.truths, second.declined)
