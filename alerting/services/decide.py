"""Decide about an alert's notices: tell now, wait, or stay silent because another trouble explains it."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from alerting.causes import Trouble
from alerting.inhibition import Action, Decision, EffectTerms, FormerCause, Why, decide
from alerting.messages import opened
from alerting.models import Alert
from alerting.notice_policy import Event
from alerting.selectors import usual_delay
from alerting.services.alerts import OPENINGS, carry_out, known_facts
from alerting.services.notices import tell, told
from alerting.services.texts import facts_of, text_of
from alerting.services.troubles import Around, around, measured_at
from assay.catalog.selectors import slas
from assay.queue import finish

UNDER_A_CAUSE = frozenset({Why.CAUSE_MAY_FAIL, Why.CAUSE_FAILED, Why.CAUSE_OUTLASTED})


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decision, and the alert of the cause that it names."""

    decision: Decision
    cause: Alert | None


def decide_alert(alert: Alert, now: datetime) -> None:
    """Carry out what is to be told of an alert now, and note when to look at it again."""
    if alert.closed_at is not None:
        finish(alert, next_notice_at=None)
        return
    decided = decide_now(alert, now)
    silent = decided.decision.action is not Action.NOTIFY
    alert.cause = decided.cause or alert.cause
    waits_until = carry_out(alert, known_facts(alert, decided.decision), now)
    if decided.decision.why is Why.CAUSE_OUTLASTED and alert.cause is not None and alert.told_at is None:
        _update_cause(alert.cause, alert, now)
    finish(
        alert,
        cause=alert.cause,
        release_after=alert.release_after,
        inhibited_at=(alert.inhibited_at or now) if silent else None,
        told_at=alert.told_at or (now if told(alert, OPENINGS) else None),
        next_notice_at=waits_until,
    )


def decide_now(alert: Alert, now: datetime) -> Decided:
    """The decision by what is broken around an alert; one without a failing window of its own speaks for itself."""
    nearby = around(alert.dataset_id)
    effect = nearby.troubles.get((alert.dataset_id, alert.category))
    if effect is None:
        return Decided(decision=Decision(action=Action.NOTIFY, why=Why.NO_CAUSE), cause=None)
    decision = _decision(alert, effect, nearby, now)
    if decision.why is Why.NO_CAUSE and alert.cause_id is not None and alert.inhibited_at is not None:
        # The cause has left these windows, though its own incident goes on elsewhere: this is how it ends for them.
        alert.release_after = now
        decision = _decision(alert, effect, nearby, now)
    return Decided(decision=decision, cause=nearby.alert(decision.cause_id) if decision.why in UNDER_A_CAUSE else None)


def _decision(alert: Alert, effect: Trouble, nearby: Around, now: datetime) -> Decision:
    return decide(effect, nearby.troubles.values(), nearby.upstreams, terms(alert, nearby), now=now)


def terms(alert: Alert, nearby: Around) -> EffectTerms:
    """What the alert's own tests and dataset say."""
    rows = nearby.standings[alert.dataset_id, alert.category]
    former = alert.release_after
    return EffectTerms(
        sustain=max((row.revision.sustain for row in rows), default=timedelta()),
        grace=slas(alert.dataset).grace,
        measured_at=measured_at(rows, alert.opened_at),
        usual_delay=usual_delay(alert.dataset_id) if former else timedelta(),
        former=FormerCause(id=alert.cause_id or 0, resolved_at=former) if former else None,
    )


def _update_cause(cause: Alert, effect: Alert, now: datetime) -> None:
    """Tell those who know of the cause that it has outlasted its time, and what it breaks by now."""
    text = text_of(cause)
    said = opened(text)
    for recipient in sorted({address.recipient for address in told(cause, OPENINGS)}):
        tell(
            event=Event.UPDATED,
            recipient=recipient,
            subject=said.title,
            body=said.body,
            facts=facts_of(cause, Event.UPDATED, text),
            key=f"alert:{cause.pk}:by{effect.pk}",
            alert=cause,
            now=now,
        )
