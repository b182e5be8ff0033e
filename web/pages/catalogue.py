"""Pages of all data: the catalogue, and one team."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from django import forms
from django.contrib import messages
from django.core.paginator import Page, Paginator
from django.db.models import F, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.text import capfirst
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from alerting.models import Standing
from alerting.selectors import coverage_by_tier
from alerting.state import BROKEN
from assay import clock
from assay.access import Action, Person
from assay.models import Category, Dataset, Member, Pull
from execution_engine.models import Run, RunReason
from execution_engine.runs.shown_results import Veil
from execution_engine.services import cost_of, last_partitions, request_all
from incident_manager.models import Incident, SpoiltWindow
from incident_manager.quality.now import facts_now, of_category, of_datasets, statuses_now
from incident_manager.quality.rules import RANK, AnswerReason, Facts, RangeRequest, judge
from incident_manager.quality.rules import QualityStatus as Quality
from incident_manager.scores.metric_reporter import NONE, USUAL_RANGE, data_qualities, scores
from web.access.changes import audited
from web.access.throttles import costs
from web.access.who import hidden_datasets, may, person_of, readable
from web.doctor import idle
from web.rendering.headline import folded, reason_text
from web.rendering.search import declares_column, matching_datasets
from web.rendering.status import WORDS, DisplayStatus, look_of, plain

from .dataset import BACK_FILLED
from .days import strips
from .incident import MOST_CARDS, ROOTS, cards, headlines_of, open_incidents
from .page_policy import TIERS, FilterForm, PageMessage, choice_field, demand, form_of, page

SIZES = (25, 50, 100)  # rows of a page, which is no larger than 150 kB
PAGE_SIZE = 50
FILTERS = tuple(DisplayStatus(status.value) for status in Quality)
DAY = timedelta(days=1)
MOST_LETTERS = 200
# what the rows need of a dataset: not its columns, of which there may be thousands
UNREAD = ("columns", "declared", "place_limits")
SIGNS = {
    DisplayStatus.FAIL,
    DisplayStatus.WARN,
    DisplayStatus.UNKNOWN,
    DisplayStatus.REPORTED,
    DisplayStatus.WAIVED,
}  # of categories, that a row shows beside the status of the whole


class Sort(StrEnum):
    """What the rows are sorted by; with a minus before it from the end."""

    STATUS = "status"
    NAME = "name"
    OWNER = "owner"
    TIER = "tier"
    QUALITY = "quality"


SORT_WORDS = {
    Sort.STATUS: _("Status"),
    Sort.NAME: _("Dataset"),
    Sort.OWNER: _("Owner"),
    Sort.TIER: _("Tier"),
    Sort.QUALITY: _("Quality"),
}


WHOSE = {
    "mine": _("Mine"),
    "owned": _("Owned by me"),
    "team": _("Of my teams"),
    "followed": _("Followed"),
}


class CatalogueForm(FilterForm):
    """The filters of the catalogue, and how it is sorted and cut."""

    q = forms.CharField(required=False, max_length=MOST_LETTERS)
    owner = forms.CharField(required=False, max_length=MOST_LETTERS)
    team = forms.CharField(required=False, max_length=MOST_LETTERS)
    column = forms.CharField(required=False, max_length=MOST_LETTERS)
    tier = choice_field(int, TIERS)
    status = choice_field(DisplayStatus, [status.value for status in FILTERS])
    changed = choice_field(Quality, [Quality.BAD.value, Quality.GOOD.value])  # within a day
    whose = choice_field(str, (*WHOSE, "all"))
    sort = choice_field(str, [sign + name for name in Sort for sign in ("", "-")])
    size = choice_field(int, SIZES)


NARROWING = ("q", "owner", "team", "column", "tier", "status", "changed")
CHIPS = {
    "owner": _("owner"),
    "team": _("team"),
    "column": _("column"),
    "changed": _("newly"),
}  # no other field has them


@page
def catalogue_page(request: HttpRequest) -> HttpResponse:
    """Every dataset that the reader may see; of a filter's request only the table."""
    filters, now = CatalogueForm(request.GET).values(), clock.now()
    is_part = "HX-Request" in request.headers
    names = dict(Dataset.objects.exclude(pk__in=hidden_datasets(request)).values_list("pk", "full_name"))
    statuses = statuses_now(names, now=now)
    since = None if is_part and filters["changed"] is None else changes(statuses, now=now)
    own = owned_by(person_of(request), filters["whose"])
    is_narrowed = any(filters[name] not in ("", None) for name in NARROWING)
    if not filters["whose"]:
        has_own = not is_narrowed and bool(set(Dataset.objects.filter(own).values_list("pk", flat=True)) & set(names))
        filters["whose"] = "mine" if has_own else "all"
    rows = catalogue(names, statuses, **filters, changes=since, own=own, now=now)
    context = table_context(rows, filters) | {"is_narrowed": is_narrowed}
    if is_part:
        return render(request, "web/_matrix.html", context | {"is_part": True})
    choices = [(status.value, str(WORDS[status]).lower()) for status in FILTERS]
    context |= {"here": "catalogue", "now": now, "idle": idle(), "tiers": TIERS, "statuses": choices}
    roots = open_incidents(ROOTS, MOST_CARDS)
    causes = readable(request, roots)
    # what hidden roots cause may be read all the same
    hidden = [root.alert_id for root in roots if root not in causes and root.alert_id]
    causes += readable(request, open_incidents(Q(alert__cause__in=hidden), MOST_CARDS - len(causes)))
    failing = Pull.objects.filter(failing_since__isnull=False).order_by("name")  # the reads that are refused
    context |= {
        "summary": summary(statuses),
        "causes": cards(causes, Veil(now)),
        "failing_pulls": failing,
        "changes": since,
    }
    context |= {"chips": narrowing_chips(request), "first_runs": first_runs(request, statuses, now=now)}
    return render(request, "web/catalogue.html", context)


