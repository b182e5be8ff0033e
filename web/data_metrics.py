"""Figures of data for Prometheus, by tier and team: what is open, how datasets stand, how late they are.

Labels are few: tiers, categories and statuses are lists of ours; the 50 teams with the most open incidents are named.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from threading import Lock
from time import monotonic

from django.db.models import Count, Min
from prometheus_client.core import GaugeMetricFamily, Metric

from alerting.models import Standing
from alerting.state import State
from assay.models import Category, Dataset
from incident_manager.models import Incident
from incident_manager.quality.now import statuses_now
from incident_manager.quality.rules import Status

MOST_TEAMS = 50
OTHERS = "(others)"
TIERS = range(6)
FRESH_FOR = 60.0  # seconds of a count of datasets: it asks for facts of each, and readings come every few seconds
AT_ONCE = 1000  # datasets


def data_figures(now: datetime, *, names_teams: bool) -> Iterator[Metric]:
    """The metric families; who is not known is not told how teams are called."""
    yield _incidents(names_teams)
    yield _datasets(now)
    yield _lateness(now)


def _incidents(names_teams: bool) -> Metric:
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
