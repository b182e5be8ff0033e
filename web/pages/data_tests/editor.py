"""The pages of the editor, and what their buttons do: check while one types, measure the past, save, retire."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
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
from assay.catalog.profile import DatasetProfile
from assay.catalog.selectors import profile_of, slas, upstream_edges
from assay.database.name_keys import name_key
from assay.models import Category, Dataset, DataTest, Scope, Severity
from assay.time.durations import UnableToReadDuration, format_duration, parse_duration
from execution_engine.language.serialise import from_json
from execution_engine.language.tree import columns_named
from execution_engine.metrics.registry import SIGNATURES
from incident_manager.models import Report, ReportState, Saw
from incident_manager.services import UnableToBacktest, offer, untried_if_hard
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
from test_generator.suggestions.suggest import WIDTH, cost_of, free_name
from web.access.changes import audited
from web.access.throttles import costs
from web.access.typed import keep, typed_before, typed_in
from web.api.data_tests import DataTests
from web.pages.actions import complain
from web.pages.forms import NameField
from web.pages.page_policy import View, demand, form_of, page
from web.shown.status import in_english

from .assertion_words import completions, groups_of, parts_of, told
from .backtests import LengthField
from .past import shown_past, usual_scan

# What the form of the editor accepts, and how what is typed there is written for a catalog file.

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
    sustain = LengthField(required=False, max_length=20)
    suggestion = forms.IntegerField(required=False, min_value=1)
    report = forms.IntegerField(required=False, min_value=1)

    def definition(self) -> dict[str, Any]:
        """What a revision is made of."""
        given = self.cleaned_data
        return {
            "assertion": given["assertion"],
            "severity": given["severity"] or None,
            "schedule": given["schedule"].strip() or SCHEDULES[0],
            "sustain": given["sustain"],
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
    said = {name: typed.get(name, "").strip() for name in FIELDS}
    usual = {"category": Category.CUSTOM.value, "schedule": SCHEDULES[0]}
    test = {"dataset": dataset} | {name: text for name, text in said.items() if text and usual.get(name) != text}
    return yaml.safe_dump({"tests": [test]}, sort_keys=False, width=WIDTH, allow_unicode=True)


# What the editor begins with: a suggestion to be adjusted, or the test that a confirmed report missed.


def begun_with(request: HttpRequest, dataset: Dataset) -> dict[str, str]:
    """The fields of a new test, by the address that led here; empty where it names nothing."""
    asked = request.GET
    if offer := next((row for row in offers_of(dataset) if str(row.pk) == asked.get("suggestion")), None):
        return _of_suggestion(offer)
    if (key := asked.get("report", "")).isdecimal() and len(key) < 10:
        rows = Report.objects.filter(pk=key, dataset=dataset, state=ReportState.CONFIRMED)
        if report := rows.first():
            return _of_report(report, dataset)
    return {name: asked[name] for name in FIELDS if name in asked}


def _of_suggestion(offer: Offer) -> dict[str, str]:
    one = suggestion_of(offer)
    taken = offer.dataset.data_tests.values_list("name", flat=True)
    return {
        "name": free_name(one.name, taken),
        "assertion": one.assertion,
        "category": one.category,
        "severity": Severity.SOFT.value,
        "suggestion": str(offer.pk),
    }


def _of_report(report: Report, dataset: Dataset) -> dict[str, str]:
    category = Saw(report.saw).category
    taken = dataset.data_tests.values_list("name", flat=True)
    return {
        "name": free_name(report.saw, taken),
        "assertion": missing_test(category, dataset),
        "category": category.value,
        "severity": Severity.SOFT.value,
        "report": str(report.pk),
    }


def missing_test(category: Category, dataset: Dataset) -> str:
    """An assertion that would have seen such a fault, to be adjusted; of values, that they are like those before."""
    if dataset.business_metric is not None:
        return "anomaly(value(), last=28) <= 1"
    written = ASSERTIONS.get(category)
    return (written(profile_of(dataset), dataset) if written else "") or "novelty() <= 1"


def _late(own: DatasetProfile, dataset: Dataset) -> str:
    return f"freshness(complete=0.999) < {format_duration(slas(dataset).freshness)}"


def _rows_missing(own: DatasetProfile, dataset: Dataset) -> str:
    upstream = next((edge.upstream for edge in upstream_edges(dataset) if edge.one_to_one), None)
    if upstream is None:
        return "row_count() >= 0.9 * median(row_count(), last=7)"
    quoted = upstream.full_name.replace("'", "''")
    return f"row_count() / row_count(dataset='{quoted}') between 0.999 and 1.001"


def _rows_twice(own: DatasetProfile, dataset: Dataset) -> str:
    key = ", ".join(own.primary_key)
    return f"1 - distinct_count({key}) / row_count() <= 0" if key else ""


def _copies_differ(own: DatasetProfile, dataset: Dataset) -> str:
    others = [replica.datacenter for replica in own.replicas[1:]]
    if not others:
        return ""
    return f"least(row_count(), row_count(datacenter='{others[0]}')) / row_count() >= 0.999"


ASSERTIONS: Mapping[Category, Callable[[DatasetProfile, Dataset], str]] = {
    Category.FRESHNESS: _late,
    Category.COMPLETENESS: _rows_missing,
    Category.DUPLICATES: _rows_twice,
    Category.CONSISTENCY: _copies_differ,
}


Shown = dict[str, Any]


@page
def new_page(request: HttpRequest, name: str) -> HttpResponse:
    """An editor with nothing in it, or with what the address says."""
    dataset = _dataset(name)
    demand(request, Action.TEST, dataset)
    before = typed_before(request)
    return _shown(request, dataset, None, next(iter(before.values()), {}) or begun_with(request, dataset))


@page
def edit_page(request: HttpRequest, name: str, pk: str) -> HttpResponse:
    """An editor with a written test; of one that nobody edits by hand, how it is changed."""
    dataset, test = _both(name, pk)
    demand(request, Action.TEST, dataset)
    before = typed_before(request)
    typed = typed_of(test) | {key: request.GET[key] for key in ("assertion", "sustain") if key in request.GET}
    return _shown(request, dataset, test, typed | next(iter(before.values()), {}))


def form_of_editor(view: View) -> View:
    """The view as what the editor's form does, on the page of a new test or of a written one."""
    new, edit = form_of("test-new", "name")(view), form_of("test-edit", "name", "pk")(view)

    @wraps(view)
    def answered(request: HttpRequest, **given: Any) -> HttpResponseBase:
        return (edit if "pk" in given else new)(request, **given)

    return answered


