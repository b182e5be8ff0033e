"""The editor of tests: what an assertion would have found in the past, and what the buttons do."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import wraps
from typing import Any

import yaml
from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from assay import clock
from assay.access import Action
from assay.catalog.selectors import profile_of, slas, upstream_edges
from assay.models import Category, Dataset, DataTest, Scope, Severity
from assay.time.durations import UnableToReadDuration, format_duration, parse_duration
from assay.time.windows import zone
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import Assertion, columns_named
from execution_engine.metrics.registry import SIGNATURES
from execution_engine.models import Scan
from execution_engine.outcome import Outcome
from execution_engine.runs.shown_results import Veil
from incident_manager.backtests.services import Backtest, run_of
from incident_manager.models import Report, ReportState, Saw
from incident_manager.services import UnableToBacktest, backtest, offer, untried_if_hard
from test_generator.definition import Definition
from test_generator.models import Offer
from test_generator.offers import offers_of, suggestion_of
from test_generator.services import (
    UnableToDecide,
    UnableToWrite,
    accept_adjusted,
    draft,
    not_edited,
    retire,
    revise,
    write_data_test,
)
from test_generator.suggestions.suggest import WIDTH as YAML_WIDTH
from test_generator.suggestions.suggest import cost_of, free_name
from web.access.changes import audited
from web.access.logins import keep, typed_before, typed_in
from web.access.throttles import costs
from web.api.data_tests import DataTests
from web.rendering.charts import ChartUnit, WindowResult, plot_of, unit_of
from web.rendering.status import DisplayStatus, in_english

from .assertion_words import completions, datasets_of, describe_operands, groups_of, parts_of
from .days import backtest_results
from .page_policy import LengthFormField, NameField, View, complain, dataset_of, demand, form_of, page


@dataclass(frozen=True, kw_only=True)
class PastRow:
    """One window as people read it."""

    result: WindowResult
    status: DisplayStatus
    word: str
    value: str = "–"
    said: str = ""


WINDOWS = 30


def past_rows(
    dataset: Dataset, test: DataTest, *, sustain: timedelta | None, now: datetime, measure: bool = False
) -> dict[str, Any]:
    """What the last windows that were due show; ``measure`` asks for what was never measured.

    ``reading`` is how many scans are under way for windows that were never measured. Raises UnableToBacktest.
    """
    assert test.revision is not None
    start = first_of_last(dataset, now)
    past_report = backtest(test, start=start, end=now, now=now, sustain=sustain, measure=measure)
    tree = from_json(test.revision.tree)
    rows = _rows(past_report, tree, hides=Veil(now).hides(test.revision, dataset))
    title, zone_of_data = gettext("Values of the last windows with their bounds"), zone(dataset.time_zone)
    names = [dataset.full_name, *datasets_of(tree)]
    scans = Scan.objects.filter(dataset__full_name__in=names, ended_at__isnull=True, window_start__gte=start)
    return {
        "rows": rows[::-1],
        "found": past_report,
        "plot": plot_of([row.result for row in rows], unit_of(tree, test.category), title=title, zone=zone_of_data),
        "reading": scans.count() if past_report.missing else 0,
        "measured": len(past_report.windows),
        "seconds": None if past_report.seconds is None else max(1, round(past_report.seconds.total_seconds())),
    }


def first_of_last(dataset: Dataset, now: datetime) -> datetime:
    """When the first of the last windows that were due starts; raises UnableToBacktest without partitions."""
    partitioning = dataset.partitioning
    if partitioning is None:
        raise UnableToBacktest(
            f"{dataset.full_name} has no partitions: a test reads the whole table as it is now, and so has no past"
        )
    at = now - slas(dataset).freshness
    newest = partitioning.at(at)
    if newest.end > at:
        (newest,) = partitioning.previous(newest)
    return partitioning.previous(newest, WINDOWS - 1)[0].start


def _rows(past_report: Backtest, tree: Assertion, *, hides: bool) -> list[PastRow]:
    unit = unit_of(tree, past_report.test.category)
    failed = {window.start for incident in past_report.raised.incidents for window in incident.windows}
    sentences = {} if hides else {result.window.start: run_of(result).sentence for result in past_report.windows}
    rows = []
    for result in backtest_results(past_report, tree, hides=hides):
        start = result.start
        if start in sentences:
            rows.append(_row(result, sentences[start], unit, is_failed=start in failed))
        else:
            rows.append(PastRow(result=result, status=DisplayStatus.NONE, word=result.outcome, said=result.why))
    return rows


def _row(result: WindowResult, sentence: str, unit: ChartUnit, *, is_failed: bool) -> PastRow:
    match result.outcome:
        case Outcome.HELD:
            status, word = DisplayStatus.PASS, gettext("held")
        case Outcome.BROKEN if is_failed:
            status, word = DisplayStatus.FAIL, gettext("broken: FAIL")
        case Outcome.BROKEN:
            status, word = DisplayStatus.WARN, gettext("broken: WARN only")
        case _:
            status, word = DisplayStatus.LEARNING, gettext("not judged")
    return PastRow(result=result, status=status, word=word, value=unit.text(result.value), said=sentence)


SCHEDULES = ("partition", "weekly")
FIELDS = ("name", "assertion", "category", "severity", "schedule", "sustain")
LONGEST = 4096  # characters of an assertion


class EditorForm(forms.Form):
    """A user's test; what is left out is as the dataset has it."""

    name = NameField(max_length=300)
    assertion = forms.CharField(max_length=LONGEST)
    category = forms.ChoiceField(required=False, choices=Category.choices)
    severity = forms.ChoiceField(required=False, choices=[("", ""), *Severity.choices])
    schedule = NameField(required=False, max_length=120)
    sustain = LengthFormField(required=False, max_length=20)
    suggestion = forms.IntegerField(required=False, min_value=1)
    report = forms.IntegerField(required=False, min_value=1)

    def definition(self) -> dict[str, Any]:
        """What a revision is made of."""
        fields = self.cleaned_data
        return {
            "assertion": fields["assertion"],
            "severity": fields["severity"] or None,
            "schedule": fields["schedule"].strip() or SCHEDULES[0],
            "sustain": fields["sustain"],
        }


