"""Alerts: opened and closed by their incidents, and whatever was told of them told on."""

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Q

from alerting.channels import channels
from alerting.inhibition.rules import FRESHNESS, AlertAction, Decision, EffectTerms, Why, decide, weigh_causes
from alerting.inhibition.selectors import Around, around, decide_waiting, measured_at, usual_delay
from alerting.models import Alert, Notice
from alerting.notices.messages import IncidentText, Message, assigned, led_by, opened, renamed
from alerting.notices.policy import Address, AlertFacts, Event, Hush, NewTests, NoticeStep, SilencedTime, plan_notices
from alerting.notices.services import (
    addressees,
    addresses,
    ask,
    own_addresses,
    silences_of,
    take_back,
    tell,
    write_down,
)
from alerting.routes import routes
from alerting.state import State
from alerting.trials import request_trials
from alerting.verdicts.evidence import of_the_past
from assay.accounts import followers_at_once
from assay.catalog.selectors import slas
from assay.models import Dataset, DataTest, Severity
from assay.queue.claims import finish
from assay.time.windows import Window

from .texts import NAMING, facts_of, failing, message, readers_of, redact_for, text_of

OPENINGS = (Event.OPENED, Event.DOWNSTREAM, Event.FOLLOWED)
ASKING = (Event.ASSIGNED,)
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
    take_back(alert, Hush.TOO_LATE, now=now)
    carry_out(alert, alert_facts(alert, last_decision(alert)), now)
    alert.next_notice_at = None
    alert.save(update_fields=["closed_at", "closing", "open_key", "next_notice_at"])
    for other in Alert.objects.filter(dataset=alert.dataset_id, closed_at__isnull=True, told_at__isnull=True):
        decide_soon(other, now + slas(alert.dataset).grace)  # it was told as this one, and may end with it


def update_alert(alert: Alert, *, now: datetime, eta: datetime | None = None, root_cause: str | None = None) -> None:
    """Set what is given: when the repair is expected, and why it is bad.

    What the alert inhibits is decided again, as that ends with the repair.
    """
    changes = {"eta": eta, "root_cause": root_cause}
    Alert.objects.filter(pk=alert.pk).update(**{name: value for name, value in changes.items() if value is not None})
    if eta is not None:
        Alert.objects.filter(cause=alert, closed_at__isnull=True).update(next_notice_at=now)
    alert.refresh_from_db(fields=["eta", "root_cause"])
    tell_progress(alert, Event.PROGRESS, now=now)


def acknowledge_alert(alert: Alert, *, author: str, now: datetime) -> None:
    """Show those who were told that somebody works on it, where a message can be changed."""
    take_back(alert, Hush.REASSIGNED, now=now)
    alert.working = f"{author} works on it."
    alert.save(update_fields=["working"])
    tell_progress(alert, Event.ACKNOWLEDGED, now=now)


def assign_alert(alert: Alert, *, to: str, author: str, now: datetime) -> tuple[str, ...]:
    """Ask ``to``, if that is anybody, to work on an open alert, and show it to those who were told before.

    The channels that reach them. A mute does not hold it back, as it is one person's word to another; quiet hours do.
    """
    take_back(alert, Hush.REASSIGNED, now=now)
    alert.working = f"{to} is asked to work on it." if to else ""
    alert.save(update_fields=["working"])
    text = text_of(alert)
    tell_progress(alert, Event.PROGRESS, now=now, besides=to, text=text)
    if not to:
        return ()
    request = assigned(redact_for(to, text), author=author)
    facts = facts_of(alert, Event.ASSIGNED, text)
    key = f"alert:{alert.pk}:{now:%Y%m%dT%H%M%S%f}"
    more: dict[str, Any] = {"facts": facts, "key": key, "now": now, "alert": alert, "is_soft": is_soft(alert)}
    return ask(to, subject=request.title, body=request.body, **more)


def tell_progress(
    alert: Alert, event: Event, *, now: datetime, besides: str = "", text: IncidentText | None = None
) -> None:
    """Change what those were told who were told of an open alert; a channel that cannot change it stays silent."""
    if alert.closed_at is not None:
        return
    text = text or text_of(alert)
    facts, key = facts_of(alert, event, text), f"alert:{alert.pk}:{now:%Y%m%dT%H%M%S%f}"
    _tell_notified(alert, event, opened, text, facts=facts, key=key, now=now, besides=besides)