@form_of_editor
@costs("read")
def check(request: HttpRequest, name: str, pk: str | None = None) -> HttpResponse:
    """What is typed, checked and tried on the past; to a script only that, else the whole page with it."""
    return _looked_at(request, name, pk)


@form_of_editor
@costs("run")
def measure(request: HttpRequest, name: str, pk: str | None = None) -> HttpResponse:
    """The same, and ask for what was never measured in the last windows."""
    dataset = _dataset(name)
    demand(request, Action.RUN, dataset)
    with audited(request, "backtest.measure", kind="backtest", given={"assertion": request.POST.get("assertion", "")}):
        return _looked_at(request, name, pk, measure=True)


@form_of_editor
def save(request: HttpRequest, name: str, pk: str | None = None) -> HttpResponse:
    """Write the test, or a new revision of it, and go to its results."""
    dataset, test = _both(name, pk)
    demand(request, Action.TEST, dataset)
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
    dataset, test = _both(name, pk)
    demand(request, Action.TEST, dataset)
    assert test is not None
    if refused := not_edited(test):
        messages.error(request, in_english(f"{refused.why} {refused.mend}"))
        return redirect(_home(dataset, test))
    with audited(request, "data-test.retire", kind=DataTests.kind, key=test.pk, look=DataTests.picture):
        retire(test, now=clock.now())
    messages.success(request, gettext("Retired: %(name)s runs no more. Its results stay.") % {"name": test.name})
    return redirect("dataset", dataset.full_name)


def _looked_at(request: HttpRequest, name: str, pk: str | None, *, measure: bool = False) -> HttpResponse:
    dataset, test = _both(name, pk)
    demand(request, Action.TEST, dataset)
    typed = {key: str(value) for key, value in request.POST.items()}
    if request.headers.get("HX-Request"):
        context = _checked(dataset, test, typed, clock.now(), measure=measure)
        return render(request, "web/_checked.html", context | {"is_part": True})
    return _shown(request, dataset, test, typed, measure=measure)


