"""Alerts: opened and closed by their incidents, and whatever was told of them told on."""

from datetime import datetime

from django.db.models import Q

from alerting.inhibition.rules import AlertAction, Decision, Why
from alerting.inhibition.services import decide_waiting
from alerting.models import Alert
from alerting.notices.policy import AlertFacts, Event, NoticeStep, plan_notices
from alerting.notices.policy import SilencedTime as Silenced
from alerting.notices.services import addresses, told, write_down
from alerting.notices.silences import silences_of
from assay.catalog.selectors import downstreams, slas
from assay.models import Dataset

from .texts import facts_of, message, text_of

OPENINGS = (Event.OPENED, Event.DOWNSTREAM)
REPAIRED = "auto"


def open_alert(*, dataset: Dataset, category: str, owner: str, now: datetime, key: str = "") -> Alert:
    """The open alert of a dataset and category, new or there already; whom it tells is decided next."""
    alert, is_new = Alert.objects.get_or_create(
        open_key=key or f"{dataset.pk}:{category}",
        defaults={
            "dataset": dataset,
            "category": category,
            "owner": owner,
            "opened_at": now,
            "next_notice_at": now,
        },
    )
    if is_new:
        decide_waiting(now)
    return alert


def close_alert(alert: Alert, *, how: str, now: datetime) -> None:
    """Close an alert: all who were told of it are told how it ended, and nobody else is."""
    alert = Alert.objects.select_for_update().get(pk=alert.pk)
    if alert.closed_at is not None:
        return
    alert.closed_at, alert.closing, alert.open_key = now, how, None
    carry_out(alert, known_facts(alert, last_decision(alert)), now)
    alert.next_notice_at = None
    alert.save(update_fields=["closed_at", "closing", "open_key", "next_notice_at"])
    for other in Alert.objects.filter(dataset=alert.dataset_id, closed_at__isnull=True, told_at__isnull=True):
        decide_soon(other, now + slas(alert.dataset).grace)  # it was told as this one, and may end with it


def update_alert(alert: Alert, *, eta: datetime | None, now: datetime) -> None:
    """Set when the repair is expected; what the alert inhibits is decided again, as it ends then."""
    Alert.objects.filter(pk=alert.pk).update(eta=eta)
    Alert.objects.filter(cause=alert, closed_at__isnull=True).update(next_notice_at=now)


def release_after(alert: Alert, instant: datetime) -> None:
    """Note that an alert's cause ended at ``instant``: only a broken result measured later lets it speak."""
    Alert.objects.filter(pk=alert.pk, closed_at__isnull=True).update(release_after=instant, next_notice_at=instant)


def decide_soon(alert: Alert, at: datetime) -> None:
    """Decide about an open alert again at ``at``, where it would not be before."""
    later = Q(next_notice_at=None) | Q(next_notice_at__gt=at)
    Alert.objects.filter(later, pk=alert.pk, closed_at__isnull=True).update(next_notice_at=at)


def known_facts(alert: Alert, decision: Decision, *, twin: Alert | None = None) -> AlertFacts:
    """What the plan of an alert's notices rests on."""
    nearby = {dataset.owner for dataset in downstreams(alert.dataset)}
    return AlertFacts(
        incident_key=f"alert:{alert.pk}",
        opened_at=alert.opened_at,
        grace=slas(alert.dataset).grace,
        owner=addresses(alert.owner),
        downstream=tuple(address for owner in sorted(nearby) for address in addresses(owner)),
        decision=decision,
        silences=tuple(
            Silenced(start=row.starts_at, end=row.ends_at, recipient=row.owner or None) for row in silences_of(alert)
        ),
        told=told(alert, OPENINGS),
        told_of_cause=frozenset(a.recipient for a in told(alert.cause, OPENINGS)) if alert.cause else frozenset(),
        told_of_twin=frozenset(a.recipient for a in told(twin, OPENINGS)) if twin else frozenset(),
        twin_key=f"alert:{twin.pk}" if twin else "",
        closed_at=alert.closed_at,
        withdrawn=alert.closing not in ("", REPAIRED),
    )


def last_decision(alert: Alert) -> Decision:
    """The decision that an alert rests on between two looks at it."""
    if alert.inhibited_at is None or alert.told_at is not None:
        return Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)
    return Decision(action=AlertAction.INHIBIT, why=Why.CAUSE_FAILED, until=alert.next_notice_at)


def carry_out(alert: Alert, facts: AlertFacts, now: datetime) -> datetime | None:
    """Write every notice that need not wait; when the first of those that do is due."""
    planned = plan_notices(facts, now=now)
    text = None
    for notice in planned:
        if notice.step is NoticeStep.WAIT:
            continue
        text = text or text_of(alert)
        said = message(notice.event, text, recipient=notice.recipient, alert=alert, now=now)
        details = facts_of(alert, notice.event, text)
        write_down(notice, alert=alert, subject=said.title, body=said.body, facts=details, now=now)
    waiting = [notice.due_at for notice in planned if notice.step is NoticeStep.WAIT]
    return min(waiting, default=None)
