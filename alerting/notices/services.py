"""Notices: one row per event, recipient and channel, under a key that never changes."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet

from alerting.channels import reached_on, route_of
from alerting.models import Alert, Notice, Silence
from alerting.routes import Route, routes
from alerting.state import LOG
from assay.models import Dataset, Tallied
from assay.queue.claims import tally

from .policy import NO_CHANNEL, Address, Event, Hush, NoticeStep, PlannedNotice, together

SUBJECT_LENGTH = 300


def addresses(recipient: str, *, dataset: Dataset | None = None, event: str = Event.OPENED) -> tuple[Address, ...]:
    """Everywhere that a recipient can be told of an event, as the owner of a dataset where it is given."""
    return _on(route_of(recipient, dataset), recipient, event)


def own_addresses(person: str, *, event: str) -> tuple[Address, ...]:
    """Everywhere that a person can be told of an event as themselves, and not where everybody else is."""
    return _on(routes().own(person), person, event)


def _on(route: Route | None, recipient: str, event: str) -> tuple[Address, ...]:
    quiet = route.quiet_hours if route else None
    return tuple(
        Address(recipient=recipient, channel=reach.channel.name, place=reach.address, quiet=quiet)
        for reach in reached_on(route, recipient)
        if reach.channel.takes(event)
    )


def tell(
    *,
    event: str,
    recipient: str,
    subject: str,
    body: str,
    facts: dict[str, Any],
    key: str,
    now: datetime,
    alert: Alert | None = None,
    dataset: Dataset | None = None,
    at: Iterable[Address] | None = None,
    is_soft: bool = False,
    tier: int | None = None,
    html: str = "",
) -> None:
    """Write one notice per channel that reaches the recipient, or per address ``at``, once per ``key``.

    A soft one is sent from the end of the recipient's quiet hours on.
    """
    Notice.objects.bulk_create(
        (
            Notice(
                key=f"{key}:{event}:{address.channel}:{recipient}",
                alert=alert,
                event=event,
                channel=address.channel or "",
                recipient=recipient,
                address=address.place,
                subject=subject[:SUBJECT_LENGTH],
                body=body,
                html=html,
                facts=facts,
                created_at=now,
                due_at=address.quiet.heard(now, tier=tier) if is_soft and address.quiet else now,
            )
            for address in (addresses(recipient, dataset=dataset, event=event) if at is None else at)
        ),
        ignore_conflicts=True,
    )


def write_down(
    planned: PlannedNotice, *, alert: Alert | None, subject: str, body: str, facts: dict[str, Any], now: datetime
) -> None:
    """Write a planned notice that does not wait; a suppressed one is settled with its reason."""
    hush = planned.reason if planned.step is NoticeStep.SUPPRESS else None
    _, is_new = Notice.objects.get_or_create(
        key=planned.key,
        defaults={
            "alert": alert,
            "event": planned.event.value,
            "channel": planned.channel,
            "recipient": planned.recipient,
            "address": planned.place,
            "subject": subject[:SUBJECT_LENGTH],
            "body": body,
            "facts": facts,
            "created_at": now,
            "due_at": now if hush else together(max(now, planned.due_at)),
            "settled_at": now if hush else None,
            "suppressed": hush.value if isinstance(hush, Hush) else "",
        },
    )
    if is_new and hush:
        tally(Tallied.NOTICES, "suppressed")
        tally(Tallied.SUPPRESSED, str(hush))


def ask(
    person: str,
    *,
    subject: str,
    body: str,
    facts: dict[str, Any],
    key: str,
    now: datetime,
    alert: Alert | None = None,
    is_soft: bool = False,
) -> tuple[str, ...]:
    """Tell a person that they are asked to work on something; the channels that reach them, the log aside.

    Where there is none, a notice that is suppressed says so.
    """
    at = own_addresses(person, event=Event.ASSIGNED)
    text: dict[str, Any] = {"subject": subject, "body": body, "facts": facts}
    tier = alert.dataset.tier if alert else None
    event = Event.ASSIGNED
    tell(event=event, recipient=person, key=key, now=now, alert=alert, at=at, is_soft=is_soft, tier=tier, **text)
    reached = tuple(address.channel for address in at if address.channel and address.channel != LOG)
    if not reached:
        unsent = PlannedNotice(
            key=f"{key}:{event}:{NO_CHANNEL}:{person}",
            event=event,
            recipient=person,
            channel=NO_CHANNEL,
            due_at=now,
            step=NoticeStep.SUPPRESS,
            reason=Hush.NO_CHANNEL,
        )
        write_down(unsent, alert=alert, now=now, **text)
    return reached


def take_back(alert: Alert, reason: Hush, *, now: datetime) -> None:
    """Do not send what asks somebody to work on an alert, where no worker has begun to."""
    unsent = Notice.objects.filter(alert=alert, event=Event.ASSIGNED, settled_at=None, sent_with="")
    if taken := unsent.update(settled_at=now, suppressed=reason.value, epoch=F("epoch") + 1):
        tally(Tallied.NOTICES, "suppressed", taken)
        tally(Tallied.SUPPRESSED, str(reason), taken)


def addressees(alert: Alert, events: Iterable[str]) -> frozenset[Address]:
    """The addresses that have had a notice of one of ``events`` of the alert."""
    rows = Notice.objects.filter(alert=alert, event__in=list(events), suppressed="")
    return frozenset(
        Address(recipient=who, channel=channel, place=place)
        for who, channel, place in rows.values_list("recipient", "channel", "address")
    )


# Silences: notices of what they match wait until the end; if the incident ends before, they are suppressed.

LONGEST = timedelta(days=90)


class UnableToSilence(ValueError):
    """A silence that must not be; ``field`` is what is wrong with it."""

    def __init__(self, text: str, *, field: str) -> None:
        super().__init__(text)
        self.field = field


@transaction.atomic
def silence(
    *,
    ends_at: datetime,
    reason: str,
    author: str,
    now: datetime,
    dataset: Dataset | None = None,
    category: str = "",
    owner: str = "",
) -> Silence:
    """A silence from now on; what is left empty matches all."""
    if dataset is None and not category and not owner:
        raise UnableToSilence("Say what to mute: a dataset, a category or an owner.", field="dataset")
    if not reason.strip():
        raise UnableToSilence("A reason is missing: say why, for the people who are not told.", field="reason")
    if ends_at <= now:
        raise UnableToSilence(f"The end has passed: it is {now:%Y-%m-%d %H:%M} UTC. Name a later one.", field="ends_at")
    if ends_at - now > LONGEST:
        latest = f"{now + LONGEST:%Y-%m-%d %H:%M} UTC"
        raise UnableToSilence(
            f"A mute lasts at most {LONGEST.days} days: end it by {latest}, and renew it then.", field="ends_at"
        )
    return Silence.objects.create(
        dataset=dataset,
        category=category,
        owner=owner,
        starts_at=now,
        ends_at=ends_at,
        author=author,
        reason=reason,
    )


@transaction.atomic
def end_silence(row: Silence, *, now: datetime) -> Silence:
    """The silence, ended now: what it held back is decided at once."""
    locked = Silence.objects.select_for_update().get(pk=row.pk)
    if locked.ends_at <= now:
        raise UnableToSilence(f"Mute {row.pk} already ended at {locked.ends_at:%Y-%m-%d %H:%M} UTC.", field="ends_at")
    locked.ends_at = now
    locked.save(update_fields=["ends_at"])
    held = Alert.objects.filter(closed_at__isnull=True, next_notice_at__gt=now)
    if locked.dataset_id is not None:
        held = held.filter(dataset=locked.dataset_id)
    if locked.category:
        held = held.filter(category=locked.category)
    held.update(next_notice_at=now)
    return locked


def silences_of(alert: Alert) -> QuerySet[Silence]:
    """Those that match an alert and lasted into its time, the oldest first."""
    rows = Silence.objects.filter(ends_at__gt=alert.opened_at).filter(Q(dataset=None) | Q(dataset=alert.dataset_id))
    return rows.filter(category__in=("", alert.category)).order_by("pk")
