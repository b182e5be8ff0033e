"""For machines that look after us: is it alive, can it work, and what are its figures (for Prometheus).

Figures are looked up in the database at each reading, so that every process tells the same. No reading counts what has
ended: that is tallied as it ends. What is counted is open, due or in trouble.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from threading import Lock
from time import monotonic
from typing import Any

from django.db import DatabaseError, connection
from django.db.models import Count, Min, Sum
from django.http import HttpRequest, HttpResponse, JsonResponse
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from alerting.models import Standing
from alerting.notices.policy import Hush
from alerting.state import State
from assay import clock
from assay.models import Category, Dataset, DataTest, Tallied
from assay.queue.claims import totals
from assay.queue.drain import backlogs
from assay.scheduler.beat import scheduler
from execution_engine.outcome import Outcome
from execution_engine.read_by import FallbackKind
from incident_manager.models import Incident
from incident_manager.quality.now import statuses_now
from incident_manager.quality.rules import QualityStatus
from web.access.tokens import BearerAuthentication, TokenAuthentication

# labels are few: tiers, categories and statuses are lists of ours; the teams with the most open incidents are named
MOST_TEAMS = 50
OTHERS = "(others)"
TIERS = range(6)
FRESH_FOR = 60.0  # seconds of a count of datasets: it asks for facts of each, and readings come every few seconds
AT_ONCE = 1000  # datasets
SETTLED = ("sent", "logged", "suppressed", "dead")
GROWING = (State.PASS, State.UNTESTED)  # with every window that there ever was: too many to count at each reading
COUNTED_STATES = tuple(state.value for state in State if state not in GROWING)
Samples = Mapping[Any, float]  # by the values of the labels, a tuple


def healthz(request: HttpRequest) -> HttpResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """200 while the database answers, else 503.

    Where there is a scheduler, it says whether that is silent, and is ready all the same: gates and look-ups answer
    without it, and must not be taken away because of it.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
        scheduler_state = scheduler()
    except DatabaseError as error:
        return JsonResponse({"status": "database does not answer", "error": str(error)}, status=503)
    if scheduler_state is None:
        return JsonResponse({"status": "ok"})
    status = "silent" if scheduler_state.is_silent else "ok"
    last_sweep_at = scheduler_state.swept_at.isoformat() if scheduler_state.swept_at else None
    return JsonResponse({"status": "ok", "scheduler": {"status": status, "last_sweep_at": last_sweep_at}})


def metrics(request: HttpRequest) -> HttpResponse:
    """The figures in Prometheus' text format; the names of teams are for known users alone."""
    registry = CollectorRegistry(auto_describe=False)
    is_known, schemes = False, (TokenAuthentication(), BearerAuthentication())
    if "Authorization" in request.headers:
        with suppress(AuthenticationFailed, DatabaseError):  # a wrong token does not say who asks
            is_known = any(scheme.authenticate(Request(request)) for scheme in schemes)
    registry.register(Figures(names_teams=is_known))
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


class Figures(Collector):
    """Every family; where the database does not answer, only that we are not up."""

    def __init__(self, *, names_teams: bool) -> None:
        self.names_teams = names_teams

    def collect(self) -> Iterator[Metric]:
        try:
            now = clock.now()
            families = [*_tallied(), *_service(now), *_data(now, names_teams=self.names_teams)]
        except DatabaseError:
            families = []
        yield _gauge("assay_up", "1 where the database answers", {(): float(bool(families))})
        yield from families


def _gauge(name: str, text: str, samples: Samples, *labels: str) -> Metric:
    return _fill(GaugeMetricFamily(name, text, labels=labels), samples)


def _counter(name: str, text: str, samples: Samples, *labels: str) -> Metric:
    return _fill(CounterMetricFamily(name, text, labels=labels), samples)


def _fill(family: GaugeMetricFamily | CounterMetricFamily, samples: Samples) -> Metric:
    for values, amount in samples.items():
        family.add_metric([str(value) for value in values], amount)
    return family


def _by_label(*amounts: Mapping[str, float]) -> Samples:
    """Samples of one label, of which later amounts replace those before them."""
    return {(value,): amount for part in amounts for value, amount in part.items()}


def _tallied() -> Iterator[Metric]:
    amounts = totals()
    runs = _by_label({outcome.value: 0.0 for outcome in Outcome}, amounts[Tallied.RUNS])
    yield _counter("assay_runs", "Runs that ended", runs, "outcome")
    notices = _by_label(dict.fromkeys(SETTLED, 0.0), amounts[Tallied.NOTICES])
    yield _counter("assay_notices", "Notices that were settled", notices, "settled")
    hushed = _by_label(dict.fromkeys(Hush, 0.0), amounts[Tallied.SUPPRESSED])
    yield _counter("assay_notices_suppressed", "Notices that were suppressed, by reason", hushed, "reason")
    well, failed = amounts[Tallied.SCANS], amounts[Tallied.SCANS_FAILED]
    scans = {
        (datacenter, ended): part.get(datacenter, 0.0)
        for datacenter in sorted({*well, *failed})
        for ended, part in (("ok", well), ("error", failed))
    }
    yield _counter("assay_scans", "Scans that ended", scans, "datacenter", "ended")
    pruned = _by_label(amounts[Tallied.PRUNED])
    yield _counter("assay_pruned_rows", "Rows that had had their time", pruned, "table")
    seconds = _by_label(amounts[Tallied.SCAN_SECONDS])
    yield _counter("assay_scan_seconds", "Seconds that ended scans have taken", seconds, "datacenter")
    left = dict.fromkeys(FallbackKind, 0.0) | amounts[Tallied.VALUES_LEFT]
    readers = dict.fromkeys(("footers", "kernels"), 0.0) | amounts[Tallied.VALUES] | {"spark": sum(left.values())}
    yield _counter("assay_values_read", "Values that scans have read, by what read them", _by_label(readers), "reader")
    yield _counter("assay_values_left_to_spark", "Values that no kernel has read, by why", _by_label(left), "kind")


