"""Tables that strangers made: the kernels measure them as Spark does."""

from execution_engine.engines.spark.engine import SparkEngine
from tests.zoo.tables import OTHERS, chosen, specimens

from .scans import Scans
from .zoo import scanned_specimen

COUNT, SEED = 3, 20261122
ODD_NAMES = ["MASS/Cars93", "AER/CPS1985"]  # with dots, and a text called union


def test_tables_that_strangers_made_are_measured_by_kernels_as_by_spark(spark_engine_without_code: SparkEngine) -> None:
    """``python -m tests.integration.kernels zoo`` asks of all of them."""
    total = Scans()
    for specimen in specimens([*ODD_NAMES, *chosen(COUNT + len(OTHERS), SEED)[len(OTHERS) :]]):
        total.add(scanned_specimen(spark_engine_without_code.session, specimen, 4))
    assert total.differing == []
    assert total.metrics.total() > 60
