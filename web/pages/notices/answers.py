"""The page that a link in a message leads to: it shows what it is about, and asks before anything is done.

A GET changes nothing, as scanners of mail follow links. What is done is done by the forms of the incident and of mutes,
which ask whether whoever is signed in may.
"""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext

from alerting.alerts.links import Answer, Followed, UnableToFollow, followed
from assay import clock
from assay.access.roles import Action
from incident_manager.models import Incident
from web.access.who import may
from web.pages.page_policy import demand, page
from web.shown.words import in_english

USUAL_MUTE = timedelta(days=1)
GONE = 410  # HTTP: it was there


@page
def answer_page(request: HttpRequest, token: str) -> HttpResponse:
    """What a link asks for, with a button; what cannot be followed is told without a word of what it was about."""
    now = clock.now()
    try:
        said = followed(token, now=now)
    except UnableToFollow as unable:
        return render(request, "web/answer.html", {"here": "incidents", "fault": in_english(str(unable))}, status=GONE)
    incident = _incident(said)
    if incident is None:
        gone = {"here": "incidents", "fault": gettext("The incident of this link is no longer kept.")}
        return render(request, "web/answer.html", gone, status=GONE)
    demand(request, Action.READ, incident)
    action = Action.SILENCE if said.answer is Answer.MUTE else Action.ACT
    context: dict[str, Any] = {
        "here": "incidents",
        "incident": incident,
        "now": now,
        "is_mute": said.answer is Answer.MUTE,
        "may_answer": may(request, action, incident.dataset),
        "until": f"{now + USUAL_MUTE:%Y-%m-%dT%H:%M}",
    }
    return render(request, "web/answer.html", context)


def _incident(said: Followed) -> Incident | None:
    return Incident.objects.select_related("dataset", "alert").filter(alert=said.alert).first()
