"""Tables that are named and no datasets, and the form that makes datasets of them, with a plan first."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import ngettext

from assay import clock
from assay.access import Action
from assay.catalog.proposals import proposals
from test_generator.onboarding import DEEPEST, MOST_OF_A_REQUEST, Onboarding, UnableToOnboard, plan_onboarding
from web.access.logins import keep, typed_before, typed_in
from web.access.throttles import costs
from web.access.who import may
from web.api.onboarding import onboard_audited, visible_tables
from web.rendering.status import in_english

from .page_policy import TIERS, NameField, complain, demand, form_of, page

MOST_SHOWN = 100
FIELDS = ("owner", "team", "tier", "location")


class OnboardingForm(forms.Form):
    """Names with commas, what lies around them, and what no source says of them."""

    names = NameField(max_length=4096)
    lineage = forms.ChoiceField(required=False, choices=[(side, side) for side in ("", "up", "down", "both")])
    depth = forms.IntegerField(required=False, min_value=1, max_value=DEEPEST)
    owner = NameField(required=False, max_length=128)
    team = NameField(required=False, max_length=200)
    tier = forms.TypedChoiceField(required=False, coerce=int, empty_value=None, choices=[(n, n) for n in TIERS])
    location = NameField(required=False, max_length=500)

    def onboarding(self) -> Onboarding:
        """What is asked for."""
        values = self.cleaned_data
        fields = {name: values[name] for name in FIELDS if values[name] not in ("", None)}
        names = [name.strip() for name in values["names"].split(",") if name.strip()]
        depth = values["depth"] or DEEPEST
        return Onboarding(names=names, side=values["lineage"], depth=depth, most=MOST_OF_A_REQUEST, fields=fields)


@page
def proposals_page(request: HttpRequest) -> HttpResponse:
    """The proposals, and the form with a name in it."""
    typed = next(iter(typed_before(request).values()), {}) or {"names": request.GET.get("name", "")}
    return _render(request, typed)


@form_of("proposals")
@costs("read")
def preview_onboarding(request: HttpRequest) -> HttpResponse:
    """The form again, with what would become of which table."""
    demand(request, Action.PUSH, None)
    form = OnboardingForm(request.POST)
    typed = {name: request.POST.get(name, "") for name in form.fields}
    if not form.is_valid():
        return complain(request, form, request.path.removesuffix("/preview"))
    try:
        tables = plan_onboarding(form.onboarding(), now=clock.now())
    except UnableToOnboard as unable:
        return _render(request, typed, wrong=in_english(str(unable)))
    new = sum(table.state == "new" for table in tables)
    return _render(request, typed, plan=visible_tables(request, tables), new=new)


@form_of("proposals")
def submit_onboarding(request: HttpRequest) -> HttpResponse:
    """Make the datasets, and say how many came and what is left."""
    demand(request, Action.PUSH, None)
    form = OnboardingForm(request.POST)
    if not form.is_valid():
        return complain(request, form, request.path.removesuffix("/onboard"))
    try:
        tables = onboard_audited(request, form.onboarding())
    except UnableToOnboard as unable:
        messages.error(request, in_english(str(unable)))
        keep(request, typed_in(request, request.path.removesuffix("/onboard")))
        return redirect("proposals")
    new = sum(table.state == "new" for table in tables)
    text = ngettext(
        "%(count)d dataset more: its tests are made within a minute.",
        "%(count)d datasets more: their tests are made within a minute.",
        new,
    )
    messages.success(request, text % {"count": new})
    return redirect("proposals")


def _render(request: HttpRequest, typed: Mapping[str, Any], **more: Any) -> HttpResponse:
    count, rows = proposals(MOST_SHOWN)
    context = {
        "here": "proposals",
        "proposals": rows,
        "count": count,
        "more": count - len(rows),
        "may_push": may(request, Action.PUSH),
        "typed": typed,
        "tiers": [str(tier) for tier in TIERS],
        "fields": FIELDS,
    }
    return render(request, "web/proposals.html", context | more)