def typed_of(test: DataTest) -> dict[str, str]:
    """The fields of a written test."""
    revision = test.revision
    assert revision is not None
    return {
        "name": test.name,
        "assertion": revision.assertion,
        "category": test.category,
        "severity": revision.severity,
        "schedule": revision.schedule,
        "sustain": format_duration(revision.sustain),
    }


def as_yaml(dataset: str, typed: Mapping[str, str]) -> str:
    """The test as a catalog file says it, without what it leaves to the dataset."""
    texts = {name: typed.get(name, "").strip() for name in FIELDS}
    usual = {"category": Category.CUSTOM.value, "schedule": SCHEDULES[0]}
    test = {"dataset": dataset} | {name: text for name, text in texts.items() if text and usual.get(name) != text}
    return yaml.safe_dump({"tests": [test]}, sort_keys=False, width=YAML_WIDTH, allow_unicode=True)


def begun_with(request: HttpRequest, dataset: Dataset) -> dict[str, str]:
    """The fields of a new test, by the address that led here; empty where it names nothing.

    It begins with a suggestion to be adjusted, with the test that a confirmed report missed, or with one of a category
    that has none.
    """
    query = request.GET
    if offer := next((row for row in offers_of(dataset) if str(row.pk) == query.get("suggestion")), None):
        suggestion = suggestion_of(offer)
        return {
            "name": free_name(suggestion.name, dataset.data_tests.values_list("name", flat=True)),
            "assertion": suggestion.assertion,
            "category": suggestion.category,
            "severity": Severity.SOFT.value,
            "suggestion": str(offer.pk),
        }
    key = query.get("report", "")
    confirmed = Report.objects.filter(dataset=dataset, state=ReportState.CONFIRMED)
    if key.isdecimal() and len(key) < 10 and (report := confirmed.filter(pk=key).first()):
        return _begun_with_missing(dataset, Saw(report.saw).category, report.saw) | {"report": str(report.pk)}
    if query.get("missing") in Category.values:
        return _begun_with_missing(dataset, Category(query["missing"]), query["missing"])
    return {name: query[name] for name in FIELDS if name in query}


def _begun_with_missing(dataset: Dataset, category: Category, name: str) -> dict[str, str]:
    return {
        "name": free_name(name, dataset.data_tests.values_list("name", flat=True)),
        "assertion": missing_test(category, dataset),
        "category": category.value,
        "severity": Severity.SOFT.value,
    }


def missing_test(category: Category, dataset: Dataset) -> str:
    """An assertion that would have seen such a fault, to be adjusted; of values, that they are like those before."""
    if dataset.business_metric is not None:
        return "anomaly(value(), last=28) <= 1"
    profile = profile_of(dataset)
    match category:
        case Category.FRESHNESS:
            return f"freshness(complete=0.999) < {format_duration(slas(dataset).freshness)}"
        case Category.COMPLETENESS:
            upstream = next((edge.upstream for edge in upstream_edges(dataset) if edge.one_to_one), None)
            if upstream is None:
                return "row_count() >= 0.9 * median(row_count(), last=7)"
            quoted = upstream.full_name.replace("'", "''")
            return f"row_count() / row_count(dataset='{quoted}') between 0.999 and 1.001"
        case Category.DUPLICATES if keys := profile.primary_key or tuple(column.name for column in profile.columns[:1]):
            return f"1 - distinct_count({', '.join(keys)}) / row_count() <= 0"
        case Category.CONSISTENCY if len(profile.replicas) > 1:
            other = profile.replicas[1].datacenter
            return f"least(row_count(), row_count(datacenter='{other}')) / row_count() >= 0.999"
    return "novelty() <= 1"