def _tell_notified(
    alert: Alert,
    event: Event,
    say: Callable[[IncidentText], Message],
    text: IncidentText,
    *,
    besides: str = "",
    **more: Any,
) -> None:
    takers = {channel.name for channel in channels() if channel.takes(event)}
    for recipient, reached in notified_addresses(alert).items():
        if recipient != besides:
            words = say(redact_for(recipient, text))
            at = [address for address in reached if address.channel in takers]
            tell(event=event, recipient=recipient, subject=words.title, body=words.body, alert=alert, at=at, **more)


def release_after(alert: Alert, instant: datetime) -> None:
    """Note that an alert's cause ended at ``instant``: only a broken result measured later lets it speak."""
    Alert.objects.filter(pk=alert.pk, closed_at__isnull=True).update(release_after=instant, next_notice_at=instant)


def wake(alert: Alert, now: datetime, *, hard: bool) -> None:
    """A test has joined an alert: decide about it again, where people were told of the others.

    A hard one also ends the wait for somebody's quiet hours.
    """
    if alert.told_at is not None:
        decide_soon(alert, now)
    elif hard and routes().have_quiet_hours:
        waiting = Alert.objects.filter(pk=alert.pk, closed_at__isnull=True, told_at__isnull=True)
        waiting.filter(next_notice_at__gt=now).update(next_notice_at=now)


def decide_soon(alert: Alert, at: datetime) -> None:
    """Decide about an open alert again at ``at``, where it would not be before."""
    later = Q(next_notice_at=None) | Q(next_notice_at__gt=at)
    Alert.objects.filter(later, pk=alert.pk, closed_at__isnull=True).update(next_notice_at=at)


def alert_facts(alert: Alert, decision: Decision, *, twin: Alert | None = None) -> AlertFacts:
    """What the plan of an alert's notices rests on."""
    owner, downstream, followers = owner_of(alert), downstream_of(alert), followers_of(alert)
    return AlertFacts(
        incident_key=f"alert:{alert.pk}",
        opened_at=alert.opened_at,
        grace=slas(alert.dataset).grace,
        owner=owner,
        downstream=downstream,
        followers=followers,
        decision=decision,
        silences=tuple(
            SilencedTime(start=row.starts_at, end=row.ends_at, recipient=row.owner or None)
            for row in silences_of(alert)
        ),
        addressees=addressees(alert, OPENINGS),
        assignees=addressees(alert, ASKING),
        cause_recipients=_recipients(alert.cause, OPENINGS),
        twin_recipients=_recipients(twin, OPENINGS),
        twin_key=f"alert:{twin.pk}" if twin else "",
        closed_at=alert.closed_at,
        withdrawn=alert.closing not in ("", REPAIRED),
        tier=alert.dataset.tier,
        is_soft=any(address.quiet for address in (*owner, *downstream, *followers)) and is_soft(alert),
        new_tests=new_tests(alert) if alert.closed_at is None else {},
    )


def _recipients(alert: Alert | None, events: Collection[Event]) -> frozenset[str]:
    return frozenset(address.recipient for address in addressees(alert, events)) if alert else frozenset()


def new_tests(alert: Alert) -> dict[Address, NewTests]:
    """The tests that fail and that each address has not read of, where it has read of others."""
    named: dict[Address, set[str]] = {}
    for row in Notice.objects.filter(alert=alert, event__in=NAMING, suppressed=""):
        if "tests" in row.facts:
            address = Address(recipient=row.recipient, channel=row.channel)
            named.setdefault(address, set()).update(row.facts["tests"])
    rows = failing(alert) if named else []
    past = of_the_past(rows)
    by_address = {}
    for address, names in named.items():
        new = [row for row in rows if row.pk not in past and row.data_test.name not in names]
        if new:
            tests = tuple(dict.fromkeys(row.data_test.name for row in new))
            by_address[address] = NewTests(tests=tests, since=min(row.since for row in new))
    return by_address


def owner_of(alert: Alert) -> tuple[Address, ...]:
    """Where the owner is told of an alert."""
    return addresses(alert.owner, dataset=alert.dataset)


def downstream_of(alert: Alert) -> tuple[Address, ...]:
    """Where the owners of direct downstreams that may read what is broken are told of it."""
    datasets = {dataset.owner: dataset for dataset in readers_of(alert)}
    return tuple(
        address
        for owner in sorted(datasets)
        for address in addresses(owner, dataset=datasets[owner], event=Event.DOWNSTREAM)
    )


def followers_of(alert: Alert) -> tuple[Address, ...]:
    """Where those who follow its dataset are told of it at once, each as themselves."""
    names = followers_at_once(alert.dataset)
    return tuple(address for name in names for address in own_addresses(name, event=Event.FOLLOWED))


