"""The stage *digest*: once a day it tells the teams whose day it is of their week."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db.models import Count

from alerting.models import Flip
from alerting.routes import route_of
from alerting.selectors import coverage_by_tier, times_to_complete
from alerting.services import tell
from alerting.state import State
from assay.config import config
from assay.models import Dataset, DigestRound
from assay.queue.claims import finish
from assay.scheduler.beat import next_morning
from incident_manager.models import Incident
from test_generator.models import Gap as GapRow

from .rules import Figures, Gap, NoisyTest, OpenIncident, SlowTable, TierGaps, html, subject, text

# The figures of a team's week, from the selectors that answer the API.

WEEK = timedelta(days=7)
MOST_SHOWN = 5  # of slow tables and noisy tests
WINDOWS_LOOKED_AT = 200  # the newest of a table


def teams() -> list[str]:
    """The teams that have datasets, by name."""
    rows = Dataset.objects.filter(missing_since__isnull=True).exclude(team="")
    return sorted(set(rows.values_list("team", flat=True)))


def figures_of(team: str, *, now: datetime) -> Figures:
    """The week of a team that ends now."""
    from incident_manager.scores.metric_reporter import NONE, scores  # with it numpy, for which no gate should wait

    start = now - WEEK
    found = scores(start=start, end=now, now=now, team=team, listed=NONE)
    tiers = coverage_by_tier(now=now, team=team)
    return Figures(
        team=team,
        start=start,
        end=now,
        quality=found.total.data_quality,
        precision=found.total.precision,
        recall=found.total.recall,
        is_provisional=found.total.open,
        incidents=tuple(_incidents(team)),
        coverage=tuple(
            TierGaps(tier=t.tier, live=t.live, wanted=t.wanted + t.gaps, share=t.share, target=t.target)
            for t in tiers
            if t.datasets
        ),
        gaps=tuple(_gaps(team)),
        slowest=tuple(sorted(_slow(team, start), key=lambda each: (-each.share, each.dataset))[:MOST_SHOWN]),
        noisy=tuple(_noisy(team, start, now)),
        url=f"{config().public_url}/scores",
    )


def _incidents(team: str) -> Iterator[OpenIncident]:
    rows = Incident.objects.filter(team=team, resolved_at__isnull=True).select_related("dataset")
    for row in rows.order_by("tier", "detected_at", "pk"):
        yield OpenIncident(
            dataset=row.dataset.full_name,
            category=row.category,
            tier=row.tier,
            owner=row.owner,
            since=row.detected_at,
            assigned_to=row.assigned_to,
            is_taken_up=row.acknowledged_at is not None,
            url=f"{config().public_url}/incidents/{row.pk}",
        )


def _gaps(team: str) -> Iterator[Gap]:
    rows = GapRow.objects.filter(dataset__team=team, closed_at__isnull=True, mendable=True).select_related("dataset")
    for row in rows.order_by("dataset__tier", "dataset__full_name", "category"):
        yield Gap(dataset=row.dataset.full_name, category=row.category, reason=row.reason)


def _slow(team: str, start: datetime) -> Iterator[SlowTable]:
    for dataset in Dataset.objects.filter(team=team, missing_since__isnull=True).prefetch_related("replicas"):
        if (home := dataset.replicas.first()) is None:
            continue
        took = times_to_complete(dataset, home.datacenter, WINDOWS_LOOKED_AT)
        of_week = [each for each in took if each.window.end >= start and each.is_known]
        if of_week:
            worst = max(of_week, key=lambda each: each.seconds)
            share = worst.seconds / worst.allowed.total_seconds() if worst.allowed else 0.0
            yield SlowTable(dataset=dataset.full_name, took=worst.text, share=share)


def _noisy(team: str, start: datetime, end: datetime) -> Iterator[NoisyTest]:
    flips = Flip.objects.filter(data_test__dataset__team=team, new=State.FAIL, waived=False, at__gte=start, at__lt=end)
    counted = flips.values("data_test__name", "data_test__dataset__full_name").annotate(failed=Count("pk"))
    rows = counted.filter(failed__gte=2).order_by("-failed", "data_test__dataset__full_name", "data_test__name")
    for row in rows[:MOST_SHOWN]:
        yield NoisyTest(dataset=row["data_test__dataset__full_name"], test=row["data_test__name"], failed=row["failed"])


MONDAY = 0


def tell_digests(row: DigestRound, now: datetime) -> None:
    """Tell each team whose day it is of its week; a week's message has one key, so it is told once."""
    for team in teams():
        route = route_of(team)
        if (route.digest_day if route else MONDAY) == now.weekday():
            tell_digest(team, now=now)
    finish(row, due_at=next_morning(now))


def tell_digest(team: str, *, now: datetime) -> None:
    """Tell one team of the week that ends now."""
    figures = figures_of(team, now=now)
    year, week, _ = now.isocalendar()
    tell(
        event="digest",
        recipient=team,
        team=team,
        is_soft=True,
        subject=subject(figures),
        body=text(figures),
        html=html(figures),
        facts={"team": team, "quality": figures.quality, "open": len(figures.incidents), "url": figures.url},
        key=f"digest:{year}w{week:02d}",
        now=now,
    )
