"""Counting the Spark jobs of one scan, the cost that sharing a scan is meant to save."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_native_id
from uuid import uuid4

from pyspark.sql import SparkSession

POOLS = 16


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
    try:
        yield count
    finally:
        count.jobs = len(context.statusTracker().getJobIdsForGroup(group))
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def is_connect(session: SparkSession) -> bool:
    """Whether the session speaks to a Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")
