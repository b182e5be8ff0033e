"""From what Spark raises to a failure that says what, where and how to mend it, and tells no value of any row.

Spark quotes the value that it could not cast. So the writer of a test, and every reader of the run's sentence, could
read any cell. What Spark says before it has read a row is repeated; of all other errors only the kind is told, and the
place in the text of the test.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import get_native_id, local
from time import monotonic, sleep
from typing import TypeVar
from uuid import uuid4

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession

from execution_engine.engines.files.listing import kind_of
from execution_engine.engines.files.stores import code_of_error, kind_of_error
from execution_engine.engines.native.reading import REPLACED
from execution_engine.outcome import Failure, Reason

SPARK_ERRORS = (PySparkException, Py4JError, ConnectionError)

_NO_FILE_SYSTEM = re.compile(r"No FileSystem for scheme \"?([\w+.-]+)")
_OF_STORE = re.compile(r"OSError: (When [^\n]{1,200} in bucket[^\n]{0,200})")
_UNLIKE = re.compile(r"UnableToTell: (.{1,200}?)'?(?: at |$)")
_FILE = re.compile(r"error while reading file (\S+?)\.? ")
_BY_CONDITION = (
    ("UNRESOLVED_COLUMN", Reason.UNKNOWN_COLUMN),
    ("FAILED_READ_FILE", Reason.UNREADABLE),
    ("MALFORMED_RECORD", Reason.UNREADABLE),
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
    ("UnableToTell", Reason.UNREADABLE),
    (REPLACED, Reason.UNREADABLE),
    ("No FileSystem for scheme", Reason.UNREADABLE),
)
OF_ALL = frozenset(
    {Reason.UNREADABLE, Reason.ENGINE_UNREACHABLE, Reason.TIMEOUT}
)  # no metric of the scan is better off

_SAID = (
    ("CAST_INVALID_INPUT", "a value of type {sourceType} cannot be cast to {targetType}; use try_cast"),
    ("CAST_OVERFLOW", "a value of type {sourceType} is beyond {targetType}; use try_cast"),
    ("CONVERSION_INVALID_INPUT", "a text cannot be read as {targetType}; use a try_… function"),
    ("CANNOT_PARSE", "a text cannot be read as a date or number; use a try_… function"),
    ("NUMERIC_VALUE_OUT_OF_RANGE", "a number has more digits than its type; cast it to a wider one"),
    ("ARITHMETIC_OVERFLOW", "a number is beyond its type; cast to a wider one"),
    ("BINARY_ARITHMETIC_OVERFLOW", "a number is beyond its type; cast to a wider one"),
    ("DIVIDE_BY_ZERO", "a division by zero; use try_divide"),
    ("REMAINDER_BY_ZERO", "a division by zero; use try_mod"),
    ("INVALID_ARRAY_INDEX", "an array is shorter than that; use try_element_at"),
    ("SCALAR_SUBQUERY_TOO_MANY_ROWS", "a subquery gives more than one row; aggregate it to one"),
    ("FAILED_READ_FILE", "{path} cannot be read; write it again"),
    ("CANNOT_READ_FILE_FOOTER", "{file} cannot be read; write it again"),
    ("PATH_NOT_FOUND", "{path} does not exist"),
)
_NAME = re.compile(r"[\w.$]+(?:Exception|Error)\b|StatusCode\.\w+|maxResultSize")
_TYPE = re.compile(r'[\w"<>,:() ]{1,60}')


def failure_of(error: Exception, where: str) -> Failure:
    """The failure behind an error of Spark's; ``where`` names the table or the metric."""
    text = " ".join(str(error).split("\nJVM stacktrace", 1)[0].split())
    if (scheme := _NO_FILE_SYSTEM.search(text)) is not None:
        description = (
            f"other files than parquet need a file system of Spark, which has none for {scheme[1]}://: name the "
            "jars of the store in ASSAY_SPARK_CONF (docs/clusters.md)"
        )
    elif (unlike := _UNLIKE.search(text)) is not None:
        description = f"Spark's SQL asks for rows that tasks read by Arrow, and {unlike[1]}: write its files alike"
    elif (file := _FILE.search(text)) is not None:
        # in place of what Spark says of a file, which shows the record of a CSV or JSON file, and no way to mend it
        description, format_ = f"{file[1]} cannot be read: it is cut or damaged; write it again", kind_of(file[1])
        if format_ in ("csv", "json"):
            lines = "multiLine: 'true' if its texts hold line breaks" + (", or " if format_ == "json" else ", ")
            quotes = "" if format_ == "json" else "escape: '\"' if quotes within quotes are doubled, or "
            description = (
                f"{file[1]} cannot be read as {format_}: a record or the header does not fit the columns; mend the "
                f"file, declare its columns with other types, or give an option: {lines}{quotes}mode: PERMISSIVE, "
                "which takes what does not fit as missing"
            )
    else:
        description = _redact_error(error, text)
        with suppress(Exception):  # clients and kinds of errors differ in what they can say
            contexts = error.getQueryContext() if isinstance(error, PySparkException) else []
            if contexts and not isinstance(error, AnalysisException) and (part := contexts[0].fragment()):
                description += f", in {part[:100]}"  # the part of the test's own text that failed
    condition = (error.getCondition() or "") if isinstance(error, PySparkException) else ""
    by_condition = (reason for start, reason in _BY_CONDITION if condition.startswith(start))
    by_text = (reason for part, reason in _BY_TEXT if part in text)
    reason = next(by_condition, None) or next(by_text, Reason.QUERY_FAILED)
    of_store = _OF_STORE.search(text)  # of rows that tasks read by Arrow
    kind = kind_of_error(of_store[1]) if of_store else None
    if kind in ("away", "expired"):
        detail = f"{where}: its store did not serve a task; it is tried again"
        return Failure(reason=Reason.STORE_UNREACHABLE, detail=detail)
    if of_store and kind not in (None, "key_missing"):
        detail = f"{where}: its store does not let a task read ({code_of_error(of_store[1])})"
        return Failure(reason=Reason.UNREADABLE, detail=detail)
    if isinstance(error, Py4JNetworkError | ConnectionError):
        reason = Reason.ENGINE_UNREACHABLE
    return Failure(reason=reason, detail=f"{where}: {description}")