def owned_by(person: Person, whose: str | None) -> Q:
    """Of datasets those that are somebody's: owned as ``assay.access.owns`` says or followed, as ``WHOSE`` names."""
    rows = Member.followed_datasets.through.objects.filter(member__user__username=person.name)
    parts = {
        "owned": Q(owner=person.name),
        "team": Q(team__in=[team for team in person.teams if team]),
        "followed": Q(pk__in=rows.values("dataset")),
    }
    return parts[whose] if whose in parts else parts["owned"] | parts["team"] | parts["followed"]


def table_context(rows: Page[Any], filters: Mapping[str, Any]) -> dict[str, Any]:
    """What the table shows beside its rows: by what it is sorted, which pages there are and how long they are."""
    return {
        "wanted": filters,
        "catalogue": rows,
        "sorts": sort_links(filters["sort"]),
        "sizes": SIZES,
        "size": filters["size"] or PAGE_SIZE,
    }


def sort_links(chosen: str | None) -> dict[str, dict[str, str]]:
    """For the head of each column its words, what its link sorts by, and how it is sorted now (``aria-sort``)."""
    chosen = chosen or Sort.STATUS
    links = {}
    for name, words in SORT_WORDS.items():
        is_chosen = chosen.removeprefix("-") == name
        direction = ("descending" if chosen.startswith("-") else "ascending") if is_chosen else ""
        links[name.value] = {
            "words": str(words),
            "value": f"-{name}" if chosen == name else name.value,
            "direction": direction,
        }
    return links


def narrowing_chips(request: HttpRequest) -> list[dict[str, str]]:
    """The filters that only links set, each with the query that leaves it out."""
    chips = []
    for name, words in CHIPS.items():
        if value := request.GET.get(name, "").strip():
            query = request.GET.copy()
            query.pop(name), query.pop("page", None)
            chips.append({"words": f"{words} {plain(value)}", "query": query.urlencode()})
    return chips


