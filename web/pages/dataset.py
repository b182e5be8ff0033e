"""The page of a dataset (its promises, its use, its tests and incidents, its forms), and those of business metrics."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlencode

from django import forms
from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Count, F, Max, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from alerting.models import Standing
from alerting.selectors import complete_up_to, times_to_complete, why_obsolete
from assay import clock
from assay.access import Action
from assay.catalog.locations import PUSHED
from assay.catalog.selectors import latest_ended, slas, window_from_text
from assay.charts.ticks import length_text
from assay.config import config
from assay.database.name_keys import name_key
from assay.models import Category, Dataset, DataTest
from assay.time.windows import INSTANT, Partitioning, UnableToPartition, UnableToReadWindow, Window, keys_of, zone
from execution_engine.models import Run, RunReason
from execution_engine.runs.shown_results import Veil
from execution_engine.services import UnableToRequest, cost_of, last_partitions, request_all
from incident_manager.gate.rules import UNJUDGED, Because, GateAnswer, longest, usual
from incident_manager.gate.services import lasting
from incident_manager.models import GateOverride, Incident
from incident_manager.publishing.services import published
from incident_manager.quality.now import facts_now
from incident_manager.quality.rules import Facts, QualityAnswer, QualityStatus, RangeRequest, ReasonKind, judge
from incident_manager.scores.metric_reporter import data_qualities
from incident_manager.services import ToRead, UnableToOverride, end_override, foresee, override
from test_generator.models import RuleTemplate
from web.access.changes import audited
from web.access.logins import typed_before
from web.access.throttles import costs
from web.access.who import hidden_datasets, may
from web.api.gate import GateOverrides
from web.doctor import idle
from web.rendering.business_metrics import business_metrics, metric_summaries, newest_values, sources_of
from web.rendering.charts import ChartUnit, Plot, WindowResult, plot_of
from web.rendering.headline import folded
from web.rendering.lineage import LARGEST, edges_with_facts, lineage
from web.rendering.lineage_layout import bad_path
from web.rendering.status import MEANINGS, WORDS, DisplayStatus, in_english
from web.rendering.use import WORDS as USE_WORDS
from web.rendering.use import PlaceAnswer, Use, use_sentence, with_why
from web.templatetags.quality import after, titled

from .days import day_grid, day_results, history, live_tests, newest_groups, plot_of_test, strips_by_place
from .incident import headlines_of
from .incident_chart import series_of
from .lineage import drawing_of
from .origins import origins_context
from .page_policy import (
    NameField,
    UtcField,
    Zoom,
    changing,
    choice_field,
    complain,
    dataset_of,
    demand,
    form_of,
    override_address,
    page,
    zoom_of,
)
from .suggestions import foretold


def promises(dataset: Dataset) -> tuple[tuple[str, str], ...]:
    """The SLAs and policies in force, in words."""
    terms = slas(dataset)
    is_hard = terms.severity == "hard"
    of_rows = (
        (gettext("Completeness"), gettext("at least %(value)s") % {"value": f"{terms.completeness:.4g}"}),
        (gettext("Duplicates"), gettext("at most %(value)s") % {"value": f"{terms.duplicates:.4g}"}),
        (gettext("Consistency"), gettext("at least %(value)s") % {"value": f"{terms.consistency:.4g}"}),
    )
    return (
        (
            gettext("Freshness"),
            gettext("complete within %(value)s") % {"value": after(terms.freshness)},
        ),
        *(of_rows if dataset.business_metric is None else ()),
        (gettext("Fails after"), after(terms.sustain)),
        (gettext("Notify after"), after(terms.grace)),
        (gettext("Severity"), gettext("hard: blocks pipelines") if is_hard else gettext("soft: only warns")),
        (gettext("Without a verdict"), gettext("the gate blocks") if terms.fail_closed else gettext("the gate allows")),
    )


def progress(dataset: Dataset) -> tuple[tuple[str, str, str], ...]:
    """The last partition up to which it is complete, and how long its last window took, each with a note.

    The note of the first says what the completeness of the last window stands on.
    """
    places = list(dataset.replicas.all())
    up_to, at_home = complete_up_to(dataset), next(iter(places), None)
    newest = times_to_complete(dataset, at_home.datacenter, 1) if at_home else []
    if up_to is None or not newest or at_home is None:
        return ()
    partitioning, took = dataset.partitioning, newest[0]
    text = partitioning.key(partitioning.at(up_to - INSTANT)) if partitioning else f"{up_to:%Y-%m-%d %H:%M} UTC"
    lengths = {"length": length_text(took.seconds), "longest": length_text(took.allowed.total_seconds())}
    length = gettext("%(length)s of %(longest)s") if took.is_known else gettext("not known, filled later")
    through = gettext("Complete through")
    if len(places) > 1:
        through = gettext("Complete in %(place)s through") % {"place": at_home.datacenter}
    return (through, text, took.basis), (gettext("Last window took"), length % lengths, "")


def incidents_of(dataset: Dataset) -> list[Incident]:
    """The dataset's incidents, open ones first, then the newest."""
    rows = Incident.objects.filter(dataset=dataset).select_related("alert__cause__dataset")
    return list(rows.order_by(F("resolved_at").desc(nulls_first=True), "-detected_at")[:MOST_INCIDENTS])


