"""One Spark session for all integration tests, as starting one takes seconds."""

import os
from collections.abc import Iterator

import pytest

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.engines.spark.start.session import SparkOptions


@pytest.fixture(scope="session")
def spark_engine() -> Iterator[SparkEngine]:
    """Classic ``local[2]``, or Connect where ASSAY_SPARK_REMOTE names one: both in one process clash."""
    engine = SparkEngine(SparkOptions(master="local[2]", remote=os.environ.get("ASSAY_SPARK_REMOTE")))
    yield engine
    engine.close()
