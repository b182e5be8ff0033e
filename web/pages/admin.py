"""Pages for admins: members, tokens, the audit, channels with a test message, and the doctor."""

import json
from collections.abc import Mapping
from functools import partial, wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from alerting.channels import KINDS, TransportError, channel, send_test_message
from assay import clock
from assay.access import Action, Role
from assay.accounts import member_as_json, set_member
from assay.models import AccessToken, AuditEntry
from web.access.changes import audited, origin_of
from web.access.throttles import costs
from web.access.who import may
from web.doctor import examine
from web.rendering.status import in_english

from .page_policy import FilterForm, NameField, View, complain, demand, form_of, page, with_query

PARTS = {
    "admin": _("Members"),
    "admin-tokens": _("Tokens"),
    "admin-audit": _("Audit"),
    "admin-channels": _("Channels"),
    "admin-doctor": _("Doctor"),
}
PAGE_SIZE = 50


def admin_page(view: View) -> View:
    """A page that only admins open; the others read why not."""

    @page
    @wraps(view)
    def answered(request: HttpRequest, **arguments: object) -> HttpResponseBase:
        demand(request, Action.MANAGE, None)
        return view(request, **arguments)

    return answered


def show(request: HttpRequest, part: str, **context: Any) -> HttpResponse:
    """One of the pages, with links to the others."""
    name = "admin-members" if part == "admin" else part
    template = f"web/{name.replace('-', '_')}.html"
    return render(request, template, {"here": "admin", "part": part, "parts": PARTS, **context})


class AdminForm(FilterForm):
    """What narrows the lists."""

    q = forms.CharField(required=False, max_length=150)
    actor = forms.CharField(required=False, max_length=200)
    action = forms.CharField(required=False, max_length=60)
    kind = forms.CharField(required=False, max_length=30)
    key = forms.CharField(required=False, max_length=250)
    before = forms.IntegerField(required=False, min_value=1, max_value=2**62)


@admin_page
def members_page(request: HttpRequest) -> HttpResponse:
    """People and services with their roles and teams, each with a form that changes them."""
    filters = AdminForm(request.GET).values()
    users = User.objects.select_related("member").filter(username__icontains=filters["q"] or "").order_by("username")
    rows = Paginator(users, PAGE_SIZE).get_page(filters["page"])
    members = [member_as_json(user) for user in rows]
    return show(request, "admin", q=filters["q"], page=rows, members=members, roles=list(Role))


class MemberForm(forms.Form):
    """The role and the teams of a member, and whether they are let in."""

    role = forms.ChoiceField(choices=[(role.value, role.value) for role in Role])
    teams = forms.CharField(required=False, max_length=20_000)
    active = forms.BooleanField(required=False)

    def clean_teams(self) -> list[str]:
        """The names, one a line."""
        return [
            NameField(max_length=200).clean(name) for name in self.cleaned_data["teams"].splitlines() if name.strip()
        ]


@form_of("admin")
def submit_member(request: HttpRequest, name: str) -> HttpResponse:
    """Give a user a role and teams, or shut them out, and return to the page of the list."""
    demand(request, Action.MANAGE, None)
    user, form, home = get_object_or_404(User, username=name), MemberForm(request.POST), reverse("admin")
    back = with_query(home, request.GET)
    if not form.is_valid():
        complain(request, form, home)
        return redirect(back)
    if user.is_superuser:
        messages.error(
            request, gettext("%(name)s is a superuser, and so an admin: change that where Assay runs.") % {"name": name}
        )
        return redirect(back)
    fields = form.cleaned_data
    role, is_active = Role(fields["role"]), fields["active"]
    set_member(user, role=role, teams=fields["teams"], is_active=is_active, origin=origin_of(request))
    messages.success(request, gettext("Saved: %(name)s.") % {"name": name})
    return redirect(back)


@admin_page
def tokens_page(request: HttpRequest) -> HttpResponse:
    """Everybody's tokens, the newest first."""
    filters = AdminForm(request.GET).values()
    tokens = AccessToken.objects.filter(user__username__icontains=filters["q"] or "").order_by("-created", "pk")
    rows = Paginator(tokens, PAGE_SIZE).get_page(filters["page"])
    return show(request, "admin-tokens", q=filters["q"], page=rows, tokens=rows)


MOST_LETTERS = 400  # of what an entry has changed, on the page; the API gives all


@admin_page
def audit_page(request: HttpRequest) -> HttpResponse:
    """Entries of the audit, the newest first; ``before`` is the number of the last one of the page before."""
    filters = AdminForm(request.GET).values()
    columns = {"actor": "actor", "action": "action", "kind": "object_kind", "key": "object_id", "before": "pk__lt"}
    conditions = {column: filters[name] for name, column in columns.items() if filters[name]}
    entries = list(AuditEntry.objects.filter(**conditions).order_by("-pk")[: PAGE_SIZE + 1])
    query = request.GET.copy()
    query["before"] = str(entries[-2].pk) if len(entries) > PAGE_SIZE else ""
    rows = [(entry, _changes_text(entry.before, entry.after, entry.given)) for entry in entries[:PAGE_SIZE]]
    return show(request, "admin-audit", wanted=filters, rows=rows, older=query.urlencode() if query["before"] else "")


def _changes_text(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, given: Mapping[str, Any]) -> str:
    """What an entry has changed, a field a line, and what it was asked with; cut where it is long."""
    old, new = before or {}, after or {}
    encode = partial(json.dumps, ensure_ascii=False)
    lines = [f"{name}: {encode(old.get(name))} → {encode(new.get(name))}" for name in {**old, **new}]
    lines += [f"{name}: {encode(value)}" for name, value in given.items()]
    text = "\n".join(lines)
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}…"


@admin_page
def channels_page(request: HttpRequest) -> HttpResponse:
    """The channels, those that are set up with a form that sends a test message."""
    rows = [(kind.name, kind.setting, kind.address_form, channel(kind.name) is not None) for kind in KINDS]
    return show(request, "admin-channels", channels=rows)


@form_of("admin-channels")
@costs("run")
def submit_trial(request: HttpRequest, name: str) -> HttpResponse:
    """Send a test message to an address of a channel, and say what came of it."""
    demand(request, Action.MANAGE, None)
    address = request.POST.get("address", "").strip()[:200]
    fault = ""
    try:
        send_test_message(name, address, author=request.user.get_username(), now=clock.now())
    except TransportError as error:
        fault = str(error)
    with audited(request, "channel.test", kind="channel", key=name) as change:
        change.after = {"address": address, "error": fault}
    if fault:
        messages.error(request, in_english(capfirst(fault)))
    else:
        text = gettext("%(channel)s took the test message to %(address)s.")
        messages.success(request, text % {"channel": name, "address": address})
    return redirect("admin-channels")


@admin_page
@costs("run")
def doctor_page(request: HttpRequest) -> HttpResponse:
    """What ``assay doctor`` finds where this page is served; it looks when the button is pressed."""
    findings = list(examine()) if request.method == "POST" else []
    return show(request, "admin-doctor", findings=findings)


def admin_link(request: HttpRequest) -> dict[str, Any]:
    """``may_manage``, asked for where a template shows it."""
    return {"may_manage": lambda: request.user.is_authenticated and may(request, Action.MANAGE)}