MOST_INCIDENTS = 6
LEGEND = [(status, WORDS[status], MEANINGS[status]) for status in DisplayStatus if status is not DisplayStatus.NONE]
OFFERED = 60  # partitions whose keys are offered while one types
SPANS = (1, 7, 28)  # of the last partitions, one click away
MOST_REASONS = 8
MOST_TESTS = 3  # whose names stand beside a reason that they share
LOOKS = {  # a tone, and an icon
    Use.YES: ("allow", "pass"),
    Use.WITH_CARE: ("warn", "warn"),
    Use.NO: ("block", "fail"),
    Use.NOT_YET: ("untested", "pending"),
    Use.NOBODY: ("untested", "untested"),
}
NO_FAULT = {*UNJUDGED, ReasonKind.WAIVED}


def may_use(
    dataset: Dataset, *, now: datetime, first: str = "", last: str = "", span: int = 1, datacenter: str = ""
) -> dict[str, Any] | None:
    """What the gate would answer now, with what the form of the range offers; None where there is nothing to read.

    The range is from the first to the last partition by their keys, else the last so many that have ended.
    """
    places = [replica.datacenter for replica in dataset.replicas.all()]
    if not places:
        return None
    partitioning, ended = dataset.partitioning, latest_ended(dataset, now)
    place = datacenter if datacenter in places else places[0]
    offered: tuple[str, ...] = ()
    window = ended
    try:
        if partitioning:
            newest = (*partitioning.previous(ended, OFFERED - 1), ended)
            offered = tuple(partitioning.key(partition) for partition in reversed(newest))
            window = _range(partitioning, first, last, span, ended)
        window.taken()
    except (UnableToPartition, UnableToReadWindow) as unable:
        verdict = "unknown", gettext("Which range?"), in_english(str(unable))
        form = {"first": first, "last": last, "datacenter": place, "places": places, "offered": offered}
        return {**form, "tone": "unread", "said": verdict}
    to_read = [ToRead(dataset=dataset, window=window, datacenter=replica) for replica in places]
    answers = dict(zip(places, foresee(to_read, now=now), strict=True))
    reasons = list(_shared_reasons(answers, place, partitioning, _titles(dataset)))
    own_first = sorted(places, key=lambda datacenter: datacenter != place)
    uses = [PlaceAnswer(dataset=dataset, quality=answers[at][0], gate=answers[at][1]) for at in own_first]
    incidents = Incident.objects.filter(pk__in={use.incident_id for use in uses if use.incident_id})
    uses = with_why(uses, dict(incidents.values_list("pk", "eta")), now=now)
    tone, icon = LOOKS[uses[0].use]
    word = str(USE_WORDS[uses[0].use])
    return {
        "first": partitioning.key(partitioning.at(window.start)) if partitioning else "",
        "last": partitioning.key(partitioning.at(window.end - INSTANT)) if partitioning else "",
        "datacenter": place,
        "places": places,
        "offered": offered,
        "span": None if partitioning and (first or last) else span,  # of the last partitions, if it is of these
        "tone": tone,
        "said": (icon, word, use_sentence(uses).removeprefix(word)),
        "uses": uses,
        "reasons": reasons[:MOST_REASONS],
        "more": max(0, len(reasons) - MOST_REASONS),
    }


