"""Counting the Spark jobs of one scan, the cost that sharing a scan is meant to save."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import get_native_id, local
from time import monotonic, sleep
from typing import TypeVar
from uuid import uuid4

from pyspark import SparkContext
from pyspark.sql import SparkSession

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
        count.jobs = _jobs_of(context, group)
        context.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]


def action(run: Callable[[], T], *, rows: int | None) -> T:
    """What an action over so many rows (None: unknown) gives; over any it starts a job at least, to be counted."""
    result = run()
    _ended.actions = getattr(_ended, "actions", 0) + (rows != 0)
    return result


def _jobs_of(context: SparkContext, group: str) -> int:
    """How many jobs the group had. The tracker hears of a job a moment late: it is given time to know of the last."""
    deadline = monotonic() + PATIENCE
    while len(jobs := context.statusTracker().getJobIdsForGroup(group)) < _ended.actions and monotonic() < deadline:
        sleep(0.002)
    return len(jobs)


def is_connect(session: SparkSession) -> bool:
    """Whether the session speaks to a Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")
