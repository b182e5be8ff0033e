"""Who works on an incident: it is taken up, given to somebody, or given back."""

from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q

from alerting.channels import is_addressed
from alerting.notices.messages import assigned_report
from alerting.services import acknowledge_alert, ask, assign_alert
from assay.config import config
from assay.models import Dataset
from incident_manager.models import Incident

from .services import UnableToResolve, demand_open
from .timeline import note


class UnknownPerson(UnableToResolve):
    """A name that is nobody's."""


@transaction.atomic
def acknowledge(incident: Incident, *, author: str, now: datetime) -> Incident:
    """The incident, taken up by ``author``; the first to do so stays named. Raises HasEnded."""
    if demand_open(incident).acknowledged_at is None:
        _take_up(incident, author, now)
    incident.refresh_from_db()
    return incident


@transaction.atomic
def assign(incident: Incident, *, to: str, author: str, now: datetime) -> Incident:
    """The incident, given to somebody by name, who is told once; to ``author`` is to take it up, "" to give it back.

    Whoever has it already keeps it, and is not told again. Raises HasEnded, and UnknownPerson.
    """
    locked = demand_open(incident)
    if to not in ("", author, locked.assigned_to) and not _is_known(to):
        raise UnknownPerson(
            f"Nobody is called {to!r}: name a user, an owner or team of datasets, or an address that a channel reaches."
        )
    if to == author:
        if locked.acknowledged_by != author:
            _take_up(incident, author, now)
    elif to != locked.assigned_to:
        _hand_over(locked, to, author, now)
    incident.refresh_from_db()
    return incident


def _is_known(name: str) -> bool:
    """Whether a name is that of a user, of an owner or team, or an address."""
    return (
        User.objects.filter(username=name, is_active=True).exists()
        or Dataset.objects.filter(Q(owner=name) | Q(team=name)).exists()
        or is_addressed(name)
    )


def _take_up(incident: Incident, author: str, now: datetime) -> None:
    Incident.objects.filter(pk=incident.pk).update(assigned_to=author, acknowledged_by=author, acknowledged_at=now)
    note(incident, "acknowledged", now=now, actor=author)
    if incident.alert is not None:
        acknowledge_alert(incident.alert, author=author, now=now)


def _hand_over(incident: Incident, to: str, author: str, now: datetime) -> None:
    """Whoever is given it has not taken it up yet, even if somebody had."""
    Incident.objects.filter(pk=incident.pk).update(assigned_to=to, acknowledged_by="", acknowledged_at=None)
    told = _ask(incident, to, author, now)
    if not to:
        note(incident, "unassigned", now=now, actor=author, text=f"{incident.assigned_to} works on it no more")
        return
    how = f"told by {', '.join(told)}" if told else "not told: no address is known"
    note(incident, "assigned", now=now, actor=author, text=f"to {to}, {how}")


def _ask(incident: Incident, to: str, author: str, now: datetime) -> tuple[str, ...]:
    """The channels that tell ``to`` of it."""
    if incident.alert is not None:
        return assign_alert(incident.alert, to=to, author=author, now=now)
    if not to:
        return ()
    url = f"{config().public_url}/incidents/{incident.pk}"
    said = assigned_report(incident.dataset.full_name, author=author, tier=incident.tier, url=url)
    return ask(
        to,
        subject=said.title,
        body=said.body,
        facts={"incident": incident.pk, "dataset": incident.dataset.full_name, "url": url},
        key=f"incident:{incident.pk}:{now:%Y%m%dT%H%M%S%f}",
        now=now,
    )
