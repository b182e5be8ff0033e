"""A slice of random conditions: on each row, the kernels answer what Spark answers."""

from execution_engine.engines.spark.engine import SparkEngine

from .both import judged
from .by_kernels import Tally
from .kept import KEPT_TABLES, OF_A_KEPT, kept


def test_kernels_meet_refuse_and_leave_unknown_what_spark_does(spark_engine: SparkEngine) -> None:
    """``python -m tests.integration.kernels`` asks more, and ``--keep`` writes anew what is kept of Spark."""
    tally = Tally()
    for seed in KEPT_TABLES:
        of_table, said = judged(spark_engine.session, seed, OF_A_KEPT)
        tally.add(of_table)
        assert {sql: truths.tolist() for sql, truths in kept(seed).items()} == {
            sql: truths if isinstance(truths, str) else truths.tolist() for sql, truths in said.items()
        }
    assert tally.differing == []
    assert tally.ends["native"] > 0.6 * tally.ends["asked"]
    assert min(tally.truths[truth] for truth in (1, 0, -1)) > 1000