def _range(partitioning: Partitioning, first_key: str, last_key: str, span: int, ended: Window) -> Window:
    """From the start of the first to the end of the last partition; one key alone names one partition."""
    if not first_key and not last_key:
        first = partitioning.previous(ended, span - 1)[0] if span > 1 else ended
        return Window(start=first.start, end=ended.end)
    first, last = partitioning.window(first_key or last_key), partitioning.window(last_key or first_key)
    if last.start < first.start:
        raise UnableToReadWindow(f"The range ends with {last_key} before it starts with {first_key}.")
    return Window(start=first.start, end=last.end)


def _shared_reasons(
    answers: Mapping[str, tuple[QualityAnswer, GateAnswer]],
    place: str,
    partitioning: Partitioning | None,
    titles: Mapping[str, str],
) -> Iterator[dict[str, Any]]:
    """The reasons, faults first; those of several tests that say the same of the same partitions as one.

    What is wrong with these partitions in another datacenter, and not in ``place``, is among them. In each, ``place``
    is that of another copy than the one asked about; empty: of that one.
    """
    own = answers[place][1].reasons
    here = {replace(reason, datacenter="") for reason in own}
    elsewhere = [folded(answer.reasons) for datacenter, (_, answer) in answers.items() if datacenter != place]
    faults = (reason for reasons in elsewhere for reason in reasons if reason.kind not in NO_FAULT)
    reasons = [*folded(own), *(reason for reason in faults if replace(reason, datacenter="") not in here)]
    alike: dict[Because, list[str]] = {}
    for reason in sorted(reasons, key=lambda reason: reason.kind in UNJUDGED):
        shared = replace(reason, test=None, category="") if reason.kind in UNJUDGED else reason
        alike.setdefault(shared, []).extend([reason.test] if reason.test else [])
    for reason, tests in alike.items():
        names = ", ".join(titles.get(test, test) for test in tests[:MOST_TESTS])
        if len(tests) > MOST_TESTS:
            names += " " + gettext("and %(count)s more") % {"count": len(tests) - MOST_TESTS}
        other = "" if reason.datacenter in ("", place) else reason.datacenter
        yield {"because": reason, "keys": keys_of(reason.window, partitioning), "tests": names, "place": other}


def _titles(dataset: Dataset) -> dict[str, str]:
    """How people call the tests of a dataset, by their names."""
    tests = dataset.data_tests.filter(retired_at=None).only("dataset", "name", "origin", "template")
    return {test.name: titled(test) for test in tests}


class RangeForm(forms.Form):
    """The range of a dataset that somebody asks about; a number that cannot be read asks for the last partition."""

    first = forms.CharField(required=False, max_length=100)
    last = forms.CharField(required=False, max_length=100)
    span = choice_field(int, SPANS)
    datacenter = forms.CharField(required=False, max_length=60)

    def values(self) -> dict[str, Any]:
        """What can be read of it."""
        self.is_valid()
        return {name: value for name, value in self.cleaned_data.items() if value}


HOUR = timedelta(hours=1)
LONGEST = 300  # letters of what a reader types
BACK_FILLED = 28  # partitions


TABS = {
    "overview": _("Overview"),
    "days": _("Days"),
    "tests": _("Tests"),
    "columns": _("Columns"),
    "lineage": _("Lineage"),
    "settings": _("Settings"),
}
# what an address names lies on a tab
IMPLYING = {"test": "tests", "day": "days", "override": "settings", "incident": "settings"}
SCOPE = ("first", "last", "span", "datacenter", "from", "to")  # the range and the place, on all tabs
RUNNABLE = ("overview", "tests")  # tabs that offer to test the last partitions
ROWS = 10  # of a tab, which fits a screen


