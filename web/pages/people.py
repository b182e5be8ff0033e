"""Pages of the person who reads: what they follow, their tables, their tokens, and how they are told."""

from datetime import timedelta

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext

from alerting.notices.policy import Event
from alerting.notices.services import own_addresses
from alerting.state import LOG
from assay import clock
from assay.access import Action, TokenScope
from assay.accounts import follow, make_token, member_as_json, revoke_token, set_member, unfollow
from assay.config import config
from assay.models import AccessToken, Dataset
from incident_manager.quality.now import statuses_now
from web.access.changes import audited, origin_of
from web.access.logins import typed_before
from web.access.who import hidden_datasets, person_of
from web.api.catalog import Datasets

from .catalogue import WHOSE, CatalogueForm, catalogue, owned_by, table_context
from .page_policy import complain, dataset_of, demand, form_of, page

USUAL_DAYS = 90


@form_of("dataset", "name")
def submit_follow(request: HttpRequest, name: str) -> HttpResponse:
    """Follow a dataset, or no longer, and return to its page."""
    dataset = dataset_of(name)
    demand(request, Action.FOLLOW, dataset)
    assert request.user.is_authenticated
    change = follow if request.POST.get("action") == "follow" else unfollow
    with audited(request, f"{Datasets.kind}.{change.__name__}", kind=Datasets.kind, key=dataset.full_name):
        change(request.user, dataset)
    return redirect("dataset", dataset.full_name)


@page
def me_page(request: HttpRequest, token: str = "") -> HttpResponse:
    """The reader's own tables, role, teams, tokens and notices; a ``token`` is shown that was made just now."""
    assert request.user.is_authenticated
    person, now, filters = person_of(request), clock.now(), CatalogueForm(request.GET).values()
    filters["whose"] = filters["whose"] if filters["whose"] in WHOSE else "mine"
    rows = Dataset.objects.filter(owned_by(person, filters["whose"])).exclude(pk__in=hidden_datasets(request))
    names = dict(rows.values_list("pk", "full_name"))
    cut = {name: filters[name] for name in ("sort", "size", "page")}
    context = table_context(catalogue(names, statuses_now(names, now=now), **cut, now=now), filters) | {
        "here": "me",
        "whose": WHOSE.items(),
        "member": member_as_json(request.user),
        "reached": [way for way in own_addresses(person.name, event=Event.FOLLOWED) if way.channel != LOG],
        "tokens": AccessToken.objects.filter(user=request.user).order_by("-created", "pk"),
        "token": token,
        "scopes": list(TokenScope),
        "longest": config().token_days,
        "typed": typed_before(request).get("new", {"days": min(USUAL_DAYS, config().token_days)}),
    }
    return render(request, "web/me.html", context)


@form_of("me")
def submit_notices(request: HttpRequest) -> HttpResponse:
    """Choose how one hears of what one follows, and return to the page."""
    demand(request, Action.FOLLOW, None)
    assert request.user.is_authenticated
    set_member(request.user, hears_at_once=request.POST.get("hears") == "at once", origin=origin_of(request))
    messages.success(request, gettext("Saved."))
    return redirect("me")


class TokenForm(forms.Form):
    """A token to make for oneself."""

    name = forms.CharField(max_length=100)
    scopes = forms.MultipleChoiceField(choices=[(scope, scope) for scope in TokenScope])
    days = forms.IntegerField(min_value=1)

    def clean_days(self) -> int:
        """No more than a token may live."""
        if (days := int(self.cleaned_data["days"])) > config().token_days:
            raise forms.ValidationError(
                gettext("A token lives at most %(count)s days.") % {"count": config().token_days}
            )
        return days


@form_of("me")
def new_token(request: HttpRequest) -> HttpResponse:
    """Make a token, and show it on the page, this once."""
    demand(request, Action.MAKE_TOKEN, None)
    form = TokenForm(request.POST)
    if not form.is_valid():
        return complain(request, form, reverse("me"))
    assert request.user.is_authenticated
    fields = form.cleaned_data
    life = timedelta(days=fields.pop("days"))
    return me_page(request, token=make_token(request.user, **fields, life=life, origin=origin_of(request))[1])


@form_of("me")
def submit_token_end(request: HttpRequest, token: str) -> HttpResponse:
    """Revoke a token, one's own or, as an admin, another's, and return to the list that it stood in."""
    row = get_object_or_404(AccessToken, token_key=token)
    demand(request, Action.SHOW_TOKENS, row)
    revoke_token(row, origin=origin_of(request))
    messages.success(request, gettext("Revoked: requests with it are refused from now on."))
    return redirect("me" if row.user == request.user else "admin-tokens")