@page
def new_page(request: HttpRequest, name: str) -> HttpResponse:
    """An editor with nothing in it, or with what the address says."""
    dataset, _ = _dataset_and_test(request, name, None)
    before = typed_before(request)
    return _render_editor(request, dataset, None, next(iter(before.values()), {}) or begun_with(request, dataset))


@page
def edit_page(request: HttpRequest, name: str, pk: str) -> HttpResponse:
    """An editor with a written test; of one that nobody edits by hand, how it is changed."""
    dataset, test = _dataset_and_test(request, name, pk)
    before = typed_before(request)
    typed = typed_of(test) | {key: request.GET[key] for key in ("assertion", "sustain") if key in request.GET}
    return _render_editor(request, dataset, test, typed | next(iter(before.values()), {}))


def form_of_editor(view: View) -> View:
    """The view as what the editor's form does, on the page of a new test or of a written one."""
    new, edit = form_of("test-new", "name")(view), form_of("test-edit", "name", "pk")(view)

    @wraps(view)
    def answered(request: HttpRequest, **arguments: Any) -> HttpResponseBase:
        return (edit if "pk" in arguments else new)(request, **arguments)

    return answered


@form_of_editor
@costs("read")
def check(request: HttpRequest, name: str, pk: str | None = None) -> HttpResponse:
    """What is typed, checked and tried on the past; to a script only that, else the whole page with it."""
    return _render_check(request, name, pk)


@form_of_editor
@costs("run")
def measure(request: HttpRequest, name: str, pk: str | None = None) -> HttpResponse:
    """The same, and ask for what was never measured in the last windows."""
    dataset = dataset_of(name)
    demand(request, Action.RUN, dataset)
    details = {"assertion": request.POST.get("assertion", "")}
    with audited(request, "backtest.measure", kind="backtest", details=details):
        return _render_check(request, name, pk, measure=True)


@form_of_editor
def save(request: HttpRequest, name: str, pk: str | None = None) -> HttpResponse:
    """Write the test, or a new revision of it, and go to its results."""
    dataset, test = _dataset_and_test(request, name, pk)
    home = _home(dataset, test)
    form = EditorForm(request.POST.dict() | ({"name": test.name} if test else {}))
    if not form.is_valid():
        return complain(request, form, home)
    try:
        saved = _save(request, dataset, test, form)
    except (UnableToWrite, UnableToDecide) as unable:
        messages.error(request, format_html("{} {}", gettext("Not saved."), in_english(str(unable).splitlines()[0])))
        keep(request, typed_in(request, home))
        return redirect(home)
    assert saved.revision is not None
    messages.success(request, gettext("Saved: %(name)s is judged from its next window on.") % {"name": saved.name})
    return redirect(reverse("dataset", args=[dataset.full_name]) + f"?test={saved.pk}#plot")


@form_of_editor
def retire_test(request: HttpRequest, name: str, pk: str) -> HttpResponse:
    """End a user's test; its results stay."""
    dataset, test = _dataset_and_test(request, name, pk)
    assert test is not None
    if refused := not_edited(test):
        messages.error(request, in_english(f"{refused.why} {refused.mend}"))
        return redirect(_home(dataset, test))
    with audited(request, "data-test.retire", kind=DataTests.kind, key=test.pk, look=DataTests.picture):
        retire(test, now=clock.now())
    messages.success(request, gettext("Retired: %(name)s runs no more. Its results stay.") % {"name": test.name})
    return redirect("dataset", dataset.full_name)


def _render_check(request: HttpRequest, name: str, pk: str | None, *, measure: bool = False) -> HttpResponse:
    dataset, test = _dataset_and_test(request, name, pk)
    typed = {key: str(value) for key, value in request.POST.items()}
    if request.headers.get("HX-Request"):
        context = _check_context(dataset, test, typed, clock.now(), measure=measure)
        return render(request, "web/_checked.html", context | {"is_part": True})
    return _render_editor(request, dataset, test, typed, measure=measure)


