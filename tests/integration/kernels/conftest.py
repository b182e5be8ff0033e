"""Spark for many questions over few rows."""

from collections.abc import Iterator

import pytest

from execution_engine.engines.spark.engine import SparkEngine

from .__main__ import generate


@pytest.fixture
def spark_engine_without_code(spark_engine: SparkEngine) -> Iterator[SparkEngine]:
    """Spark evaluates its trees, which is cheaper for so few rows."""
    generate(spark_engine.session, False)
    yield spark_engine
    for name in ("spark.sql.codegen.wholeStage", "spark.sql.codegen.factoryMode"):
        spark_engine.session.conf.unset(name)


@pytest.fixture(autouse=True)
def all_by_kernels(kernels_always_pay: None) -> None:
    """Of what they know nothing is left to Spark because that is cheaper."""
