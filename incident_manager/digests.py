"""The digest of a week, and the stage *digest*: once a day it tells those whose day it is of theirs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

from django.contrib.auth.models import User
from django.db.models import Count, F, Q

from alerting.channels.email import buttons, card, page, title
from alerting.models import Flip
from alerting.notices.policy import Event
from alerting.notices.services import own_addresses
from alerting.routes import routes
from alerting.selectors import coverage_by_tier, times_to_complete
from alerting.services import tell
from alerting.state import State
from assay.access import may_read
from assay.accounts import person_of
from assay.catalog.selectors import owned
from assay.config import config
from assay.models import Dataset, Member, Round
from assay.queue.claims import finish
from assay.queue.flow import stage
from test_generator.coverage import TierCoverage
from test_generator.models import Gap

from .models import Incident
from .vital_signs import signs_of_team

WEEK = timedelta(days=7)
MONDAY = 0
MOST_LINES = 10
MOST_SHOWN = 5  # of slow tables and noisy tests
WINDOWS_LOOKED_AT = 200  # the newest of a table


@dataclass(frozen=True, kw_only=True)
class WeekFigures:
    """A team's week ``[start, end)``; shares from 0 to 1, None where there is nothing to share."""

    team: str
    start: datetime
    end: datetime
    quality: float | None
    precision: float | None
    recall: float | None
    is_provisional: bool = False  # an incident that precision and recall count is still open
    incidents: Sequence[Incident] = ()  # open at the week's end, without those of the past
    past: int = 0  # incidents that only a back-fill of the past has found, open at the week's end
    coverage: Sequence[TierCoverage] = ()  # of the tiers that have datasets of the team
    gaps: Sequence[Gap] = ()  # standard tests that cannot be written until metadata is mended
    slowest: Sequence[tuple[str, str, float]] = ()  # dataset, what its slowest window took, the share of its SLA
    signs: Sequence[str] = ()  # of tables whose commits are unusual
    noisy: Sequence[tuple[str, str, int]] = ()  # dataset, test, and how often it failed in the week
    url: str = ""


def figures_of(team: str, *, now: datetime) -> WeekFigures:
    """The week of a team that ends now, from the selectors that answer the API."""
    from incident_manager.scores.metric_reporter import NONE, scores  # with it numpy, for which no gate should wait

    start = now - WEEK
    total = scores(start=start, end=now, now=now, team=team, listed=NONE).total
    still_open = Incident.objects.filter(team=team, resolved_at__isnull=True)
    incidents = still_open.filter(is_past=False).select_related("dataset")
    gaps = Gap.objects.filter(dataset__team=team, closed_at__isnull=True, mendable=True).select_related("dataset")
    flips = Flip.objects.filter(data_test__dataset__team=team, new=State.FAIL, waived=False, at__gte=start, at__lt=now)
    flips = flips.filter(window_end__gt=F("data_test__created_at"))  # a back-fill finds many at once: that is no noise
    names = ("data_test__dataset__full_name", "data_test__name")
    slow_tables: list[tuple[str, str, float]] = []
    for dataset in Dataset.objects.filter(team=team, missing_since__isnull=True).prefetch_related("replicas"):
        home = dataset.replicas.first()
        took = times_to_complete(dataset, home.datacenter, WINDOWS_LOOKED_AT) if home else ()
        if of_week := [time for time in took if time.window.end >= start and time.is_known]:
            worst = max(of_week, key=lambda time: time.seconds)
            share_of_sla = worst.seconds / worst.allowed.total_seconds() if worst.allowed else 0.0
            slow_tables.append((dataset.full_name, worst.text, share_of_sla))
    noisy = flips.values(*names).annotate(failed=Count("pk")).filter(failed__gte=2).order_by("-failed", *names)
    return WeekFigures(
        team=team,
        start=start,
        end=now,
        quality=total.data_quality,
        precision=total.precision,
        recall=total.recall,
        is_provisional=total.open,
        incidents=list(incidents.order_by("tier", "detected_at", "pk")),
        past=still_open.filter(is_past=True).count(),
        coverage=[tier for tier in coverage_by_tier(now=now, team=team) if tier.datasets],
        gaps=list(gaps.order_by("dataset__tier", "dataset__full_name", "category")),
        slowest=sorted(slow_tables, key=lambda table: (-table[2], table[0]))[:MOST_SHOWN],
        signs=signs_of_team(team, now),
        noisy=list(noisy.values_list(*names, "failed")[:MOST_SHOWN]),
        url=f"{config().public_url}/scores",
    )