def notified_addresses(alert: Alert) -> dict[str, list[Address]]:
    """Where those who were told of an alert are reached now, by recipient; each place once, the owner's first."""
    followers = followers_of(alert)
    reachable = (*owner_of(alert), *downstream_of(alert), *followers)
    holders: dict[object, str] = {address.where: address.recipient for address in reversed(reachable)}
    reached: dict[str, list[Address]] = {}
    for who in sorted(_recipients(alert, (Event.OPENED, Event.DOWNSTREAM))):
        places = dict.fromkeys(address for address in reachable if address.recipient == who)
        reached[who] = list(places or addresses(who))
    for who in sorted(_recipients(alert, ASKING) - set(reached)):
        reached[who] = list(own_addresses(who, event=Event.ASSIGNED))
    # nobody is told in place of those who do not follow it any more, or may not read it
    for who in sorted(_recipients(alert if followers else None, (Event.FOLLOWED,)) - set(reached)):
        reached[who] = [address for address in followers if address.recipient == who]
    return {
        who: [address for address in places if holders.setdefault(address.where, who) == who]
        for who, places in reached.items()
    }


def is_soft(alert: Alert) -> bool:
    """Whether no hard test of an alert fails; once none fails any more, whether none that could is hard."""
    if rows := failing(alert):
        return all(row.revision.severity == Severity.SOFT for row in rows)
    live = DataTest.objects.filter(dataset=alert.dataset_id, category=alert.category, retired_at__isnull=True)
    severities = set(live.values_list("revision__severity", flat=True))
    return severities == {Severity.SOFT.value}


def last_decision(alert: Alert) -> Decision:
    """The decision that an alert rests on between two looks at it."""
    if alert.inhibited_at is None or alert.told_at is not None:
        return Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)
    return Decision(action=AlertAction.INHIBIT, why=Why.CAUSE_FAILED, until=alert.next_notice_at)


def carry_out(alert: Alert, facts: AlertFacts, now: datetime) -> datetime | None:
    """Write every notice that need not wait; when the first of those that do is due."""
    planned = plan_notices(facts, now=now)
    ready = [notice for notice in planned if notice.step is not NoticeStep.WAIT]
    written = set(Notice.objects.filter(key__in=[notice.key for notice in ready]).values_list("key", flat=True))
    new_notices = [notice for notice in ready if notice.key not in written]
    if new_notices:
        text = text_of(alert)
    for notice in new_notices:
        new = facts.new_tests.get(Address(recipient=notice.recipient, channel=notice.channel))
        tests = new.tests if new else ()
        words = message(notice.event, text, recipient=notice.recipient, alert=alert, now=now, tests=tests)
        details = facts_of(alert, notice.event, text)
        write_down(notice, alert=alert, subject=words.title, body=words.body, facts=details, now=now)
    return min((notice.due_at for notice in planned if notice.step is NoticeStep.WAIT), default=None)


# Decide about an alert's notices: tell now, wait, or stay silent because another trouble explains it.

LISTING = (Event.OPENED, Event.UPDATED, Event.PROGRESS, Event.ACKNOWLEDGED)
UNDER_A_CAUSE = frozenset({Why.CAUSE_MAY_FAIL, Why.CAUSE_FAILED, Why.CAUSE_OUTLASTED})


@dataclass(frozen=True, kw_only=True)
class AlertDecision:
    """A decision, and the alerts of the cause and of the twin that it names."""

    decision: Decision
    cause: Alert | None = None
    twin: Alert | None = None
    windows: frozenset[Window] = frozenset()  # that the twin has told of, and this tells of now
    evidence: tuple[dict[str, Any], ...] = ()  # as the alert keeps it


def decide_alert(alert: Alert, now: datetime) -> None:
    """Carry out what is to be told of an alert now, and note when to look at it again."""
    if alert.closed_at is not None:
        finish(alert, next_notice_at=None)
        return
    before = alert.cause_id if alert.inhibited_at is not None else None
    decided = decide_now(alert, now)
    silent = decided.decision.action is not AlertAction.NOTIFY
    alert.cause = decided.cause or (None if decided.twin else alert.cause)
    weighed = {row["alert"] for row in decided.evidence}
    # what an earlier decision stood on stays, as its cause may be over by now
    alert.evidence = [*(row for row in alert.evidence if row["alert"] not in weighed), *decided.evidence]
    waits_until = carry_out(alert, alert_facts(alert, decided.decision, twin=decided.twin), now)
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
        evidence=alert.evidence,
        release_after=alert.release_after,
        inhibited_at=(alert.inhibited_at or now) if silent else None,
        told_at=alert.told_at or (now if addressees(alert, OPENINGS) else None),
        next_notice_at=waits_until,
    )
    if silent and alert.cause is not None and alert.cause.told_at is not None and alert.cause_id != before:
        decide_soon(alert.cause, now)  # its message lists what it keeps silent
    if alert.told_at is not None:
        # change its messages, where a channel can, once it keeps more silent than they list
        text = text_of(alert)
        listing = Notice.objects.filter(alert=alert, suppressed="", event__in=LISTING).order_by("-pk")
        facts = listing.values_list("facts", flat=True).first() or {}
        if set(facts_of(alert, Event.PROGRESS, text)["inhibited"]) - set(facts.get("inhibited", [])):
            tell_progress(alert, Event.PROGRESS, now=now, text=text)