def tabs(request: HttpRequest, dataset: Dataset) -> list[tuple[str, str, str]]:
    """Of each tab its name, its words and its address, which keeps the range and the place."""
    scope = {name: request.GET[name] for name in SCOPE if request.GET.get(name)}
    home, columns = (reverse(name, args=[dataset.full_name]) for name in ("dataset", "columns"))
    addresses = {name: (columns, scope) if name == "columns" else (home, {"tab": name, **scope}) for name in TABS}
    return [
        (name, str(words), f"{addresses[name][0]}?{urlencode(addresses[name][1])}".rstrip("?"))
        for name, words in TABS.items()
    ]


@page
def dataset_page(request: HttpRequest, name: str) -> HttpResponse:
    """One dataset, a tab at a time: may it be used and why, its days, its tests, its lineage, its settings."""
    dataset = dataset_of(name)
    demand(request, Action.READ, dataset)
    now, query, before = clock.now(), request.GET, typed_before(request)
    implied = next((tab for name, tab in IMPLYING.items() if query.get(name)), "overview")
    tab = "settings" if before.get("override") or before.get("correct") else query.get("tab", "")
    tab = tab if tab in PARTS else implied
    facts = facts_now({dataset.pk: dataset.full_name}, now=now)[dataset.pk]
    context = {
        "dataset": dataset,
        "now": now,
        "idle": idle(),
        "tab": tab,
        "part": f"web/_dataset_{tab}.html",
        "why_obsolete": why_obsolete(dataset),
        "tabs": tabs(request, dataset),
        "answer": judge(facts, RangeRequest()),
        "replicas": [
            (replica, judge(facts, RangeRequest(datacenter=replica.datacenter)).status)
            for replica in dataset.replicas.all()
        ],
        "is_followed": dataset.followers.filter(user=request.user.pk).exists(),
        "zoom": zoom_of(request),
        "may_report": may(request, Action.REPORT, dataset),
        "may_test": may(request, Action.TEST, dataset),
        "back_fill": back_fill_of(dataset, now) if tab in RUNNABLE and may(request, Action.RUN, dataset) else None,
    }
    return render(request, "web/dataset.html", context | PARTS[tab](request, dataset, facts, now) | before)


def _overview(request: HttpRequest, dataset: Dataset, facts: Facts, now: datetime) -> dict[str, Any]:
    """The answer, and what explains it."""
    use = may_use(dataset, **RangeForm(request.GET).values(), now=now)
    bad = next((place for place in (use or {}).get("uses", ()) if place.reason), None)
    is_stopped = bad is not None and bad.use is Use.NO and may(request, Action.OVERRIDE, dataset)
    is_bad = judge(facts, RangeRequest()).status is QualityStatus.BAD
    tests = dataset.data_tests.filter(retired_at=None)
    return {
        "use": use,
        "use_spans": SPANS,
        "override_address": override_address(dataset, bad.quality.request.window, bad.incident_id)
        if bad and is_stopped
        else "",
        "progress": progress(dataset),
        "quality": data_qualities([dataset.pk], now=now)[dataset.pk],
        "tests_count": tests.count(),
        "has_no_result": not Standing.objects.filter(data_test__in=tests).exists(),
        "strips": strips_by_place(dataset, now=now),
        "path": bad_upstreams(dataset, hidden=hidden_datasets(request), now=now) if is_bad else [],
        **_explaining_chart(dataset, bad, zoom_of(request), now),
    }


def _explaining_chart(dataset: Dataset, bad: PlaceAnswer | None, zoom: Zoom, now: datetime) -> dict[str, Any]:
    """The chart of the incident that the answer names, else of the test; where all is well of the first test."""
    veil = Veil(now)
    if bad and bad.incident_id:
        incident = Incident.objects.select_related("dataset", "alert").get(pk=bad.incident_id)
        if series := series_of(incident, veil, now):
            return {"incident": incident, "plot": series.plot()}
    tests = dataset.data_tests.filter(retired_at=None, revision__isnull=False).select_related("revision", "dataset")
    named = tests.filter(name=bad.reason.test).first() if bad and bad.reason and bad.reason.test else None
    categories = set(tests.values_list("category", flat=True))
    first = next((category for category in Category.values if category in categories), None)
    test = named or tests.filter(category=first).order_by("name").first()
    return {"test": test, "plot": plot_of_test(test, veil, zoom)} if test else {}