def teams() -> list[str]:
    """The teams that have datasets, by name."""
    rows = Dataset.objects.filter(missing_since__isnull=True).exclude(team="")
    return sorted(set(rows.values_list("team", flat=True)))


def followed_incidents(user: User, *, now: datetime) -> list[Incident]:
    """Incidents that were open in the week that ends now, of what somebody follows and may read, and does not own."""
    rows = Incident.objects.filter(Q(resolved_at=None) | Q(resolved_at__gte=now - WEEK), detected_at__lt=now)
    rows = rows.filter(is_past=False, dataset__followers__user=user).exclude(dataset__owner=user.get_username())
    person, incidents = person_of(user), rows.select_related("dataset").order_by("tier", "detected_at", "pk")
    return [row for row in incidents if may_read(person, owned(row.dataset))]


# The digest as text, and as HTML for mail readers; no name can forge a line, and what comes from data is escaped.

Section = tuple[str, Sequence[str]]  # a heading and its lines


def subject(figures: WeekFigures) -> str:
    """The title, with what matters first."""
    count = len(figures.incidents)
    left = f"{count} open incident{'' if count == 1 else 's'}" if count else "nothing is open"
    return _flatten_text(f"The week of {figures.team}: quality {share(figures.quality)}, {left}")


def sections(figures: WeekFigures) -> tuple[Section, ...]:
    """All parts, in the order of reading."""
    provisional = " Both are provisional: incidents are still open." if figures.is_provisional else ""
    quality = (
        "No test has judged the data of this week."
        if figures.quality is None
        else f"Data was right in {share(figures.quality)} of the tested time.",
        f"Precision of the alarms: {share(figures.precision)}. Recall: {share(figures.recall)}.{provisional}",
    )
    coverage = [
        f"Tier {tier.tier}: {tier.live} of {tier.wanted + tier.gaps} standard tests are live ({share(tier.share)}); "
        f"the target is {share(tier.target)}."
        for tier in figures.coverage
    ]
    gaps = _lines(f"Not testable: {gap.dataset.full_name}, {gap.category}: {gap.reason}" for gap in figures.gaps)
    past = [f"Beside them {figures.past} of the past, found by back-fills."] if figures.past else []
    slowest = _lines(f"{dataset}: {took} ({share_of_sla:.0%})" for dataset, took, share_of_sla in figures.slowest)
    noisy = _lines(f"{test} of {dataset} failed {failed} times" for dataset, test, failed in figures.noisy)
    return (
        ("Quality", quality),
        ("Open incidents", [*(_lines(map(_incident, figures.incidents)) or ["Nothing is open."]), *past]),
        ("Coverage", [*coverage, *gaps] or ["The team has no datasets."]),
        ("Unusual tables", _lines(figures.signs) or ["All commits came as usual."]),
        ("Slowest tables", slowest or ["No window was complete in this week."]),
        ("Noisy tests", noisy or ["No test failed twice."]),
    )


def text(figures: WeekFigures) -> str:
    """The digest as plain text."""
    return _plain_text(_period(figures.start, figures.end), sections(figures), figures.url)


def _plain_text(period: str, parts: Iterable[Section], url: str) -> str:
    lines = [period, ""]
    for heading, own in parts:
        lines += [heading, *(f"- {line}" for line in own), ""]
    return "\n".join([*lines, *([f"Details: {url}"] if url else [])]).strip() + "\n"


