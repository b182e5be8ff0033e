"""Every example of docs/verification-api.md that reads data comes to what it says, in one Spark session."""

from datetime import date
from pathlib import Path

import pytest
from pyspark.sql import DataFrame

from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import InMemoryRepository, ResultKey, StoredMetrics, VerificationSuite
from tests.unit.execution_engine.verification.api_rows import EARLIER_SIZES, RIDERS, RIDES, SCHEMA
from tests.unit.execution_engine.verification.run_examples import READ_DATA, failed_examples, of_checks

DAY = 10  # of March 2026


@pytest.fixture
def frames(spark_engine: SparkEngine) -> dict[str, DataFrame]:
    session = spark_engine.session
    return {
        "rides": session.createDataFrame(RIDES, SCHEMA),
        "riders": session.createDataFrame(RIDERS, "rider_id long"),
    }


def earlier() -> InMemoryRepository:
    repository = InMemoryRepository()
    for day, size in enumerate(EARLIER_SIZES, start=DAY - len(EARLIER_SIZES)):
        key = ResultKey.of(date(2026, 3, day))
        repository.save(StoredMetrics(key=key, values={"row_count()": size}))
    return repository


def test_each_example_of_a_check_has_the_status_that_it_says(frames: dict[str, DataFrame]) -> None:
    examples = of_checks()
    verification = VerificationSuite().on(frames["rides"], "rides").with_table("riders", frames["riders"])
    verification = verification.add_check(*(each.check for each in examples))
    result = verification.use_repository(earlier(), ResultKey.of(date(2026, 3, DAY))).run()
    found = [sorted({one.status for one in check.constraints}) for check in result.checks]
    said = list(zip([each.text for each in examples], found, strict=True))
    assert said == [(each.text, [each.status]) for each in examples], str(result)
    assert len(examples) > 50


def test_examples_of_verifications_and_their_results_are_right(frames: dict[str, DataFrame], tmp_path: Path) -> None:
    assert failed_examples(READ_DATA, {**frames, "folder": tmp_path}) == ""
