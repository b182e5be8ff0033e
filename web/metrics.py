"""The figures that Prometheus reads: looked up in the database at each reading, so that every process tells the same.

No reading counts what has ended: that is tallied as it ends. What is counted is open, due or in trouble.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from threading import Lock
from time import monotonic

from django.db import DatabaseError
from django.db.models import Count, Min, Sum
from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from alerting.models import Standing
from alerting.notices.policy import Hush
from alerting.state import State
from assay import clock
from assay.models import Category, Dataset, DataTest, Tallied
from assay.queue.claims import totals
from assay.queue.drain import backlogs
from assay.scheduler.beat import scheduler
from execution_engine.outcome import Outcome
from execution_engine.read_by import Kind
from incident_manager.models import Incident
from incident_manager.quality.now import statuses_now
from incident_manager.quality.rules import Status

# Figures of data for Prometheus, by tier and team: what is open, how datasets stand, how late they are.
#
# Labels are few: tiers, categories and statuses are lists of ours; the 50 teams with the most open incidents are
# named.

MOST_TEAMS = 50
OTHERS = "(others)"
TIERS = range(6)
FRESH_FOR = 60.0  # seconds of a count of datasets: it asks for facts of each, and readings come every few seconds
AT_ONCE = 1000  # datasets


def data_figures(now: datetime, *, names_teams: bool) -> Iterator[Metric]:
    """The metric families; who is not known is not told how teams are called."""
    yield _incidents_by_team(names_teams)
    yield _datasets(now)
    yield _lateness(now)


def _incidents_by_team(names_teams: bool) -> Metric:
    """Open incidents; without a team under an empty one."""
    rows = Incident.objects.filter(resolved_at=None).order_by().values_list("tier", "team", "category")
    found = {(tier, team, category): count for tier, team, category, count in rows.annotate(Count("pk"))}
    by_team: Counter[str] = Counter()
    for (_, team, _), count in found.items():
        by_team[team] += count
    named = {team for team, _ in by_team.most_common(MOST_TEAMS)} if names_teams else {""}
    sums: Counter[tuple[int, str, str]] = Counter()
    for (tier, team, category), count in found.items():
        sums[tier, team if team in named else OTHERS, category] += count
    family = GaugeMetricFamily(
        "assay_team_incidents_open", "Open incidents by tier, team and category", labels=["tier", "team", "category"]
    )
    for (tier, team, category), count in sorted(sums.items()):
        family.add_metric([str(tier), team, category], count)
    return family


class _Counted:
    """How many datasets of each tier have each status, counted once a minute in each process."""

    def __init__(self) -> None:
        self.lock, self.at, self.counts = Lock(), float("-inf"), Counter[tuple[int, str]]()

    def read(self, now: datetime) -> Mapping[tuple[int, str], int]:
        """The counts, at most a minute old; while one reader counts, others wait for it."""
        with self.lock:
            if monotonic() - self.at > FRESH_FOR:
                self.counts, self.at = _counted(now), monotonic()
            return self.counts


COUNTED = _Counted()


def _counted(now: datetime) -> Counter[tuple[int, str]]:
    tiers: dict[int, int] = {}
    names: dict[int, str] = {}
    for id_, name, tier in Dataset.objects.order_by("pk").values_list("pk", "full_name", "tier"):
        names[id_], tiers[id_] = name, tier
    counts: Counter[tuple[int, str]] = Counter()
    ids = list(names)
    for start in range(0, len(ids), AT_ONCE):
        some = {id_: names[id_] for id_ in ids[start : start + AT_ONCE]}
        for id_, status in statuses_now(some, now=now).items():
            counts[tiers[id_], status.value] += 1
    return counts


def _datasets(now: datetime) -> Metric:
    family = GaugeMetricFamily("assay_datasets", "Datasets by how they stand now", labels=["tier", "status"])
    counts = COUNTED.read(now)
    for tier in TIERS:
        for status in Status:
            family.add_metric([str(tier), status.value], counts.get((tier, status.value), 0))
    return family


def _lateness(now: datetime) -> Metric:
    """How long the window that waits longest has been due, of the freshness tests that are broken; 0: none is."""
    late = Standing.objects.filter(
        state__in=(State.WARN, State.FAIL), data_test__category=Category.FRESHNESS, data_test__retired_at=None
    )
    rows = late.order_by().values_list("data_test__dataset__tier").annotate(Min("due_at"))
    lags = {tier: max(0.0, (now - due).total_seconds()) for tier, due in rows}
    family = GaugeMetricFamily(
        "assay_freshness_lag_seconds", "How long the latest data of a tier has been due", labels=["tier"]
    )
    for tier in TIERS:
        family.add_metric([str(tier)], lags.get(tier, 0.0))
    return family


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