def html(figures: WeekFigures) -> str:
    """The whole page."""
    (_, (quality, *alarms)), *others = sections(figures)
    figure = (
        f'<p style="font-size:34px;font-weight:600;margin:0">{escape(share(figures.quality))}</p>'
        f'<p style="margin:0;color:#5b6875">{escape(quality)}</p>'
    )
    when = f'<p style="margin:0 0 12px;color:#5b6875">{_period(figures.start, figures.end)}</p>'
    heading = '<h2 style="font-size:16px;margin:0 0 8px">{}</h2>'
    content = [
        card(f"{title(subject(figures))}{when}{figure}{_list(alarms)}"),
        *(card(f"{heading.format(escape(name))}{_list(lines)}") for name, lines in others),
        buttons([("Scores", figures.url)]),
    ]
    return page("".join(content))


def share(value: float | None) -> str:
    """A share in per cent, rounded down, so that 100 % is nothing less."""
    return "unknown" if value is None else f"{int(value * 1000) / 10:g} %"


def _period(start: datetime, end: datetime) -> str:
    return f"{start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M} UTC"


def _incident(row: Incident) -> str:
    who = f"{row.assigned_to} {'works' if row.acknowledged_at else 'is asked to work'} on it"
    taken = f", {who if row.assigned_to else 'nobody has taken it up'}"
    since = f"{row.detected_at:%Y-%m-%d %H:%M} UTC"
    return f"[tier {row.tier}] {row.dataset.full_name}: {row.category} since {since}{taken}"


def _ended_incident(row: Incident) -> str:
    since, until = f"{row.detected_at:%Y-%m-%d %H:%M}", f"{row.resolved_at:%Y-%m-%d %H:%M} UTC"
    return f"[tier {row.tier}] {row.dataset.full_name}: {row.category} from {since} to {until}, {row.resolution}"


def _lines(lines: Iterable[str]) -> list[str]:
    texts = [_flatten_text(line) for line in lines]
    more = len(texts) - MOST_LINES
    return texts if more <= 0 else [*texts[:MOST_LINES], f"and {more} more"]


def _flatten_text(text: str) -> str:
    return " ".join(text.split())


def _list(lines: Iterable[str]) -> str:
    items = "".join(f'<li style="overflow-wrap:anywhere">{escape(line)}</li>' for line in lines)
    return f'<ul style="margin:8px 0 0;padding-left:20px">{items}</ul>'


# The stage.


def tell_digests(row: Round, now: datetime) -> None:
    """Tell each team whose day it is of its week; a week's message has one key, so it is told once."""
    year, week, _ = now.isocalendar()
    for team in teams():
        route = routes().of(team)
        if (route.digest_day if route else MONDAY) != now.weekday():
            continue
        figures = figures_of(team, now=now)
        tell(
            event="digest",
            recipient=team,
            is_soft=True,
            subject=subject(figures),
            body=text(figures),
            html=html(figures),
            facts={"team": team, "quality": figures.quality, "open": len(figures.incidents), "url": figures.url},
            key=f"digest:{year}w{week:02d}",
            now=now,
        )
    tell_followers(now)
    finish(row, due_at=stage(row.name).next_round(now))


def tell_followers(now: datetime) -> None:
    """Tell those whose day it is of the incidents of what they follow; who hears of them at once is not told again."""
    year, week, _ = now.isocalendar()
    members = Member.objects.filter(hears_at_once=False, followed_datasets__isnull=False)
    for user in User.objects.select_related("member").filter(is_active=True, member__in=members).order_by("username"):
        name = user.get_username()
        route = routes().own(name)
        is_day = (route.digest_day if route else MONDAY) == now.weekday()
        if not is_day or not (incidents := followed_incidents(user, now=now)):
            continue
        ongoing = [_incident(row) for row in incidents if row.resolved_at is None]
        ended = [_ended_incident(row) for row in incidents if row.resolved_at is not None]
        open_part = "Open incidents", _lines(ongoing) or ["Nothing is open."]
        ended_part = "Incidents that ended", _lines(ended) or ["None."]
        url = f"{config().public_url}/?whose=mine"
        tell(
            event=Event.DIGEST,
            recipient=name,
            at=own_addresses(name, event=Event.DIGEST),
            is_soft=True,
            subject=f"The week of what you follow: {len(ongoing)} open incidents, {len(ended)} ended",
            body=_plain_text(_period(now - WEEK, now), (open_part, ended_part), url),
            facts={"incidents": [row.pk for row in incidents], "url": url},
            key=f"follows:{year}w{week:02d}",
            now=now,
        )