def bad_upstreams(dataset: Dataset, *, hidden: Collection[int], now: datetime) -> list[list[dict[str, Any]]]:
    """The bad upstreams through which what is wrong may have come, the farthest first, those of one distance together.

    Each with its open incident and what is wrong in it. None that is ``hidden`` is named or led through.
    """
    graph = lineage(dataset, now=now, up_to=LARGEST, down_to=0)
    steps = bad_path(graph, hidden)
    incidents = Incident.objects.filter(dataset__in=steps.keys() - {dataset.pk}, resolved_at=None).order_by("pk")
    first = {incident.dataset_id: incident for incident in reversed(incidents)}
    headlines = headlines_of(list(first.values()), Veil(now))
    path = defaultdict[int, list[dict[str, Any]]](list)
    for node in graph.nodes:
        if steps.get(node.id):
            incident = first.get(node.id)
            why = incident and (headlines.get(incident.pk) or f"#{incident.pk}")
            shared = {"name": node.name, "status": node.status, "incident": incident and incident.pk, "why": why}
            path[steps[node.id]].append(shared)
    return [path[step] for step in sorted(path)]


def _days(request: HttpRequest, dataset: Dataset, facts: Facts, now: datetime) -> dict[str, Any]:
    """How each partition stands by category, with the incidents, or the results of one partition."""
    veil, (label, category) = Veil(now), (request.GET.get(name, "") for name in ("day", "category"))
    day = day_results(dataset, label, category, veil, now=now)
    if day:
        day["runs"] = Paginator(day["runs"], ROWS).get_page(request.GET.get("page"))
    return {
        "reasons": folded(judge(facts, RangeRequest()).reasons),
        "grid": day_grid(dataset, facts, now=now),
        "legend": LEGEND,
        "day": day,
        "incidents": (incidents := incidents_of(dataset)),
        "headlines": headlines_of(incidents, veil),
    }


def _tests(request: HttpRequest, dataset: Dataset, facts: Facts, now: datetime) -> dict[str, Any]:
    """All tests, or one with its results over time."""
    tests = live_tests(dataset, veil := Veil(now))
    number = request.GET.get("test", "")
    chosen = next((live.test for live in tests if str(live.test.pk) == number), None)
    if chosen is None:
        return {
            "page": Paginator(tests, ROWS).get_page(request.GET.get("page")),
            "gaps": dataset.gaps.filter(closed_at=None),
            "has_no_result": not any(live.standing for live in tests),
        }
    return {
        "chosen": chosen,
        "pushed": PUSHED,
        "bindings": dataset.bindings.filter(test=chosen.name).order_by("pipeline"),
        "template": RuleTemplate.objects.filter(name=chosen.template).first() if chosen.template else None,
        "plot": plot_of_test(chosen, veil, zoom_of(request)),
        "groups": newest_groups(chosen, veil),
        "foretold": foretold(chosen, now),
    }


def _lineage(request: HttpRequest, dataset: Dataset, facts: Facts, now: datetime) -> dict[str, Any]:
    """What it is made of, and what is made of it."""
    graph = lineage(dataset, now=now)
    edges = edges_with_facts(graph, hidden=hidden_datasets(request), at=dataset.pk)
    return {"lineage": drawing_of(request, graph, depth=2), "edges": edges}


