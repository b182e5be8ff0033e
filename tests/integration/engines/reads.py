"""What Spark says that it read, by its own input metrics."""

from dataclasses import dataclass

from pyspark.sql import SparkSession


@dataclass(frozen=True, kw_only=True)
class Read:
    """Rows and bytes of files, over all stages of the session so far."""

    rows: int
    bytes: int


def read_so_far(session: SparkSession) -> Read:
    """Of a session in this process; a Connect server does not tell."""
    context = session.sparkContext
    jvm = context._gateway.new_array(context._jvm.double, 0)  # type: ignore[union-attr]
    store = context._jsc.sc().statusStore()
    stages = store.stageList(None, False, False, jvm, context._jvm.java.util.ArrayList())  # type: ignore[union-attr]
    every = [stages.apply(at) for at in range(stages.size())]
    return Read(rows=sum(each.inputRecords() for each in every), bytes=sum(each.inputBytes() for each in every))
