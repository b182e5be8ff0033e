"""The engine's tasks: a message only says "look now", so each works whatever is pending."""

from functools import partial

from celery import shared_task

from assay import clock
from assay.celery import worker_name
from assay.queue.claims import work_together
from execution_engine.planning.catalog_sources import Sources
from execution_engine.runs.evaluate_runs import ASKED, has_its_past
from execution_engine.runs.shown_results import fetch_tests

from . import heartbeats, services


@shared_task(name="execution_engine.tasks.schedule", ignore_result=True)
def schedule(**_: object) -> int:
    """Request the runs that are due."""
    return work_together("schedule", services.schedule_tests, prefetch=("dataset", "revision"))


@shared_task(name="execution_engine.tasks.plan", ignore_result=True)
def plan(**_: object) -> int:
    """Ask for the measurements of requested runs."""
    return work_together("plan", partial(services.plan_runs, sources=Sources(clock.now())), prefetch=(fetch_tests,))


@shared_task(name="execution_engine.tasks.scan", ignore_result=True)
def scan(datacenter: str | None = None, **_: object) -> int:
    """Take the measurements that are wanted, in one datacenter or in all."""
    return services.scan_pending(datacenter, worker=worker_name())


@shared_task(name="execution_engine.tasks.evaluate", ignore_result=True)
def evaluate(**_: object) -> int:
    """Evaluate the runs whose measurements are in."""
    sources = Sources(clock.now())
    handle = partial(services.evaluate_runs, sources=sources)
    return work_together("evaluate", handle, prefetch=(fetch_tests, ASKED), may=has_its_past())


@shared_task(name="execution_engine.tasks.watch", ignore_result=True)
def watch(datacenter: str | None = None, **_: object) -> int:
    """Look at the fingerprints that are due, in one datacenter or in all."""
    return services.look(datacenter)


@shared_task(name="execution_engine.tasks.look_at_commits", ignore_result=True)
def look_at_commits(datacenter: str | None = None, **_: object) -> int:
    """Read the commits of tables that are due, in one datacenter or in all."""
    return heartbeats.look(datacenter)


@shared_task(name="execution_engine.tasks.write_rows", ignore_result=True)
def write_rows(datacenter: str | None = None, **_: object) -> int:
    """Write the rows that broke tests, and remove those that have had their time, in one datacenter or in all."""
    from execution_engine.rows.exports import write_pending_rows  # with it pyarrow, for which no gate should wait

    return write_pending_rows(datacenter)


@shared_task(name="execution_engine.tasks.lineage", ignore_result=True)
def lineage(**_: object) -> int:
    """Count what stands on each dataset, once a day."""
    from execution_engine.lineage.trace import trace_lineage  # with it scipy, for which no gate should wait

    return trace_lineage()