def _settings(request: HttpRequest, dataset: Dataset, facts: Facts, now: datetime) -> dict[str, Any]:
    """What it promises, what a link from an incident lets pipelines read, what was published, and its badge."""
    window, incident = request.GET.get("override", ""), request.GET.get("incident", "")
    reason = gettext("Incident %(id)s is known.") % {"id": incident} if incident.isdecimal() else ""
    last = {row.pointer: row for row in published(dataset).order_by("window_end", "pk")}
    return {
        "promises": promises(dataset),
        "published": [last[pointer] for pointer in sorted(last)],
        "overrides": lasting(dataset, now=now),
        "override": {"window": window, "reason": reason} if window or incident else {},
        "usual_override": usual(dataset.tier) // HOUR,
        "longest_override": longest(dataset.tier) // HOUR,
        "may_override": may(request, Action.OVERRIDE, dataset),
        "public_url": config().public_url.rstrip("/"),
        **origins_context(request, dataset),
    }


PARTS: Mapping[str, Callable[[HttpRequest, Dataset, Facts, datetime], dict[str, Any]]] = {
    "overview": _overview,
    "days": _days,
    "tests": _tests,
    "lineage": _lineage,
    "settings": _settings,
}


@page
def columns_page(request: HttpRequest, name: str) -> HttpResponse:
    """What profiles say of each column over the last partitions, and of one that is chosen all they say."""
    from .columns import columns_context  # with it numpy, for this page alone

    dataset = dataset_of(name)
    demand(request, Action.READ, dataset)
    now, names = clock.now(), ("text", "page", "column", "statistic")
    filters = {name: request.GET.get(name, "")[:LONGEST] for name in names}
    zoom = zoom_of(request, "chosen")
    columns = columns_context(dataset, live_tests(dataset, Veil(now)), now, **filters, zoom=zoom)
    context = {"dataset": dataset, "now": now, "shown": columns, "text": filters["text"], "zoom": zoom}
    context |= {"tab": "columns", "tabs": tabs(request, dataset)}
    return render(request, "web/columns.html", context)


class OverrideForm(forms.Form):
    """What may be read, by whom, until when, and why."""

    window = forms.CharField(max_length=100)
    pipeline = NameField(required=False, max_length=200)
    ends_at = UtcField(required=False)
    reason = forms.CharField(max_length=10_000)


@form_of("dataset", "name")
def new_override(request: HttpRequest, name: str) -> HttpResponse:
    """Let pipelines read a window, and return to the dataset's page."""
    dataset = get_object_or_404(Dataset, name_key=name_key(name))
    demand(request, Action.OVERRIDE, dataset)
    form, home = OverrideForm(request.POST), reverse("dataset", args=[name])
    if not form.is_valid():
        return complain(request, form, home)
    fields, refusal = {"dataset": dataset, **form.cleaned_data}, (UnableToOverride, UnableToReadWindow)
    with changing(request, GateOverrides, "create", details=fields, refusal=refusal, home=home) as change:
        fields["window"] = window_from_text(dataset, fields["window"])
        row = override(**fields, author=request.user.get_username(), now=clock.now())
        change.key, at = row.pk, f"{row.ends_at:%Y-%m-%d %H:%M}"
        messages.success(request, gettext("The gate only warns until %(at)s UTC. The data stays bad.") % {"at": at})
    return redirect("dataset", name)


