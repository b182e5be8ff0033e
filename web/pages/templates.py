"""Templates: those there are, those to begin with, one that is written here, and bindings of pipelines to tests."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext

from assay import clock
from assay.access import Action, Owned
from assay.catalog.locations import PUSHED
from assay.catalog.profile import TemplateProfile
from assay.catalog.services import UnableToShare
from assay.models import Binding, Category, DataTest, Severity, Strength
from test_generator.models import Gap, RuleTemplate
from test_generator.pushed_rules import (
    UnableToReadTemplate,
    as_written,
    library,
    preview,
    read_template,
    remove_binding,
    remove_template,
    write_binding,
    write_template,
)
from test_generator.services import UnableToWrite
from test_generator.templates.services import template_of, template_summaries
from web.access.logins import keep, typed_before, typed_in
from web.access.throttles import costs
from web.access.who import hidden_datasets, may, person_of
from web.api.templates import Bindings, Templates, objection_to, owners_of
from web.rendering.status import in_english

from .page_policy import NameField, changing, complain, dataset_of, demand, form_of, page

MOST_GAPS = 100
KINDS = ("numeric", "text", "temporal")
LISTS = ("tags", "names", "owners")  # of a selector, which the form has as texts with commas
ANYBODY = Owned(name="all datasets", owner="", team="")
REFUSALS = (UnableToReadTemplate, UnableToWrite, UnableToShare)


@page
def templates_page(request: HttpRequest) -> HttpResponse:
    """Every template, the ready ones, and the gaps of datasets that whoever asks may see."""
    open_gaps = Gap.objects.exclude(template="").filter(closed_at=None).exclude(dataset__in=hidden_datasets(request))
    gaps = open_gaps.select_related("dataset").order_by("template", "dataset__full_name")
    shown = template_summaries(RuleTemplate.objects.order_by("name"))
    names = {summary.profile.name.casefold() for summary in shown}
    context = {
        "here": "templates",
        "shown": shown,
        "editable": [row.row.pk for row in shown if row.row.source == PUSHED and may_write(request, row.profile)],
        "library": [template for name, template in library().items() if name.casefold() not in names],
        "may_test": may(request, Action.TEST),
        "gaps": gaps[:MOST_GAPS],
        "more": max(0, gaps.count() - MOST_GAPS),
    }
    return render(request, "web/templates.html", context)


def may_write(request: HttpRequest, template: TemplateProfile) -> bool:
    """Whether whoever asks may write a template that selects these owners' datasets."""
    return all(may(request, Action.TEST, owned) for owned in owners_of(template))


class TemplateForm(forms.Form):
    """A template as it is typed; lists are texts with commas, parameters are lines."""

    name = NameField(max_length=128)
    assertion = forms.CharField(max_length=4096)
    parameters = forms.CharField(required=False, max_length=4096)
    tiers = forms.CharField(required=False, max_length=40)
    tags = forms.CharField(required=False, max_length=1000)
    names = forms.CharField(required=False, max_length=1000)
    owners = forms.CharField(required=False, max_length=1000)
    columns = forms.CharField(required=False, max_length=1000)
    kinds = forms.MultipleChoiceField(required=False, choices=[(kind, kind) for kind in KINDS])
    severity = forms.ChoiceField(required=False, choices=[("", ""), *Severity.choices])
    category = forms.ChoiceField(required=False, choices=Category.choices)

    def body(self, before: Mapping[str, Any]) -> dict[str, Any]:
        """What a catalog file would say; what the form has no field for stays as it was ``before``."""
        fields = self.cleaned_data
        selector: dict[str, Any] = {"except": before.get("selector", {}).get("except")}
        selector |= {name: _words(fields[name]) for name in LISTS}
        selector["tiers"] = [int(tier) if tier.isdecimal() else tier for tier in _words(fields["tiers"])]
        if fields["columns"] or fields["kinds"]:
            selector["columns"] = {"names": _words(fields["columns"]), "kinds": fields["kinds"]}
        body = {
            **before,
            "name": before.get("name") or fields["name"],
            "assertion": fields["assertion"],
            "parameters": _parameters(fields["parameters"]),
            "selector": {name: value for name, value in selector.items() if value},
            "severity": fields["severity"],
            "category": fields["category"] or Category.CUSTOM.value,
        }
        return {name: value for name, value in body.items() if value not in ("", None)}


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _parameters(text: str) -> dict[str, str]:
    pairs = (line.partition("=") for line in text.splitlines() if line.strip())
    return {name.strip(): value.strip() for name, _, value in pairs}


def typed_of(template: TemplateProfile) -> dict[str, Any]:
    """The fields of the form, as a template has them."""
    body = as_written(template)
    selector = body["selector"]
    columns = selector.get("columns")
    return {
        "name": template.name,
        "assertion": template.assertion,
        "parameters": "\n".join(f"{name} = {value}" for name, value in template.parameters.items()),
        "tiers": ", ".join(map(str, selector.get("tiers", ()))),
        **{name: ", ".join(selector.get(name, ())) for name in LISTS},
        "columns": "" if columns is None else ", ".join(columns.get("names", () if columns else ("*",))),
        "kinds": (columns or {}).get("kinds", []),
        "severity": template.severity or "",
        "category": template.category,
    }


@page
def template_page(request: HttpRequest) -> HttpResponse:
    """A form with nothing in it, with a ready template, or with one that is written."""
    demand(request, Action.TEST, None)
    row, ready = _row_of(request.GET.get("of", "")), library().get(request.GET.get("ready", ""))
    template = template_of(row) if row else ready
    typed = next(iter(typed_before(request).values()), {}) or (typed_of(template) if template else {})
    return _render_form(request, row, ready, typed)