def _service(now: datetime) -> Iterator[Metric]:
    """What is due, open and in trouble; of a scheduler no sample without a broker, and 0 where none has swept."""
    stages = backlogs(now)
    waiting = {(stage.stage,): float(stage.waiting) for stage in stages}
    failing = {(stage.stage,): float(stage.failing) for stage in stages}
    oldest = {(stage.stage,): stage.age(now).total_seconds() for stage in stages}
    yield _gauge("assay_stage_pending", "Rows that are due in a stage", waiting, "stage")
    yield _gauge("assay_stage_failing", "Rows that were tried in vain", failing, "stage")
    yield _gauge("assay_stage_oldest_due_seconds", "How long the row that waits longest has waited", oldest, "stage")
    rows = Incident.objects.filter(resolved_at=None).order_by().values_list("category").annotate(Count("pk"))
    incidents = _by_label({category.value: 0 for category in Category}, dict(rows))
    yield _gauge("assay_incidents_open", "Open incidents", incidents, "category")
    states = Standing.objects.filter(state__in=COUNTED_STATES).order_by().values_list("state").annotate(Count("pk"))
    standings = _by_label(dict.fromkeys(COUNTED_STATES, 0), dict(states))
    yield _gauge("assay_standings", "Windows of tests by state, but for PASS and UNTESTED", standings, "state")
    skipped = DataTest.objects.aggregate(slots=Sum("skipped_slots"))["slots"] or 0
    yield _counter("assay_slots_skipped", "Slots that were due and never run, by the catch-up policy", {(): skipped})
    scheduler_state = scheduler()
    swept = {(): scheduler_state.swept_at.timestamp() if scheduler_state.swept_at else 0.0} if scheduler_state else {}
    yield _gauge("assay_scheduler_last_sweep_timestamp_seconds", "When the scheduler has swept last", swept)


def _data(now: datetime, *, names_teams: bool) -> Iterator[Metric]:
    """Figures of data by tier; who is not known is not told how teams are called."""
    rows = Incident.objects.filter(resolved_at=None).order_by().values_list("tier", "team", "category")
    counts = {(tier, team, category): count for tier, team, category, count in rows.annotate(Count("pk"))}
    teams, incidents = Counter[str](), Counter[tuple[object, ...]]()
    for (_, team, _), count in counts.items():
        teams[team] += count
    named = {team for team, _ in teams.most_common(MOST_TEAMS)} if names_teams else {""}
    for (tier, team, category), count in sorted(counts.items()):
        incidents[tier, team if team in named else OTHERS, category] += count
    labels = ("tier", "team", "category")
    yield _gauge("assay_team_incidents_open", "Open incidents by tier, team and category", incidents, *labels)
    statuses = DATASET_COUNTS.read(now)
    datasets = {
        (tier, status.value): statuses.get((tier, status.value), 0) for tier in TIERS for status in QualityStatus
    }
    yield _gauge("assay_datasets", "Datasets by how they stand now", datasets, "tier", "status")
    late = Standing.objects.filter(
        state__in=(State.WARN, State.FAIL), data_test__category=Category.FRESHNESS, data_test__retired_at=None
    )
    due = dict(late.order_by().values_list("data_test__dataset__tier").annotate(Min("due_at")))
    lags = {(tier,): max(0.0, (now - due[tier]).total_seconds()) if tier in due else 0.0 for tier in TIERS}
    yield _gauge("assay_freshness_lag_seconds", "How long the latest data of a tier has been due", lags, "tier")


class DatasetCounts:
    """How many datasets of each tier have each status, counted once a minute in each process."""

    def __init__(self) -> None:
        self.lock, self.at, self.counts = Lock(), float("-inf"), Counter[tuple[int, str]]()

    def read(self, now: datetime) -> Mapping[tuple[int, str], int]:
        """The counts, at most a minute old; while one reader counts, others wait for it."""
        with self.lock:
            if monotonic() - self.at > FRESH_FOR:
                rows = list(Dataset.objects.order_by("pk").values_list("pk", "full_name", "tier"))
                tiers, counts = {pk: tier for pk, _, tier in rows}, Counter[tuple[int, str]]()
                for start in range(0, len(rows), AT_ONCE):
                    names = {pk: name for pk, name, _ in rows[start : start + AT_ONCE]}
                    for pk, status in statuses_now(names, now=now).items():
                        counts[tiers[pk], status.value] += 1
                self.counts, self.at = counts, monotonic()
            return self.counts


DATASET_COUNTS = DatasetCounts()
