"""The pages of the editor, and what their buttons do: check while one types, measure the past, save, retire."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import wraps
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from assay import clock
from assay.access.roles import Action
from assay.catalog.selectors import slas
from assay.database.name_keys import name_key
from assay.models import Category, Dataset, DataTest, Scope, Severity
from assay.time.durations import UnableToReadDuration, parse_duration
from execution_engine.language.operands import columns_named
from execution_engine.language.serialise import from_json
from execution_engine.metrics.registry import SIGNATURES
from incident_manager.models import Report, ReportState
from incident_manager.services import UnableToBacktest, offer, untried_if_hard
from test_generator.definition import Definition
from test_generator.models import Offer
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
from test_generator.suggestions.suggest import cost_of
from web.access.changes import audited
from web.access.throttles import costs
from web.access.typed import keep, typed_before, typed_in
from web.api.catalog.data_tests import DataTests
from web.pages.actions import complain
from web.pages.page_policy import View, demand, form_of, page
from web.shown.words import in_english

from .form import LONGEST, SCHEDULES, EditorForm, as_yaml, typed_of
from .past import shown_past, usual_scan
from .prefill import begun_with
from .told import completions, groups_of, parts_of, told

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