@form_of("template-write")
@costs("read")
def preview_template(request: HttpRequest) -> HttpResponse:
    """The form again, with what the template would make, or with what is wrong in it."""
    demand(request, Action.TEST, None)
    row, ready = _row_of(request.POST.get("of", "")), library().get(request.POST.get("ready", ""))
    form = TemplateForm(request.POST)
    typed: dict[str, Any] = {name: request.POST.get(name, "") for name in form.fields}
    typed["kinds"] = request.POST.getlist("kinds")
    if not form.is_valid():
        return complain(request, form, _address(row, ready))
    context: dict[str, Any] = {}
    try:
        context["preview"] = preview(read_template(form.body(_before(row, ready))), hidden=hidden_datasets(request))
    except UnableToReadTemplate as unable:
        context["wrong"] = unable.problems
    return _render_form(request, row, ready, typed, **context)


@form_of("template-write")
def save_template(request: HttpRequest) -> HttpResponse:
    """Write the template and go to the list; what is refused is said above the form."""
    row, ready = _row_of(request.POST.get("of", "")), library().get(request.POST.get("ready", ""))
    form, home = TemplateForm(request.POST), _address(row, ready)
    if not form.is_valid():
        return complain(request, form, home)
    try:
        template = read_template(form.body(_before(row, ready)))
        for owned in owners_of(template) + (owners_of(template_of(row)) if row else []):
            demand(request, Action.TEST, owned)
        _save(request, template, row)
    except REFUSALS as unable:
        messages.error(request, format_html("{} {}", gettext("Not saved."), in_english(str(unable))))
        keep(request, typed_in(request, home))
        return redirect(home)
    messages.success(
        request, gettext("Saved: the tests of %(name)s are made within a minute.") % {"name": template.name}
    )
    return redirect("templates")


def _save(request: HttpRequest, template: TemplateProfile, row: RuleTemplate | None) -> None:
    if row is None and RuleTemplate.objects.filter(name__iexact=template.name).exists():
        raise UnableToWrite(f"there is a template {template.name!r}: take another name")
    if why := objection_to(template):
        raise UnableToWrite(why)
    author, details = request.user.get_username(), as_written(template)
    with changing(request, Templates, "update" if row else "create", key=template.name, details=details, refusal=()):
        write_template(template, author=author, now=clock.now())


@form_of("templates")
def submit_removal(request: HttpRequest) -> HttpResponse:
    """Take a template away that page or API wrote."""
    row = get_object_or_404(RuleTemplate, name=request.POST.get("of", ""))
    for owned in owners_of(template_of(row)):
        demand(request, Action.TEST, owned)
    with changing(request, Templates, "destroy", key=row.name, refusal=UnableToShare):
        remove_template(row, now=clock.now())
        messages.success(
            request, gettext("Removed: the tests of %(name)s are retired after a day.") % {"name": row.name}
        )
    return redirect("templates")


def _row_of(name: str) -> RuleTemplate | None:
    return RuleTemplate.objects.filter(name=name, source=PUSHED).first() if name else None


def _before(row: RuleTemplate | None, ready: TemplateProfile | None) -> dict[str, Any]:
    """What the form has no field for, and of one that is written its name."""
    if row is not None:
        return as_written(template_of(row))
    return {} if ready is None else {**as_written(ready), "name": ""}


def _address(row: RuleTemplate | None, ready: TemplateProfile | None) -> str:
    query = {"of": row.name} if row else {"ready": ready.name} if ready else {}
    return reverse("template-write", query=query)


def _render_form(
    request: HttpRequest, row: RuleTemplate | None, ready: TemplateProfile | None, typed: Mapping[str, Any], **more: Any
) -> HttpResponse:
    person = person_of(request)
    context = {
        "here": "templates",
        "row": row,
        "ready": ready,
        "typed": typed,
        "kinds": KINDS,
        "categories": Category.values,
        "severities": Severity.values,
        "own": None if may(request, Action.TEST, ANYBODY) else ", ".join([person.name, *sorted(person.teams)]),
    }
    return render(request, "web/template.html", context | more)


class BindingForm(forms.Form):
    """A pipeline, and what its gate does where the test is bad."""

    pipeline = NameField(max_length=200)
    gate = forms.ChoiceField(choices=Strength.choices)


@form_of("dataset", "name")
def new_binding(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Bind a pipeline's gate to a test, and return to the test."""
    dataset = dataset_of(name)
    demand(request, Action.TEST, dataset)
    test = get_object_or_404(DataTest, pk=pk, dataset=dataset)
    form, home = BindingForm(request.POST), f"{reverse('dataset', args=[name])}?tab=tests&test={pk}"
    if not form.is_valid():
        return complain(request, form, home)
    fields = {"dataset": dataset.full_name, "test": test.name, **form.cleaned_data}
    with changing(request, Bindings, "create", details=fields, refusal=REFUSALS, home=home) as change:
        change.key = write_binding(fields).pk
        messages.success(
            request,
            gettext("Bound: the gate of %(name)s follows it from now on.") % {"name": form.cleaned_data["pipeline"]},
        )
    return redirect(home)


@form_of("dataset", "name")
def submit_binding_removal(request: HttpRequest, name: str, pk: int) -> HttpResponse:
    """Take a binding away, and return to the dataset."""
    row = get_object_or_404(Binding.objects.select_related("dataset"), pk=pk, dataset=dataset_of(name))
    demand(request, Action.TEST, row)
    with changing(request, Bindings, "destroy", key=pk, refusal=UnableToShare):
        remove_binding(row)
        messages.success(request, gettext("Removed: the severity of the test counts again."))
    return redirect("dataset", name)
