"""The paper's first listing gives the results of its second."""

import pytest

from examples import video_stream
from execution_engine.engines.spark.engine import SparkEngine
from execution_engine.verification import Level, Status, VerificationResult, VerificationSuite

LISTING_2 = """
Success(is_complete(title), completeness(title) = 1)
Success(is_non_negative(count), non_negative(count) = 1)
Failure(is_unique(customerId, countryResidence, deviceType, title), \
uniqueness(customerId, countryResidence, deviceType, title) = 1, 0.996667)
Failure(is_in_range(priority, ('hi', 'lo')), \
compliance("priority is null or priority in ('hi', 'lo')") = 1, 0.833333)
"""


@pytest.fixture(scope="module")
def result(spark_engine: SparkEngine, tmp_path_factory: pytest.TempPathFactory) -> VerificationResult:
    return video_stream.verify(VerificationSuite(engine=spark_engine), tmp_path_factory.mktemp("logs"))


def test_the_results_have_the_shape_and_the_values_of_the_second_listing(result: VerificationResult) -> None:
    assert set(LISTING_2.strip().splitlines()) <= set(str(result).splitlines())


def test_every_constraint_of_the_listing_is_judged(result: VerificationResult) -> None:
    statuses = {
        each.constraint.split("(")[0]: each.status.value for check in result.checks for each in check.constraints
    }
    assert statuses == {
        "is_complete": "success",
        "is_unique": "failure",
        "has_count_distinct": "success",
        "has_histogram_values": "success",
        "is_non_negative": "success",
        "is_less_than": "success",
        "is_in_range": "failure",
        "has_no_anomalies": "success",  # the last one, of four deviations
        "has_predictability": "success",
    }


def test_one_metric_is_bounded_in_two_levels(result: VerificationResult) -> None:
    sizes = [check for check in result.checks if check.name == "size"]
    assert [(check.level, check.status) for check in sizes] == [
        (Level.WARNING, Status.WARNING),
        (Level.ERROR, Status.SUCCESS),
    ]
    assert [check.constraints[0].value for check in sizes] == [video_stream.ROWS[video_stream.DAY]] * 2


def test_sizes_are_those_of_deltas_and_keys_those_of_all_days(result: VerificationResult) -> None:
    keys = result.checks[0].constraints[-2]
    assert keys.constraint.startswith("is_unique")
    assert keys.value == pytest.approx(1 - (8 + 10) / (2400 + 3000))
    detail = result.checks[3].constraints[0].detail
    assert detail["earlier"] == [2580, 2220] * 6 + [2400]


def test_the_verification_as_a_whole_fails_as_one_check_of_level_error_does(result: VerificationResult) -> None:
    assert result.status is Status.ERROR
    assert len(result.failed) == 3