@dataclass(frozen=True, kw_only=True)
class Changes:
    """What has changed in a day: numbers of incidents, and the datasets that are bad or good now and were not."""

    opened: int
    resolved: int
    bad: frozenset[int]
    good: frozenset[int]


def changes(statuses: Mapping[int, Quality], *, now: datetime) -> Changes:
    """What of these datasets has changed in the last 24 hours, in four statements.

    Newly bad: bad now, by nothing that was known before. Newly good: good now, and an incident was resolved.
    """
    since = now - DAY
    opened = Incident.objects.filter(detected_at__gte=since, is_past=False).values_list("dataset_id", flat=True)
    resolved = Incident.objects.filter(resolved_at__gte=since).values_list("dataset_id", flat=True)
    bad = {pk for pk, status in statuses.items() if status is Quality.BAD}
    spoilt = SpoiltWindow.objects.filter(healed_at__isnull=True, spoilt_at__lt=since)
    broken = Standing.objects.filter(state__in=BROKEN, waiver__isnull=True, broken_since__lt=since)
    earlier = (
        of_datasets(bad, spoilt, "dataset")
        .values_list("dataset_id")
        .union(of_datasets(bad, broken, "data_test__dataset").values_list("data_test__dataset"))
    )
    good = {pk for pk in resolved if statuses.get(pk) is Quality.GOOD}
    return Changes(
        opened=sum(pk in statuses for pk in opened),
        resolved=sum(pk in statuses for pk in resolved),
        bad=frozenset(bad - {pk for (pk,) in earlier}),
        good=frozenset(good),
    )


def catalogue(
    names: Mapping[int, str],
    statuses: Mapping[int, Quality],
    *,
    now: datetime,
    q: str | None = "",
    owner: str | None = "",
    team: str | None = "",
    column: str | None = "",
    tier: int | None = None,
    status: DisplayStatus | None = None,
    changed: Quality | None = None,
    changes: Changes | None = None,
    whose: str | None = "all",
    own: Q | None = None,
    sort: str | None = None,
    size: int | None = None,
    page: int = 1,
) -> Page[Any]:
    """The rows of one page, of the datasets of these names and statuses by id that match; the worst first.

    In as many statements however many datasets there are.
    """
    conditions = [
        *([Q(owner=owner)] if owner else []),
        *([Q(team=team)] if team else []),
        *([declares_column(column)] if column else []),
        *([Q(tier=tier)] if tier is not None else []),
        *([own] if own is not None and whose in WHOSE else []),
    ]
    if q or conditions:
        rows = matching_datasets(q or "").filter(*conditions).values_list("pk", flat=True)
        keys = [pk for pk in rows if pk in names]
    else:
        keys = list(names)
    if status is not None:
        keys = [pk for pk in keys if statuses[pk].value == status.value]
    if changed is not None and changes is not None:
        newly = changes.bad if changed is Quality.BAD else changes.good
        keys = [pk for pk in keys if pk in newly]
    by, is_reversed = Sort((sort or Sort.STATUS).removeprefix("-")), bool(sort and sort.startswith("-"))
    qualities = data_qualities(keys, now=now) if by is Sort.QUALITY else {}
    keys = _sorted(keys, names, statuses, by, qualities=qualities, is_reversed=is_reversed)
    dataset_page: Page[Any] = Paginator(keys, size or PAGE_SIZE).get_page(page)
    keys = list(dataset_page.object_list)
    qualities = qualities or data_qualities(keys, now=now)
    dataset_page.object_list = _rows(keys, statuses, qualities, now)
    return dataset_page