def _shown(
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
        "completions": completions([(each["name"], each["type"]) for each in dataset.columns], SIGNATURES),
        **_checked(dataset, test, typed, now, measure=measure),
    }
    return render(request, "web/editor.html", context)


def _checked(
    dataset: Dataset, test: DataTest | None, typed: Mapping[str, str], now: datetime, *, measure: bool
) -> Shown:
    """What is said of what is typed; where nothing is typed, nothing."""
    assertion = typed.get("assertion", "")
    context: Shown = {
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
        tried = _tried(dataset, test, assertion, typed)
        assert tried.revision is not None
        tree = from_json(tried.revision.tree)
        context |= {
            "told": told(tree),
            "groups": groups_of(tree),
            "columns": columns_named(tree),
            "cost": cost_of(assertion),
            "scan": usual_scan(dataset),
        }
        sustain = parse_duration(typed["sustain"]) if typed.get("sustain", "").strip() else None
        context |= {"past": shown_past(dataset, tried, sustain=sustain, now=now, measure=measure)}
    except UnableToWrite as unable:
        context |= {"wrong": str(unable), "wrong_parts": parts_of(str(unable))}
    except UnableToReadDuration as unable:
        context["no_past"] = f"Fails after: {unable}"
    except UnableToBacktest as unable:
        context["no_past"] = str(unable)
    return context


def _tried(dataset: Dataset, test: DataTest | None, assertion: str, typed: Mapping[str, str]) -> DataTest:
    """The written test where it asserts this already, so that its own results count; else a draft."""
    if test is not None and test.revision is not None and test.revision.assertion == assertion:
        return test
    tried = draft(dataset, assertion, category=typed.get("category") or Category.CUSTOM)
    if typed.get("schedule") == "weekly" or (test is not None and test.scope == Scope.TABLE):
        tried.scope = Scope.TABLE
    return tried


def _save(request: HttpRequest, dataset: Dataset, test: DataTest | None, form: EditorForm) -> DataTest:
    author, now, given = request.user.get_username(), clock.now(), form.definition()
    before = test.revision.severity if test and test.revision else None
    severity = given["severity"] or before or slas(dataset).severity
    schedule = "weekly" if test and test.scope == Scope.TABLE else given["schedule"]
    why = untried_if_hard(dataset, given["assertion"], severity, now, schedule=schedule) if severity != before else None
    if why is not None:
        raise UnableToWrite(f"It cannot be hard yet: {why}. Measure the last windows below, or make it soft.")
    if test is not None:
        if refused := not_edited(test):
            raise UnableToWrite(f"{refused.why} {refused.mend}")
        changes = {name: value for name, value in given.items() if value is not None}
        with audited(
            request, "data-test.revise", kind=DataTests.kind, key=test.pk, look=DataTests.picture, given=changes
        ):
            return revise(test, replace(Definition.of(test.revision), **changes), author=author, now=now)
    asked = form.cleaned_data
    given |= {"name": asked["name"].strip(), "category": asked["category"] or Category.CUSTOM}
    with audited(request, "data-test.create", kind=DataTests.kind, look=DataTests.picture, given=given) as change:
        written = write_data_test(dataset=dataset, **given, author=author, now=now)
        change.key = written.pk
        row = Offer.objects.filter(pk=asked["suggestion"], dataset=dataset).first()
        if row is not None:
            accept_adjusted(row, written, author=author, now=now)
        report = Report.objects.filter(pk=asked["report"], dataset=dataset, state=ReportState.CONFIRMED).first()
        if report is not None:
            offer(report, written, now=now)
    return written


def _home(dataset: Dataset, test: DataTest | None) -> str:
    if test is None:
        return reverse("test-new", args=[dataset.full_name])
    return reverse("test-edit", args=[dataset.full_name, test.pk])


def _dataset(name: str) -> Dataset:
    return get_object_or_404(Dataset.objects.prefetch_related("replicas"), name_key=name_key(name))


def _both(name: str, pk: str | None) -> tuple[Dataset, Any]:
    """The dataset, and its test of this id, None where there is none to be edited."""
    dataset = _dataset(name)
    if pk is None:
        return dataset, None
    written = DataTest.objects.filter(dataset=dataset, revision__isnull=False).select_related("dataset", "revision")
    return dataset, get_object_or_404(written, pk=pk)