def _render_editor(
    request: HttpRequest, dataset: Dataset, test: DataTest | None, typed: Mapping[str, str], *, measure: bool = False
) -> HttpResponse:
    now = clock.now()
    context = {
        "dataset": dataset,
        "test": test,
        "now": now,
        "not_edited": not_edited(test) if test else None,
        "categories": Category.values,
        "severities": Severity.values,
        "schedules": SCHEDULES,
        "longest": LONGEST,
        "completions": completions([(column["name"], column["type"]) for column in dataset.columns], SIGNATURES),
        **_check_context(dataset, test, typed, now, measure=measure),
    }
    return render(request, "web/editor.html", context)


def _check_context(
    dataset: Dataset, test: DataTest | None, typed: Mapping[str, str], now: datetime, *, measure: bool
) -> dict[str, Any]:
    """What is said of what is typed; where nothing is typed, nothing."""
    assertion = typed.get("assertion", "")
    context: dict[str, Any] = {
        "dataset": dataset,
        "test": test,
        "typed": typed,
        "form_home": _home(dataset, test),
        "yaml": as_yaml(dataset.full_name, typed),
        "assertion": assertion,
    }
    if not assertion.strip():
        return context
    try:
        if test is not None and test.revision is not None and test.revision.assertion == assertion:
            tried = test  # so that its own results count
        else:
            tried = draft(dataset, assertion, category=typed.get("category") or Category.CUSTOM)
            if typed.get("schedule") == "weekly" or (test is not None and test.scope == Scope.TABLE):
                tried.scope = Scope.TABLE
        assert tried.revision is not None
        tree = from_json(tried.revision.tree)
        scans = Scan.objects.filter(dataset=dataset, ended_at__isnull=False, taken__gt=0)
        context |= {
            "told": describe_operands(tree),
            "groups": groups_of(tree),
            "columns": columns_named(tree),
            "cost": cost_of(assertion),
            "scan": scans.order_by("-ended_at").first(),
        }
        sustain = parse_duration(typed["sustain"]) if typed.get("sustain", "").strip() else None
        context |= {"past": past_rows(dataset, tried, sustain=sustain, now=now, measure=measure)}
    except UnableToWrite as unable:
        context |= {"wrong": str(unable), "wrong_parts": parts_of(str(unable))}
    except UnableToReadDuration as unable:
        context["no_past"] = f"Fails after: {unable}"
    except UnableToBacktest as unable:
        context["no_past"] = str(unable)
    return context


def _save(request: HttpRequest, dataset: Dataset, test: DataTest | None, form: EditorForm) -> DataTest:
    author, now, fields = request.user.get_username(), clock.now(), form.definition()
    before = test.revision.severity if test and test.revision else None
    severity = fields["severity"] or before or slas(dataset).severity
    schedule = "weekly" if test and test.scope == Scope.TABLE else fields["schedule"]
    why = (
        untried_if_hard(dataset, fields["assertion"], severity, now, schedule=schedule) if severity != before else None
    )
    if why is not None:
        raise UnableToWrite(f"It cannot be hard yet: {why}. Measure the last windows below, or make it soft.")
    if test is not None:
        if refused := not_edited(test):
            raise UnableToWrite(f"{refused.why} {refused.mend}")
        changes = {name: value for name, value in fields.items() if value is not None}
        with audited(
            request, "data-test.revise", kind=DataTests.kind, key=test.pk, look=DataTests.picture, details=changes
        ):
            return revise(test, replace(Definition.of(test.revision), **changes), author=author, now=now)
    typed = form.cleaned_data
    fields |= {"name": typed["name"].strip(), "category": typed["category"] or Category.CUSTOM}
    with audited(request, "data-test.create", kind=DataTests.kind, look=DataTests.picture, details=fields) as change:
        written = write_data_test(dataset=dataset, **fields, author=author, now=now)
        change.key = written.pk
        for row in Offer.objects.filter(pk=typed["suggestion"], dataset=dataset):
            accept_adjusted(row, written, author=author, now=now)
        for report in Report.objects.filter(pk=typed["report"], dataset=dataset, state=ReportState.CONFIRMED):
            offer(report, written, now=now)
    return written


def _home(dataset: Dataset, test: DataTest | None) -> str:
    if test is None:
        return reverse("test-new", args=[dataset.full_name])
    return reverse("test-edit", args=[dataset.full_name, test.pk])


def _dataset_and_test(request: HttpRequest, name: str, pk: str | None) -> tuple[Dataset, Any]:
    """The dataset, which whoever asks may test, and its test of this id, None where there is none to be edited."""
    dataset = dataset_of(name)
    written = DataTest.objects.filter(dataset=dataset, revision__isnull=False).select_related("dataset", "revision")
    test = None if pk is None else get_object_or_404(written, pk=pk)
    demand(request, Action.TEST, dataset)
    return dataset, test
