"""Which engine reads which storage; one of each in a process, as Spark's session is shared by its threads."""

from functools import cache

from .protocol import Engine
from .spark import SparkEngine
from .spark_session import SparkOptions
from .sql import SqlEngine

STORAGES = ("parquet", "table", "sql")
DEFAULT = SparkOptions()


class UnableToFindEngine(LookupError):
    """No engine reads that storage."""


def engine_for(storage: str, spark: SparkOptions = DEFAULT) -> Engine:
    """The engine of the process that reads ``storage``; Spark's by where it runs."""
    if storage in ("parquet", "table"):
        return _spark(spark)
    if storage == "sql":
        return _sql()
    raise UnableToFindEngine(f"no engine reads {storage!r}; there are {', '.join(STORAGES)}")


@cache
def _spark(options: SparkOptions) -> SparkEngine:
    return SparkEngine(options)


@cache
def _sql() -> SqlEngine:
    return SqlEngine()
