"""What the errors of a cluster's tasks say of its executors and of the store that they read."""

import pytest
from pyspark.errors import PythonException

from execution_engine.engines.files.stores import failure_in_tasks
from execution_engine.engines.spark.executors import fault_in
from execution_engine.engines.spark.failures import failure_of
from execution_engine.outcome import Reason


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("ModuleNotFoundError: No module named 'pyarrow'", "the executors' Python has no pyarrow: install it there"),
        (
            "[UNSUPPORTED_PACKAGE_VERSION] PyArrow >= 18.0.0 must be installed; however, your version is 9.0.0.",
            "the executors' Python has no PyArrow >= 18.0.0: install it there",
        ),
        (
            "[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9 than that in driver: 3.11, PySpark",
            "the executors have Python 3.9, and this process 3.11: set spark.pyspark.python",
        ),
        (
            'java.io.IOException: Cannot run program "/opt/py/bin/python": error=2, No such file or directory',
            "the executors have no Python at /opt/py/bin/python: set spark.pyspark.python",
        ),
        ("org.apache.spark.SparkException: lost", "a task in Python fails on the executors, see their logs"),
    ],
)
def test_what_executors_lack_is_named(text: str, sentence: str) -> None:
    assert fault_in(text).startswith(sentence)
    assert len(fault_in(text)) <= 200


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("When reading a in bucket lake: AWS Error SLOW_DOWN during GetObject operation", Reason.STORE_UNREACHABLE),
        ("AWS Error UNKNOWN (HTTP status 400) during GetObject operation: ExpiredToken", Reason.STORE_UNREACHABLE),
        ("AWS Error UNKNOWN (HTTP status 400) during HeadObject operation: No body", Reason.STORE_UNREACHABLE),
        ("AWS Error SIGNATURE_DOES_NOT_MATCH during GetObject operation", Reason.UNREADABLE),
        ("Path does not exist 'lake/a'", None),
        ("Couldn't deserialize thrift", None),
    ],
)
def test_what_a_store_says_in_mid_scan_is_transient_unless_it_stays(text: str, reason: Reason | None) -> None:
    failure = failure_in_tasks("s3://lake/trips", text)
    assert (failure and failure.reason) is reason


@pytest.mark.parametrize(
    ("text", "reason", "sentence"),
    [
        (
            "OSError: When reading information for key 'pay/a' in bucket 'lake': AWS Error SLOW_DOWN during HeadObject",
            Reason.STORE_UNREACHABLE,
            "trips: its store did not serve a task; it is tried again",
        ),
        (
            "OSError: When reading information for key 'pay/a' in bucket 'lake': AWS Error ACCESS_DENIED",
            Reason.UNREADABLE,
            "trips: its store does not let a task read (access denied)",
        ),
        ('No FileSystem for scheme "s3"', Reason.UNREADABLE, "a file system of Spark, which has none for s3://"),
        (
            "UnableToTell: fare has several types'",
            Reason.UNREADABLE,
            "and fare has several types: write its files alike",
        ),
        ("UnableToReadPiece: a file was replaced while it was read", Reason.UNREADABLE, "trips: "),
    ],
)
def test_what_spark_could_not_read_of_a_store_is_told_of(text: str, reason: Reason, sentence: str) -> None:
    failure = failure_of(PythonException(text), "trips")
    assert failure.reason is reason
    assert sentence in failure.detail
    assert "pay/a" not in failure.detail