def _sorted(
    keys: list[int],
    names: Mapping[int, str],
    statuses: Mapping[int, Quality],
    by: Sort,
    *,
    qualities: Mapping[int, float | None],
    is_reversed: bool,
) -> list[int]:
    """The worst status first and then by name where they are alike; what has no quality comes last."""
    keys.sort(key=lambda pk: names[pk].lower(), reverse=is_reversed and by is Sort.NAME)
    match by:
        case Sort.NAME:
            return keys
        case Sort.STATUS:
            return sorted(keys, key=lambda pk: RANK[statuses[pk]], reverse=is_reversed)
        case Sort.QUALITY:
            values: Mapping[int, Any] = {pk: value for pk, value in qualities.items() if value is not None}
        case _:
            rows = of_datasets(keys, Dataset.objects.all(), "pk").values_list("pk", by.value)
            values = {pk: value.lower() if isinstance(value, str) else value for pk, value in rows}
    keys.sort(key=lambda pk: RANK[statuses[pk]])
    ordered = sorted((pk for pk in keys if pk in values), key=values.__getitem__, reverse=is_reversed)
    return ordered + [pk for pk in keys if pk not in values]


def _rows(
    keys: Sequence[int], statuses: Mapping[int, Quality], qualities: Mapping[int, float | None], now: datetime
) -> list[dict[str, Any]]:
    """What the table shows of these datasets, in a bounded number of statements."""
    datasets = Dataset.objects.defer(*UNREAD).prefetch_related("replicas").in_bulk(keys)
    facts = facts_now({pk: datasets[pk].full_name for pk in keys}, now=now)
    rows = Incident.objects.filter(dataset__in=keys, resolved_at=None).select_related("alert")
    opened: dict[int, list[Incident]] = {}
    for incident in rows.order_by(F("alert__cause").asc(nulls_first=True), "-detected_at", "-pk"):
        opened.setdefault(incident.dataset_id, []).append(incident)  # what nothing else causes first
    headlines = headlines_of([incidents[0] for incidents in opened.values()], Veil(now))
    days = strips(list(datasets.values()), now=now)
    table_rows = []
    for pk in keys:
        reasons = folded(judge(facts[pk], RangeRequest()).reasons)
        incidents = opened.get(pk, [])
        why = reason_text(reasons[0].text) if reasons and statuses[pk] is not Quality.GOOD else ""
        row = {
            "dataset": datasets[pk],
            "status": DisplayStatus(statuses[pk].value),
            "signs": _signs(facts[pk], reasons),
            "strip": days[pk],
            "quality": qualities[pk],  # data-level, of the last 28 days; None: nothing has tested it
            "incident": incidents[0] if incidents else None,
            "open_incidents": len(incidents),
            "why": (headlines.get(incidents[0].pk) if incidents else "") or capfirst(why),
        }
        table_rows.append(row)
    return table_rows


def _signs(facts: Facts, reasons: Iterable[AnswerReason]) -> list[tuple[str, DisplayStatus]]:
    """The categories of its own that are not good, and how each stands."""
    named = {reason.category for reason in reasons if reason.category and not reason.source}
    looks = (
        (name, look_of(judge(of_category(facts, name), RangeRequest()))) for name in Category.values if name in named
    )
    return [(name, look) for name, look in looks if look in SIGNS]


def summary(statuses: Mapping[int, Quality]) -> dict[str, int]:
    """How many datasets there are, how many of each status, and how many of their incidents are open."""
    counts = Counter(statuses.values())
    opened = Incident.objects.filter(resolved_at=None).order_by().values_list("dataset_id", flat=True)
    incidents = sum(pk in statuses for pk in opened)
    return {status.value: counts[status] for status in Quality} | {"datasets": len(statuses), "incidents": incidents}


MOST_LOOKED_AT = 200  # datasets of which the first runs are worked out
MOST_FIRST_RUNS = 2000  # of one request


@dataclass(frozen=True, kw_only=True)
class FirstRuns:
    """What the offer to test the past of many datasets comes to."""

    datasets: Sequence[Dataset]
    runs: int
    scans: int  # of a partition each
    is_all: bool  # of the reader's; else there is more than one request may be


