"""Notices: one row per event, recipient and channel, under a key that never changes."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from alerting.channels import channels
from alerting.models import Alert, Notice
from assay.models import Tallied
from assay.queue.tallies import tally

from .policy import Address, Hush, NoticeStep, PlannedNotice

SUBJECT_LENGTH = 300


def addresses(recipient: str) -> tuple[Address, ...]:
    """Everywhere that a recipient can be reached."""
    return tuple(Address(recipient=recipient, channel=c.name) for c in channels() if c.reaches(recipient))


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
    due_at: datetime | None = None,
) -> None:
    """Write one notice per channel that reaches the recipient, once per ``key``, to be sent from ``due_at`` on."""
    Notice.objects.bulk_create(
        (
            Notice(
                key=f"{key}:{event}:{address.channel}:{recipient}",
                alert=alert,
                event=event,
                channel=address.channel or "",
                recipient=recipient,
                subject=subject[:SUBJECT_LENGTH],
                body=body,
                facts=facts,
                created_at=now,
                due_at=due_at or now,
            )
            for address in addresses(recipient)
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
            "subject": subject[:SUBJECT_LENGTH],
            "body": body,
            "facts": facts,
            "created_at": now,
            "due_at": now,
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
        Address(recipient=who, channel=channel) for who, channel in rows.values_list("recipient", "channel")
    )
