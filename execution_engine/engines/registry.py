"""Which engine reads which storage; one of each in a process, as Spark's session is shared by its threads."""

from dataclasses import replace
from functools import cache

from assay.catalog.profile import FILES, STORAGES
from execution_engine.engines.child.engine import ChildEngine
from execution_engine.engines.child.process import ChildOptions

from .protocol import Engine, Limits, SparkOptions

DEFAULT = SparkOptions()
BOUNDS = Limits()


class UnableToFindEngine(LookupError):
    """No engine reads that storage."""


def engine_for(storage: str, spark: SparkOptions = DEFAULT, limits: Limits = BOUNDS) -> Engine:
    """The engine of the process that reads ``storage``; Spark's by where it runs and what it may take."""
    if storage in (*FILES, "table"):
        return _spark(spark, limits)
    if storage == "sql":
        return _sql(limits.deadline_seconds)
    raise UnableToFindEngine(f"no engine reads {storage!r}; there are {', '.join(STORAGES)}")


@cache
def _spark(options: SparkOptions, limits: Limits) -> Engine:
    """In a child wherever the driver is ours; pyspark is imported only by the process that needs it."""
    if limits.isolated and not options.remote:
        return ChildEngine(ChildOptions(spark=options, limits=limits))
    from execution_engine.engines.child.deadline import DeadlineEngine
    from execution_engine.engines.spark.engine import SparkEngine

    engine = SparkEngine(replace(options, memory=limits.memory))
    return DeadlineEngine(engine, limits.deadline_seconds) if options.remote else engine


@cache
def _sql(deadline_seconds: float) -> Engine:
    """SQLAlchemy is imported only by the process that reads a database."""
    from execution_engine.engines.sql.engine import SqlEngine

    return SqlEngine(deadline_seconds)