def first_runs(request: HttpRequest, statuses: Mapping[int, Quality], *, now: datetime) -> FirstRuns | None:
    """The offer to test the last partitions of what the reader may test, where nothing has been judged or asked for."""
    is_first_day = set(statuses.values()) <= {Quality.UNTESTED, Quality.UNKNOWN} and not Standing.objects.exists()
    if (
        not statuses
        or not is_first_day
        or not may(request, Action.RUN)
        or Run.objects.filter(reason=RunReason.BACKFILL).exists()
    ):
        return None
    rows = Dataset.objects.exclude(partition_column="").filter(missing_since=None).order_by("tier", "full_name")
    datasets, runs, scans, is_all = list[Dataset](), 0, 0, True
    for at, row in enumerate(
        row for row in rows.defer(*UNREAD) if row.pk in statuses and may(request, Action.RUN, row)
    ):
        cost = cost_of(row, last_partitions(row, BACK_FILLED, now), now)
        if cost is None:
            continue
        if at >= MOST_LOOKED_AT or runs + cost.runs > MOST_FIRST_RUNS:
            is_all = False
            break
        datasets.append(row)
        runs, scans = runs + cost.runs, scans + cost.partitions
    return FirstRuns(datasets=datasets, runs=runs, scans=scans, is_all=is_all) if datasets else None


@form_of("catalogue")
@costs("run")
def request_first_runs(request: HttpRequest) -> HttpResponse:
    """Ask for the runs that the catalogue offers on the first day, and return to it."""
    demand(request, Action.RUN, None)
    now = clock.now()
    names = dict(Dataset.objects.exclude(pk__in=hidden_datasets(request)).values_list("pk", "full_name"))
    offer = first_runs(request, statuses_now(names, now=now), now=now)
    if offer is None:
        messages.error(request, gettext("Tests have run already: each dataset's page offers to test its past."))
        return redirect("catalogue")
    occasion, count = f"{request.user.get_username()[:40]}:{now.isoformat()}", 0
    for dataset in offer.datasets:
        with audited(request, "run.bulk", kind="dataset", key=dataset.full_name) as change:
            requested = request_all(dataset, last_partitions(dataset, BACK_FILLED, now), occasion=occasion, now=now)
            change.after = {"runs": [run.pk for run in requested.runs]}
        count += len(requested.runs)
    text = ngettext("%(count)s run is on the way.", "%(count)s runs are on the way.", count) % {"count": count}
    messages.success(request, text + " " + gettext("What they find is of the past: nobody is paged for it."))
    return redirect("catalogue")


MOST_OPEN = 12


@page
def team_page(request: HttpRequest, team: str) -> HttpResponse:
    """One team: its tables, what is open, how good its data is, what nobody tests; 404 where nothing was ever its."""
    rows = Dataset.objects.filter(team=team).exclude(pk__in=hidden_datasets(request))
    names = dict(rows.values_list("pk", "full_name"))
    if not names and not Incident.objects.filter(team=team).exists():
        raise Http404(PageMessage(gettext("There is no team %(name)s.") % {"name": team}))
    now, filters = clock.now(), CatalogueForm(request.GET).values()
    cut = {name: filters[name] for name in ("sort", "size", "page")}
    context = table_context(catalogue(names, statuses_now(names, now=now), **cut, now=now), filters) | {
        "team": team,
        "now": now,
        "open_count": Incident.objects.filter(team=team, resolved_at__isnull=True).count(),
        "causes": cards(readable(request, open_incidents(Q(team=team), MOST_OPEN)), Veil(now)),
        "score": scores(start=now - USUAL_RANGE, end=now, now=now, team=team, listed=NONE),
        "tiers": [tier for tier in coverage_by_tier(now=now, team=team) if tier.datasets],
    }
    return render(request, "web/team.html", context)
