"""A slice of random scans: the kernels measure what Spark measures, with the same states."""

import pytest

from execution_engine.engines.native import reading
from execution_engine.engines.spark.engine import SparkEngine

from .__main__ import FEW_ROWS, PACKED
from .halves import halved
from .scans import Scans, scanned


def test_scans_measure_by_kernels_what_they_measure_by_spark(
    spark_engine_without_code: SparkEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``python -m tests.integration.kernels scans`` asks 20,000 of them."""
    total = Scans()
    for seed in range(4):
        monkeypatch.setattr(reading, "FEW_BYTES", PACKED if seed % 2 else reading.FEW_BYTES)
        monkeypatch.setattr(reading, "ROWS", FEW_ROWS if seed % 2 else reading.ROWS)
        total.add(scanned(spark_engine_without_code.session, seed, 12))
    assert total.differing == []
    assert total.ends["scans of which both read a value"] > 40
    assert total.metrics.total() > 200


def test_states_of_two_halves_one_by_each_are_together_that_of_all(spark_engine_without_code: SparkEngine) -> None:
    total = Scans()
    for seed in range(6):
        total.add(halved(spark_engine_without_code.session, seed, 6))
    assert total.differing == []
    assert total.ends["values of two halves"] > 50