def decide_now(alert: Alert, now: datetime) -> AlertDecision:
    """The decision by what is broken around an alert; one without a failing window of its own speaks for itself.

    Of a value that was told to nobody yet, trials by the slices of what may have caused it are asked for.
    """
    nearby = around(alert.dataset_id, now)
    effect = nearby.troubles.get((alert.dataset_id, alert.category))
    if effect is None:
        return AlertDecision(decision=Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE))
    failed = [row for row in nearby.standings[alert.dataset_id, alert.category] if row.state == State.FAIL]
    if failed and alert.told_at is None and len(of_the_past(failed)) == len(failed):
        return AlertDecision(decision=Decision(action=AlertAction.INHIBIT, why=Why.OF_THE_PAST))
    troubles = nearby.troubles.values()
    weighed = weigh_causes(effect, troubles, nearby.upstreams)
    evidence = tuple(
        {"alert": cause.pk, **asdict(result)}
        for id_, result in weighed.items()
        if (cause := nearby.alert(id_)) is not None
    )
    if weighed and alert.told_at is None:
        places = (place for place, trouble in nearby.troubles.items() if trouble.id in weighed)
        request_trials(failed, [row for place in places for row in nearby.standings[place]], now)
    decision = decide(effect, troubles, nearby.upstreams, terms(alert, nearby), now=now)
    twin = nearby.alert(decision.twin_id)
    if twin is not None:
        # it has told of the same rows: of rows that come after all, if it kept freshness silent
        notices = Notice.objects.filter(key__startswith=f"{_update_key(twin, alert)}:")
        is_new = alert.category == FRESHNESS and alert.cause_id != twin.pk
        twin = twin if addressees(twin, OPENINGS) and (not is_new or notices.exists()) else None
    left = alert.inhibited_at is not None and alert.cause_id not in (None, twin.pk if twin else None)
    is_tried = any(result.columns and not result.explains for result in weighed.values())
    if decision.why is Why.NO_CAUSE and left and not is_tried:
        # The cause has left these windows, though its own incident goes on elsewhere: this is how it ends for them.
        alert.release_after = now
        decision = decide(effect, troubles, nearby.upstreams, terms(alert, nearby), now=now)
    cause = nearby.alert(decision.cause_id) if decision.why in UNDER_A_CAUSE else None
    if twin is None or decision.action is not AlertAction.NOTIFY:
        return AlertDecision(decision=decision, cause=cause, evidence=evidence)
    # the windows whose rows are lost, or for freshness late
    late = (t for t in troubles if (t.dataset, t.category) == (effect.dataset, FRESHNESS))
    spots = (spot for trouble in late for spot in trouble.spots)
    renamed = frozenset(spot.window for spot in spots if spot.lost is (effect.category != FRESHNESS))
    return AlertDecision(decision=decision, cause=cause, twin=twin, windows=renamed)


def _update_key(leader: Alert, other: Alert) -> str:
    return f"alert:{leader.pk}:by{other.pk}"


def terms(alert: Alert, nearby: Around) -> EffectTerms:
    """What the alert's own tests and dataset say."""
    rows = nearby.standings[alert.dataset_id, alert.category]
    former = alert.release_after
    return EffectTerms(
        sustain=max((row.revision.sustain for row in rows), default=timedelta()),
        grace=slas(alert.dataset).grace,
        measured_at=measured_at(rows, alert.opened_at),
        usual_delay=usual_delay(alert.dataset_id) if former else timedelta(),
        former_id=(alert.cause_id or 0) if former else None,
        released_at=former,
    )


def _update(
    leader: Alert, other: Alert, say: Callable[[IncidentText], Message], text: IncidentText, now: datetime
) -> None:
    """Tell those who were told of one alert what another makes of it, once."""
    facts, key = facts_of(leader, Event.UPDATED, text_of(leader)), _update_key(leader, other)
    more: dict[str, Any] = {"facts": facts, "key": key, "is_soft": is_soft(leader), "tier": leader.dataset.tier}
    _tell_notified(leader, Event.UPDATED, say, text, now=now, **more)
