"""The figures that Prometheus reads: looked up in the database at each reading, so that every process tells the same.

No reading counts what has ended: that is tallied as it ends. What is counted is open, due or in trouble.
"""

from collections.abc import Iterator, Mapping

from django.db import DatabaseError
from django.db.models import Count, Sum
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from alerting.models import Standing
from alerting.notices.policy import Hush
from alerting.state import State
from assay import clock
from assay.models import Category, DataTest, Tallied
from assay.queue.backlog import backlogs
from assay.queue.tallies import totals
from assay.scheduler.beat import scheduler
from execution_engine.outcome import Outcome
from execution_engine.read_by import Kind
from incident_manager.models import Incident

from .data_metrics import data_figures

SETTLED = ("sent", "logged", "suppressed", "dead")
GROWING = (State.PASS, State.UNTESTED)  # with every window that there ever was: too many to count at each reading
SHOWN = tuple(state.value for state in State if state not in GROWING)


class Figures(Collector):
    """Every family; where the database does not answer, only that we are not up."""

    def __init__(self, *, names_teams: bool) -> None:
        self.names_teams = names_teams

    def collect(self) -> Iterator[Metric]:
        """The metric families."""
        try:
            service = [*_tallied(), *_stages(), _incidents(), _standings(), _skipped(), _scheduler()]
            families = [*service, *data_figures(clock.now(), names_teams=self.names_teams)]
        except DatabaseError:
            families = []
        yield _gauge("assay_up", "1 where the database answers", {"": float(bool(families))})
        yield from families


def _tallied() -> Iterator[Metric]:
    amounts = totals()
    runs = {outcome.value: 0.0 for outcome in Outcome} | amounts[Tallied.RUNS]
    yield _counter("assay_runs", "Runs that ended", runs, "outcome")
    notices = dict.fromkeys(SETTLED, 0.0) | amounts[Tallied.NOTICES]
    yield _counter("assay_notices", "Notices that were settled", notices, "settled")
    hushed = dict.fromkeys(Hush, 0.0) | amounts[Tallied.SUPPRESSED]
    yield _counter("assay_notices_suppressed", "Notices that were suppressed, by reason", hushed, "reason")
    yield _scans(amounts[Tallied.SCANS], amounts[Tallied.SCANS_FAILED])
    yield _counter("assay_pruned_rows", "Rows that had had their time", amounts[Tallied.PRUNED], "table")
    seconds = amounts[Tallied.SCAN_SECONDS]
    yield _counter("assay_scan_seconds", "Seconds that ended scans have taken", seconds, "datacenter")
    left = dict.fromkeys(Kind, 0.0) | amounts[Tallied.VALUES_LEFT]
    readers = dict.fromkeys(("footers", "kernels"), 0.0) | amounts[Tallied.VALUES] | {"spark": sum(left.values())}
    yield _counter("assay_values_read", "Values that scans have read, by what read them", readers, "reader")
    yield _counter("assay_values_left_to_spark", "Values that no kernel has read, by why", left, "kind")


def _scans(well: Mapping[str, float], failed: Mapping[str, float]) -> Metric:
    family = CounterMetricFamily("assay_scans", "Scans that ended", labels=["datacenter", "ended"])
    for datacenter in sorted({*well, *failed}):
        family.add_metric([datacenter, "ok"], well.get(datacenter, 0.0))
        family.add_metric([datacenter, "error"], failed.get(datacenter, 0.0))
    return family


def _stages() -> Iterator[Metric]:
    now = clock.now()
    found = backlogs(now)
    waiting = {each.stage: float(each.waiting) for each in found}
    failing = {each.stage: float(each.failing) for each in found}
    oldest = {each.stage: each.age(now).total_seconds() for each in found}
    yield _gauge("assay_stage_pending", "Rows that are due in a stage", waiting, "stage")
    yield _gauge("assay_stage_failing", "Rows that were tried in vain", failing, "stage")
    yield _gauge("assay_stage_oldest_due_seconds", "How long the row that waits longest has waited", oldest, "stage")


def _incidents() -> Metric:
    rows = Incident.objects.filter(resolved_at=None).order_by().values_list("category").annotate(Count("pk"))
    found = {category.value: 0 for category in Category} | dict(rows)
    return _gauge("assay_incidents_open", "Open incidents", found, "category")


def _standings() -> Metric:
    rows = Standing.objects.filter(state__in=SHOWN).order_by().values_list("state").annotate(Count("pk"))
    found = dict.fromkeys(SHOWN, 0) | dict(rows)
    return _gauge("assay_standings", "Windows of tests by state, but for PASS and UNTESTED", found, "state")


def _skipped() -> Metric:
    skipped = DataTest.objects.aggregate(slots=Sum("skipped_slots"))["slots"] or 0
    return _counter("assay_slots_skipped", "Slots that were due and never run, by the catch-up policy", {"": skipped})


def _scheduler() -> Metric:
    """Without a broker there is no scheduler, and so no sample; 0 where none has ever swept."""
    known = scheduler()
    sample = {"": known.swept_at.timestamp() if known.swept_at else 0.0} if known else {}
    return _gauge("assay_scheduler_last_sweep_timestamp_seconds", "When the scheduler has swept last", sample)


def _gauge(name: str, text: str, samples: Mapping[str, float], *label: str) -> Metric:
    return _filled(GaugeMetricFamily(name, text, labels=label), samples)


def _counter(name: str, text: str, samples: Mapping[str, float], *label: str) -> Metric:
    return _filled(CounterMetricFamily(name, text, labels=label), samples)


def _filled(family: GaugeMetricFamily | CounterMetricFamily, samples: Mapping[str, float]) -> Metric:
    """The family with its samples by the value of its label; one without a label has one sample, under no value."""
    for value, amount in samples.items():
        family.add_metric([value] if value else [], amount)
    return family


def _registry(*, names_teams: bool) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Figures(names_teams=names_teams))
    return registry


REGISTRY = _registry(names_teams=False)  # for whoever reaches the service
REGISTRY_WITH_TEAMS = _registry(names_teams=True)  # for known users
