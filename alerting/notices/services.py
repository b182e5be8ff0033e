"""Notices: one row per event, recipient and channel, under a key that never changes."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from alerting.channels import reached_by
from alerting.models import Alert, Notice
from alerting.routes.loaded import route_of
from assay.models import Tallied
from assay.queue.tallies import tally

from .grouping import together
from .policy import Address, Event, Hush, NoticeStep, PlannedNotice

SUBJECT_LENGTH = 300


def addresses(recipient: str, *, team: str = "", event: str = Event.OPENED) -> tuple[Address, ...]:
    """Everywhere that a recipient can be told of an event, on behalf of a team."""
    route = route_of(recipient, team)
    quiet = route.quiet_hours if route else None
    return tuple(
        Address(recipient=recipient, channel=reach.channel.name, place=reach.address, quiet=quiet)
        for reach in reached_by(recipient, team)
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
    team: str = "",
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
            for address in (addresses(recipient, team=team, event=event) if at is None else at)
        ),
        ignore_conflicts=True,
    )


def write_down(
    planned: PlannedNotice, *, alert: Alert, subject: str, body: str, facts: dict[str, Any], now: datetime
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


def told(alert: Alert, events: Iterable[str]) -> frozenset[Address]:
    """The addresses that have had a notice of one of ``events`` of the alert."""
    rows = Notice.objects.filter(alert=alert, event__in=list(events), suppressed="")
    return frozenset(
        Address(recipient=who, channel=channel, place=place)
        for who, channel, place in rows.values_list("recipient", "channel", "address")
    )
