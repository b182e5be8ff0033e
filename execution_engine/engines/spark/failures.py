"""From what Spark raises to a failure that says what, where and how to mend it."""

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from execution_engine.outcome import Failure, Reason

SPARK_ERRORS = (PySparkException, Py4JError, ConnectionError)

_BY_CONDITION = (
    ("UNRESOLVED_COLUMN", Reason.UNKNOWN_COLUMN),
    ("FAILED_READ_FILE", Reason.UNREADABLE),
    ("CANNOT_READ_FILE_FOOTER", Reason.UNREADABLE),
    ("PATH_NOT_FOUND", Reason.UNREADABLE),
    ("TABLE_OR_VIEW_NOT_FOUND", Reason.UNREADABLE),
    ("INVALID_HANDLE", Reason.ENGINE_UNREACHABLE),
    ("JAVA_GATEWAY_EXITED", Reason.ENGINE_UNREACHABLE),
    ("CONNECT_URL_NOT_SET", Reason.ENGINE_UNREACHABLE),
    ("RETRIES_EXCEEDED", Reason.ENGINE_UNREACHABLE),
    ("OPERATION_CANCELED", Reason.TIMEOUT),
    ("UNABLE_TO_ACQUIRE_MEMORY", Reason.OUT_OF_MEMORY),
)
_BY_TEXT = (
    ("StatusCode.UNAVAILABLE", Reason.ENGINE_UNREACHABLE),
    ("failed to connect", Reason.ENGINE_UNREACHABLE),
    ("SparkContext was shut down", Reason.ENGINE_UNREACHABLE),
    ("stopped SparkContext", Reason.ENGINE_UNREACHABLE),
    ("cancelled", Reason.TIMEOUT),
    ("OutOfMemoryError", Reason.OUT_OF_MEMORY),
    ("MemoryError", Reason.OUT_OF_MEMORY),
    ("spark.driver.maxResultSize", Reason.OUT_OF_MEMORY),
    ("FAILED_READ_FILE", Reason.UNREADABLE),
    ("does not exist", Reason.UNREADABLE),
)
OF_ALL = frozenset(
    {Reason.UNREADABLE, Reason.ENGINE_UNREACHABLE, Reason.TIMEOUT}
)  # no metric of the scan is better off


def failure_of(error: Exception, where: str) -> Failure:
    """The failure behind an error of Spark's; ``where`` names the table or the metric."""
    text = " ".join(str(error).split("\nJVM stacktrace", 1)[0].split())
    return Failure(reason=_reason(error, text), detail=f"{where}: {text[:500]}")


def _reason(error: Exception, text: str) -> Reason:
    if isinstance(error, Py4JNetworkError | ConnectionError):
        return Reason.ENGINE_UNREACHABLE
    condition = (error.getCondition() or "") if isinstance(error, PySparkException) else ""
    by_condition = (reason for start, reason in _BY_CONDITION if condition.startswith(start))
    by_text = (reason for part, reason in _BY_TEXT if part in text)
    return next(by_condition, None) or next(by_text, Reason.QUERY_FAILED)