@form_of("dataset", "name")
def submit_override_end(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """End an override and return to the dataset's page."""
    row = get_object_or_404(GateOverride.objects.select_related("dataset"), pk=pk, dataset__name_key=name_key(name))
    demand(request, Action.OVERRIDE, row)
    with changing(request, GateOverrides, "end", key=pk, refusal=UnableToOverride):
        end_override(row, now=clock.now())
        messages.success(request, gettext("Ended: the gate blocks again."))
    return redirect("dataset", name)


def back_fill_of(dataset: Dataset, now: datetime) -> dict[str, Any] | None:
    """What testing the last partitions costs, and how far the back-fill is; None where a dataset has no partitions.

    Of the back-fill that was asked for last so many runs of the ``total`` are ``done``, which is judged.
    """
    if dataset.partitioning is None:
        return None
    runs = Run.objects.filter(data_test__dataset=dataset, reason=RunReason.BACKFILL)
    last = runs.aggregate(last=Max("requested_at"))["last"]
    counts = runs.filter(requested_at=last).aggregate(total=Count("pk"), done=Count("pk", Q(judged_at__isnull=False)))
    cost = cost_of(dataset, last_partitions(dataset, BACK_FILLED, now), now)
    return {"cost": cost, **counts, "is_under_way": counts["done"] < counts["total"]}


@form_of("dataset", "name")
@costs("run")
def back_fill(request: HttpRequest, name: str) -> HttpResponse:
    """Ask for the runs of the last partitions, and return to the page."""
    dataset = dataset_of(name)
    demand(request, Action.RUN, dataset)
    now = clock.now()
    occasion = f"{request.user.get_username()[:40]}:{now.isoformat()}"
    try:
        with audited(request, "run.bulk", kind="dataset", key=dataset.full_name) as change:
            requested = request_all(dataset, last_partitions(dataset, BACK_FILLED, now), occasion=occasion, now=now)
            change.after = {"runs": [run.pk for run in requested.runs]}
        count = len(requested.runs)
        text = ngettext("%(count)s run is on the way.", "%(count)s runs are on the way.", count) % {"count": count}
        messages.success(request, text + " " + gettext("What they find is of the past: nobody is paged for it."))
    except UnableToRequest as unable:
        messages.error(request, in_english(f"{unable}."))
    return redirect("dataset", dataset.full_name)


MOST_METRICS = 500  # on the page; the API gives all


@page
def business_metrics_page(request: HttpRequest) -> HttpResponse:
    """Every business metric that whoever asks may see, with its status and newest value."""
    now, text = clock.now(), request.GET.get("q", "")[:LONGEST]
    rows = business_metrics().exclude(pk__in=hidden_datasets(request))
    matching = rows.filter(full_name__icontains=text) if text else rows
    context = {
        "here": "business-metrics",
        "now": now,
        "text": text,
        "are_there": rows.exists(),
        "more": max(0, matching.count() - MOST_METRICS),
        "shown": metric_summaries(list(matching[:MOST_METRICS]), Veil(now), now=now),
    }
    return render(request, "web/business_metrics.html", context)


@page
def business_metric_page(request: HttpRequest, name: str) -> HttpResponse:
    """One business metric; 404 for a table."""
    dataset = get_object_or_404(business_metrics(), name_key=name_key(name))
    demand(request, Action.READ, dataset)
    now = clock.now()
    veil = Veil(now)
    (metric,) = metric_summaries([dataset], veil, now=now)
    tests = live_tests(dataset, veil)
    band = next((live.test for live in tests if live.test.name == "band"), None)
    zoom = zoom_of(request)
    context = {
        "here": "business-metrics",
        "now": now,
        "dataset": dataset,
        "metric": metric,
        "use": may_use(dataset, **RangeForm(request.GET).values(), now=now),
        "use_spans": SPANS,
        "sources": sources_of(metric.definition, hidden_datasets(request), now=now),
        "quality": data_qualities([dataset.pk], now=now)[dataset.pk],
        "is_followed": dataset.followers.filter(user=request.user.pk).exists(),
        "tests": tests,
        "gaps": dataset.gaps.filter(closed_at=None),
        "incidents": (incidents := incidents_of(dataset)),
        "headlines": headlines_of(incidents, veil),
        "plot": plot_of_values(dataset, band, veil, zoom),
        "zoom": zoom,
    }
    return render(request, "web/business_metric.html", context)


def plot_of_values(dataset: Dataset, band: DataTest | None, veil: Veil, zoom: Zoom) -> Plot:
    """The newest values of a business metric, each with the band of its window where the past was long enough."""
    judged = {result.start: result for result in history(band, veil, zoom)} if band else {}
    values = [
        replace(judged[value.window.start], value=value.value, key=value.key)
        if value.window.start in judged
        else WindowResult(key=value.key, start=value.window.start, value=value.value, outcome=gettext("not judged"))
        for value in newest_values(dataset, veil, zoom.start, zoom.end)
    ]
    title = gettext("Values of the business metric against the band of its past")
    return plot_of(values, ChartUnit(), title=title, zone=zone(dataset.time_zone), period=(zoom.start, zoom.end))