def _redact_error(error: Exception, text: str) -> str:
    if isinstance(error, AnalysisException):
        return text[:500]
    if not isinstance(error, PySparkException):
        names = list(dict.fromkeys(_NAME.findall(text)))[:3]
        return f"Spark could not do it ({', '.join(names) or type(error).__name__})"
    condition, parameters = error.getCondition() or "", error.getMessageParameters() or {}
    # the names of types and paths among its parameters: whatever else stands there may be data
    safe = {
        name: str(parameters[name]).strip('"')
        for name in ("sourceType", "targetType")
        if _TYPE.fullmatch(str(parameters.get(name, "")))
    } | {name: str(parameters[name])[:300] for name in ("path", "file") if name in parameters}
    words = next((words for start, words in _SAID if condition.startswith(start)), None)
    if words is not None:
        with suppress(KeyError):
            return words.format_map(safe)
    names = [condition] if condition else list(dict.fromkeys(_NAME.findall(text)))[:3]
    return f"Spark could not do it ({', '.join(names) or type(error).__name__})"


# Counting the Spark jobs of one scan, the cost that sharing a scan is meant to save.

POOLS = 16
PATIENCE = 2.0  # seconds

T = TypeVar("T")
_ended = local()  # the actions of this thread since it began to count


@dataclass
class JobCount:
    """The jobs started inside ``counting_jobs``, known once it is left; always 0 on Connect, which does not tell."""

    jobs: int = 0


@contextmanager
def counting_jobs(session: SparkSession, description: str) -> Iterator[JobCount]:
    """Runs its body as one job group, and beside the jobs of other threads rather than behind them."""
    count = JobCount()
    if is_connect(session):
        yield count
        return
    context = session.sparkContext
    group = f"assay-{uuid4().hex}"
    context.setJobGroup(group, description, interruptOnCancel=True)
    context.setLocalProperty("spark.scheduler.pool", f"scans-{get_native_id() % POOLS}")
    _ended.actions = 0
    try:
        yield count
    finally:
        # the tracker hears of a job a moment late: it is given time to know of the last
        deadline, tracker = monotonic() + PATIENCE, context.statusTracker()
        while len(jobs := tracker.getJobIdsForGroup(group)) < _ended.actions and monotonic() < deadline:
            sleep(0.002)
        count.jobs = len(jobs)
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def action(run: Callable[[], T], *, rows: int | None) -> T:
    """What an action over so many rows (None: unknown) gives; over any it starts a job at least, to be counted."""
    result = run()
    _ended.actions = getattr(_ended, "actions", 0) + (rows != 0)
    return result


def is_connect(session: SparkSession) -> bool:
    """Whether the session speaks to a Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")
