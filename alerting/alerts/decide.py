"""Decide about an alert's notices: tell now, wait, or stay silent because another trouble explains it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from alerting.inhibition.causes import FRESHNESS, Trouble
from alerting.inhibition.rules import AlertAction, Decision, EffectTerms, FormerCause, Why, decide
from alerting.inhibition.selectors import Around, around, measured_at, usual_delay
from alerting.models import Alert, Notice
from alerting.notices.messages import IncidentText, Message, led_by, opened, renamed
from alerting.notices.policy import Event
from alerting.notices.services import tell, told
from alerting.state import State
from alerting.verdicts.selectors import of_the_past
from assay.catalog.selectors import slas
from assay.queue.claims import finish
from assay.time.windows import Window

from .services import OPENINGS, carry_out, decide_soon, is_soft, known_facts, tell_progress, told_of
from .texts import facts_of, text_of, told_to

LISTING = (Event.OPENED, Event.UPDATED, Event.PROGRESS, Event.ACKNOWLEDGED)
UNDER_A_CAUSE = frozenset({Why.CAUSE_MAY_FAIL, Why.CAUSE_FAILED, Why.CAUSE_OUTLASTED})


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A decision, and the alerts of the cause and of the twin that it names."""

    decision: Decision
    cause: Alert | None = None
    twin: Alert | None = None
    windows: frozenset[Window] = frozenset()  # that the twin has told of, and this tells of now


def decide_alert(alert: Alert, now: datetime) -> None:
    """Carry out what is to be told of an alert now, and note when to look at it again."""
    if alert.closed_at is not None:
        finish(alert, next_notice_at=None)
        return
    before = alert.cause_id if alert.inhibited_at is not None else None
    decided = decide_now(alert, now)
    silent = decided.decision.action is not AlertAction.NOTIFY
    alert.cause = decided.cause or (None if decided.twin else alert.cause)
    waits_until = carry_out(alert, known_facts(alert, decided.decision, twin=decided.twin), now)
    if decided.decision.why is Why.CAUSE_OUTLASTED and alert.cause is not None and alert.told_at is None:
        _update(alert.cause, alert, opened, text_of(alert.cause), now)
    if decided.twin is not None and alert.told_at is None:
        text = text_of(alert)
        windows = tuple(window for window in text.windows if window.window in decided.windows)
        _update(decided.twin, alert, renamed, led_by(replace(text, windows=windows), windows), now)
        decide_soon(decided.twin, now)
    finish(
        alert,
        cause=alert.cause,
        release_after=alert.release_after,
        inhibited_at=(alert.inhibited_at or now) if silent else None,
        told_at=alert.told_at or (now if told(alert, OPENINGS) else None),
        next_notice_at=waits_until,
    )
    if silent and alert.cause is not None and alert.cause.told_at is not None and alert.cause_id != before:
        decide_soon(alert.cause, now)  # its message lists what it keeps silent
    if alert.told_at is not None:
        _list_effects(alert, now)


def _list_effects(alert: Alert, now: datetime) -> None:
    """Change the messages of an open alert, where a channel can, once it keeps more silent than they list."""
    text = text_of(alert)
    listed = Notice.objects.filter(alert=alert, suppressed="", event__in=LISTING).order_by("-pk").values_list("facts")
    known: list[str] = next((facts.get("inhibited", []) for (facts,) in listed[:1]), [])
    if set(facts_of(alert, Event.PROGRESS, text)["inhibited"]) - set(known):
        tell_progress(alert, Event.PROGRESS, now=now, text=text)


def decide_now(alert: Alert, now: datetime) -> Decided:
    """The decision by what is broken around an alert; one without a failing window of its own speaks for itself."""
    nearby = around(alert.dataset_id, now)
    effect = nearby.troubles.get((alert.dataset_id, alert.category))
    if effect is None:
        return Decided(decision=Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE))
    failed = [row for row in nearby.standings[alert.dataset_id, alert.category] if row.state == State.FAIL]
    if failed and alert.told_at is None and len(of_the_past(failed)) == len(failed):
        return Decided(decision=Decision(action=AlertAction.INHIBIT, why=Why.OF_THE_PAST))
    decision = _decision(alert, effect, nearby, now)
    twin = _twin(alert, nearby.alert(decision.twin_id))
    left = alert.inhibited_at is not None and alert.cause_id not in (None, twin.pk if twin else None)
    if decision.why is Why.NO_CAUSE and left:
        # The cause has left these windows, though its own incident goes on elsewhere: this is how it ends for them.
        alert.release_after = now
        decision = _decision(alert, effect, nearby, now)
    cause = nearby.alert(decision.cause_id) if decision.why in UNDER_A_CAUSE else None
    if twin is None or decision.action is not AlertAction.NOTIFY:
        return Decided(decision=decision, cause=cause)
    # the windows whose rows are lost, or for freshness late
    own = (one for one in nearby.troubles.values() if (one.dataset, one.category) == (effect.dataset, FRESHNESS))
    spots = (spot for trouble in own for spot in trouble.spots)
    renamed = frozenset(spot.window for spot in spots if spot.lost is (effect.category != FRESHNESS))
    return Decided(decision=decision, cause=cause, twin=twin, windows=renamed)


def _twin(alert: Alert, twin: Alert | None) -> Alert | None:
    """The alert that has told of the same rows: of rows that come after all, one that kept freshness silent."""
    if twin is None or not told(twin, OPENINGS):
        return None
    is_known = (
        alert.category != FRESHNESS
        or alert.cause_id == twin.pk
        or Notice.objects.filter(key__startswith=f"{_update_key(twin, alert)}:").exists()
    )
    return twin if is_known else None


def _update_key(known: Alert, other: Alert) -> str:
    return f"alert:{known.pk}:by{other.pk}"


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


def _update(
    known: Alert, other: Alert, say: Callable[[IncidentText], Message], text: IncidentText, now: datetime
) -> None:
    """Tell those who were told of one alert what another makes of it, once."""
    facts = facts_of(known, Event.UPDATED, text_of(known))
    for recipient, at in told_of(known).items():
        said = say(told_to(recipient, text))
        tell(
            event=Event.UPDATED,
            recipient=recipient,
            subject=said.title,
            body=said.body,
            facts=facts,
            key=_update_key(known, other),
            alert=known,
            at=at,
            is_soft=is_soft(known),
            tier=known.dataset.tier,
            now=now,
        )
