"""One action on several incidents: what it has done to each, and what was refused."""

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext, ngettext

from alerting.models import Silence
from alerting.services import UnableToSilence, silence
from assay import clock
from assay.access import Action
from incident_manager import services
from incident_manager.incidents.services import demand_open
from incident_manager.models import Incident
from web.access.changes import audited
from web.access.throttles import costs
from web.api.base import Rows
from web.api.incidents import Incidents, Silences
from web.rendering.status import in_english

from .incident import PAGE_SIZE
from .notices import USUAL_MUTE
from .page_policy import complain, demand, form_of, with_query

MUTE, ROOT_CAUSE = "mute", "root-cause"
ACTIONS = ("acknowledge", "rerun", MUTE, ROOT_CAUSE)


class BulkForm(forms.Form):
    """What to do, and the incidents by their numbers."""

    action = forms.ChoiceField(choices=[(action, action) for action in ACTIONS])
    incident = forms.TypedMultipleChoiceField(coerce=int)
    root_cause = forms.CharField(required=False, max_length=10_000)
    query = forms.CharField(required=False, max_length=2000)  # of the list, to return to

    def __init__(self, sent: QueryDict) -> None:
        super().__init__(sent)
        numbers = [text for text in sent.getlist("incident") if text.isdecimal() and len(text) < 19]
        self.fields["incident"].choices = [(text, text) for text in numbers[:PAGE_SIZE]]  # type: ignore[attr-defined]
        self.fields["incident"].error_messages["required"] = gettext("Choose at least one incident.")

    def clean(self) -> dict[str, Any]:
        """What was sent, with a root cause where one is to be written down."""
        fields = self.cleaned_data
        if fields.get("action") == ROOT_CAUSE and not fields.get("root_cause"):
            self.add_error("root_cause", gettext("Write what the root cause was."))
        return fields


@form_of("incidents")
@costs("run")
def act_on_several(request: HttpRequest) -> HttpResponse:
    """Do one thing to each of these incidents that allows it, and return to the list with what came of each."""
    form, now, home = BulkForm(request.POST), clock.now(), reverse("incidents")
    is_valid, fields = form.is_valid(), form.cleaned_data
    query = QueryDict(fields.get("query", "").lstrip("?"), mutable=True)
    if not is_valid:
        complain(request, form, home)
        query.setlist("choose", request.POST.getlist("incident")[:PAGE_SIZE])
        return redirect(with_query(home, query))
    done, runs, refusals = list[int](), 0, defaultdict[str, list[int]](list)
    rows = Incident.objects.select_related("alert", "dataset").in_bulk(fields["incident"])
    for pk in fields["incident"]:
        try:
            if pk not in rows:
                raise services.UnableToResolve("There is no such incident.")
            runs += _act(request, rows[pk], fields["action"], fields["root_cause"], now)
            done.append(pk)
        except (PermissionDenied, services.UnableToResolve, UnableToSilence) as refusal:
            refusals[str(refusal)].append(pk)
    if done:
        messages.success(request, _done_text(fields["action"], done, runs, now))
    for text, numbers in refusals.items():
        messages.error(request, in_english(f"{_numbers(numbers)}: {text}"))
    return redirect(with_query(home, query))


def _act(request: HttpRequest, incident: Incident, action: str, root_cause: str, now: datetime) -> int:
    """Do it to one, in a transaction of its own with its entry in the audit; how many runs that asks for."""
    author, name, key, details = request.user.get_username(), action, str(incident.pk), dict[str, Any]()
    rows: type[Rows] = Incidents
    if action == MUTE:
        demand(request, Action.SILENCE, Silence(dataset=incident.dataset))
        rows, name, key = Silences, "create", ""
        details = {"dataset": incident.dataset, "category": incident.category, "ends_at": now + USUAL_MUTE}
        details["reason"] = gettext("Incident %(id)s is known.") % {"id": incident.pk}
    else:
        demand(request, Action.ACT, incident)
    if action == ROOT_CAUSE:
        name, details = "annotations", {"root_cause": root_cause}
    with audited(request, f"{rows.kind}.{name}", kind=rows.kind, key=key, look=rows.picture, details=details) as change:
        if action != ROOT_CAUSE:
            demand_open(incident)
        match action:
            case "acknowledge":
                services.acknowledge(incident, author=author, now=now)
            case "rerun":
                return len(services.rerun(incident, author=author, now=now))
            case "mute":
                change.key = silence(**details, author=author, now=now).pk
            case _:
                services.annotate(incident, **details, author=author, now=now)
    return 0


def _done_text(action: str, numbers: Sequence[int], runs: int, now: datetime) -> str:
    match action:
        case "acknowledge":
            text = gettext("Acknowledged: you are named as the person who works on it.")
        case "rerun":
            text = ngettext("%(count)s run is on the way.", "%(count)s runs are on the way.", runs) % {"count": runs}
        case "mute":
            text = gettext("Muted until %(at)s UTC.") % {"at": f"{now + USUAL_MUTE:%Y-%m-%d %H:%M}"}
        case _:
            text = gettext("The root cause is saved.")
    return f"{_numbers(numbers)}: {text}"


def _numbers(numbers: Sequence[int]) -> str:
    return ", ".join(f"#{number}" for number in numbers)
