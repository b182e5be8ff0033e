"""Inhibition: whose notice stays silent because another trouble explains it, and until when."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from alerting.state import State

from .causes import FRESHNESS, MISSING, Spot, Trouble, explains_since, narrowed, root_cause, twin

LONGEST_INHIBITION = timedelta(hours=24)


class AlertAction(StrEnum):
    """What to do with a notice, from the loudest to the most silent."""

    NOTIFY = "notify"
    WAIT = "wait"
    INHIBIT = "inhibit"


class Why(StrEnum):
    """Why a notice goes out or not; the text is what users read."""

    NO_CAUSE = "no cause upstream"
    CAUSE_MAY_FAIL = "its cause may be about to fail"
    CAUSE_FAILED = "caused by an incident already told"
    CAUSE_OUTLASTED = "its cause lasts longer than expected"
    AWAITING_RERUN = "its cause is resolved, waiting for a new result"
    SETTLING = "its cause is resolved, waiting for the data to catch up"
    OF_THE_PAST = "found by a back-fill of the past"
    STILL_BROKEN = "still broken after its cause was resolved"


@dataclass(frozen=True, kw_only=True)
class FormerCause:
    """The last cause that inhibited an effect, once it is resolved."""

    id: int
    resolved_at: datetime


@dataclass(frozen=True, kw_only=True)
class EffectTerms:
    """What the effect's own test and dataset say; ``measured_at`` is of its latest broken result."""

    sustain: timedelta
    grace: timedelta
    measured_at: datetime
    usual_delay: timedelta = timedelta(0)
    former: FormerCause | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What to do with an alert's notices; ``until`` is when to decide again.

    ``twin_id`` is another trouble of the same rows: people who were told of it need not hear of this one as new.
    """

    action: AlertAction
    why: Why
    cause_id: int | None = None
    until: datetime | None = None
    twin_id: int | None = None


LOUDNESS = {AlertAction.NOTIFY: 0, AlertAction.WAIT: 1, AlertAction.INHIBIT: 2}


def decide(
    effect: Trouble,
    troubles: Iterable[Trouble],
    upstreams: Mapping[str, frozenset[str]],
    terms: EffectTerms,
    *,
    now: datetime,
) -> Decision:
    """The decision for one failing alert: silent only where a cause explains every one of its failed spots."""
    known = tuple(troubles)
    spots = tuple(spot for spot in effect.spots if spot.failed) or effect.spots
    decisions = (_decide_spot(effect, spot, known, upstreams, terms, now) for spot in spots)
    return min(decisions, key=lambda one: (LOUDNESS[one.action], one.twin_id is not None, one.until or now))


def _decide_spot(
    effect: Trouble,
    spot: Spot,
    troubles: tuple[Trouble, ...],
    upstreams: Mapping[str, frozenset[str]],
    terms: EffectTerms,
    now: datetime,
) -> Decision:
    decision = _by_cause(effect, spot, troubles, upstreams, terms, now)
    if decision.action is not AlertAction.NOTIFY:
        return _until_lost(decision, effect, spot, troubles)
    same = twin(effect, spot, troubles)
    return replace(decision, twin_id=same.id if same else None)


def _until_lost(decision: Decision, effect: Trouble, spot: Spot, troubles: tuple[Trouble, ...]) -> Decision:
    """Missing rows that are late are decided about again when they will be lost."""
    late = [
        t for t in troubles if t.dataset == effect.dataset and t.category == FRESHNESS and effect.category in MISSING
    ]
    near = (narrowed(trouble, spot) for trouble in late)
    instants = (own.lost_at for trouble in near if trouble for own in trouble.spots if not own.lost)
    known = [instant for instant in (decision.until, *instants) if instant is not None]
    return replace(decision, until=min(known, default=None))


def _by_cause(
    effect: Trouble,
    spot: Spot,
    troubles: tuple[Trouble, ...],
    upstreams: Mapping[str, frozenset[str]],
    terms: EffectTerms,
    now: datetime,
) -> Decision:
    root = root_cause(effect, spot, troubles, upstreams)
    waited = (effect.failed_at or effect.since) + terms.sustain
    if root is not None and root.state is State.WARN:
        if now < waited:
            return Decision(action=AlertAction.WAIT, why=Why.CAUSE_MAY_FAIL, cause_id=root.id, until=waited)
        failed = tuple(trouble for trouble in troubles if trouble.state is State.FAIL)
        root = root_cause(effect, spot, failed, upstreams)
    if root is not None:
        return _under(root, effect, spot, now)
    return _after(terms, now)


def _under(cause: Trouble, effect: Trouble, spot: Spot, now: datetime) -> Decision:
    began = max(explains_since(cause, spot), spot.since or effect.since)
    until = cause.eta or began + LONGEST_INHIBITION
    if now < until:
        return Decision(action=AlertAction.INHIBIT, why=Why.CAUSE_FAILED, cause_id=cause.id, until=until)
    return Decision(action=AlertAction.NOTIFY, why=Why.CAUSE_OUTLASTED, cause_id=cause.id)


def _after(terms: EffectTerms, now: datetime) -> Decision:
    """The decision once no cause is left: a former one is only released by a broken result measured after it."""
    former = terms.former
    if former is None:
        return Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)
    rerun = terms.measured_at >= former.resolved_at  # in a replay the run that this asked for takes no time
    patience = max(terms.grace, terms.usual_delay)
    until = former.resolved_at + (patience if rerun else max(patience, LONGEST_INHIBITION))
    if now < until:
        why = Why.SETTLING if rerun else Why.AWAITING_RERUN
        return Decision(action=AlertAction.WAIT, why=why, cause_id=former.id, until=until)
    return Decision(action=AlertAction.NOTIFY, why=Why.STILL_BROKEN, cause_id=former.id)
