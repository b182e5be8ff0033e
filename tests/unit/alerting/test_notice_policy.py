"""Who is told, when, and why not."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2s

import pytest

from alerting.inhibition.rules import AlertAction, Decision, Why
from alerting.notices.policy import (
    Address,
    AlertFacts,
    Audience,
    Event,
    Hush,
    NewTests,
    NoticeStep,
    PlannedNotice,
    SilencedTime,
    audience_of_unknown,
    message_key,
    plan_notices,
)
from execution_engine.outcome import Reason

OPENED = datetime(2024, 3, 5, 6, tzinfo=UTC)
OWNER = Address(recipient="team-trips", channel="email")
READER = Address(recipient="team-report", channel="slack")
ALONE = Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)


def minutes(after: float) -> datetime:
    return OPENED + timedelta(minutes=after)


ALERT = AlertFacts(
    incident_key="dq:42",
    opened_at=OPENED,
    grace=timedelta(minutes=30),
    owner=(OWNER,),
    downstream=(READER,),
    decision=ALONE,
)
TOLD = frozenset({OWNER, READER})


def first_wait(notices: Iterable[PlannedNotice]) -> datetime | None:
    return min((notice.due_at for notice in notices if notice.step is NoticeStep.WAIT), default=None)


def planned(alert: AlertFacts, now: float) -> dict[tuple[Event, str], PlannedNotice]:
    return {(notice.event, notice.recipient): notice for notice in plan_notices(alert, now=minutes(now))}


def steps(alert: AlertFacts, now: float) -> dict[tuple[Event, str], tuple[NoticeStep, Hush | None]]:
    return {key: (notice.step, notice.reason) for key, notice in planned(alert, now).items()}


def test_after_the_grace_the_owner_and_the_owners_of_direct_downstreams_are_told() -> None:
    assert steps(ALERT, 30) == {
        (Event.OPENED, "team-trips"): (NoticeStep.SEND, None),
        (Event.DOWNSTREAM, "team-report"): (NoticeStep.SEND, None),
    }


def test_a_key_names_incident_event_channel_and_recipient_and_never_changes() -> None:
    keys = {notice.key for notice in plan_notices(ALERT, now=minutes(0))}
    assert keys == {"dq:42:opened:email:team-trips", "dq:42:downstream:slack:team-report"}
    assert keys == {notice.key for notice in plan_notices(ALERT, now=minutes(99))}


def test_resolved_within_the_grace_tells_nobody() -> None:
    closed = replace(ALERT, closed_at=minutes(30))
    assert set(steps(closed, 31).values()) == {
        (NoticeStep.SUPPRESS, Hush.WITHIN_GRACE),
        (NoticeStep.SUPPRESS, Hush.NEVER_TOLD),
    }


def test_recovery_is_told_to_all_who_were_told_and_only_to_them() -> None:
    closed = replace(ALERT, closed_at=minutes(90), addressees=frozenset({OWNER}))
    found = steps(closed, 91)
    assert found[Event.RECOVERED, "team-trips"] == (NoticeStep.SEND, None)
    assert found[Event.RECOVERED, "team-report"] == (NoticeStep.SUPPRESS, Hush.NEVER_TOLD)
    assert found[Event.DOWNSTREAM, "team-report"] == (NoticeStep.SUPPRESS, Hush.TOO_LATE)


def test_a_withdrawn_alert_says_so_to_those_who_were_told() -> None:
    closed = replace(ALERT, closed_at=minutes(90), withdrawn=True, addressees=TOLD)
    assert steps(closed, 91)[Event.WITHDRAWN, "team-trips"] == (NoticeStep.SEND, None)


def test_an_alert_that_ended_while_it_was_inhibited_says_so() -> None:
    inhibited = Decision(action=AlertAction.INHIBIT, why=Why.CAUSE_FAILED, cause_id=7, until=minutes(600))
    alert = replace(ALERT, decision=inhibited)
    assert set(steps(alert, 300).values()) == {(NoticeStep.WAIT, Hush.INHIBITED)}
    closed = steps(replace(alert, closed_at=minutes(300)), 301)
    assert closed[Event.OPENED, "team-trips"] == (NoticeStep.SUPPRESS, Hush.INHIBITED)


def test_when_a_cause_outlasts_its_inhibition_only_owners_not_yet_told_get_a_notice() -> None:
    outlasted = Decision(action=AlertAction.NOTIFY, why=Why.CAUSE_OUTLASTED, cause_id=7)
    alert = replace(ALERT, decision=outlasted, cause_recipients=frozenset({"team-trips"}))
    assert steps(alert, 2000) == {
        (Event.OPENED, "team-trips"): (NoticeStep.SUPPRESS, Hush.ALREADY_TOLD),
        (Event.DOWNSTREAM, "team-report"): (NoticeStep.SEND, None),
    }


def test_a_silence_postpones_the_notice_to_its_end() -> None:
    silences = (
        SilencedTime(start=minutes(60), end=minutes(120)),
        SilencedTime(start=minutes(0), end=minutes(60), recipient="team-trips"),
    )
    found = planned(replace(ALERT, silences=silences), 31)
    silenced, heard = found[Event.OPENED, "team-trips"], found[Event.DOWNSTREAM, "team-report"]
    assert (silenced.step, silenced.reason, silenced.due_at) == (NoticeStep.WAIT, Hush.SILENCED, minutes(120))
    assert heard.step is NoticeStep.SEND


def test_resolved_while_silenced_is_recorded_as_silenced() -> None:
    silence = SilencedTime(start=minutes(0), end=minutes(120))
    closed = replace(ALERT, silences=(silence,), closed_at=minutes(90))
    assert steps(closed, 91)[Event.OPENED, "team-trips"] == (NoticeStep.SUPPRESS, Hush.SILENCED)


def test_a_silence_does_not_keep_the_recovery_from_those_who_were_told() -> None:
    silence = SilencedTime(start=minutes(60), end=minutes(600))
    closed = replace(ALERT, silences=(silence,), addressees=TOLD, closed_at=minutes(90))
    assert steps(closed, 91)[Event.RECOVERED, "team-trips"] == (NoticeStep.SEND, None)


def test_an_owner_who_also_owns_a_downstream_is_told_once() -> None:
    also = Address(recipient="team-trips", channel="slack")
    alert = replace(ALERT, downstream=(also, READER, READER))
    notices = plan_notices(alert, now=minutes(30))
    assert [(notice.event, notice.step) for notice in notices] == [
        (Event.OPENED, NoticeStep.SEND),
        (Event.DOWNSTREAM, NoticeStep.SUPPRESS),
        (Event.DOWNSTREAM, NoticeStep.SEND),
    ]


def test_an_owner_without_a_channel_leaves_a_row_that_says_so() -> None:
    alert = replace(ALERT, owner=(Address(recipient="team-lost", channel=None),), downstream=())
    assert steps(alert, 30) == {(Event.OPENED, "team-lost"): (NoticeStep.SUPPRESS, Hush.NO_CHANNEL)}
    (notice,) = plan_notices(alert, now=minutes(0))
    assert (notice.key, notice.channel, notice.due_at) == ("dq:42:opened:none:team-lost", "none", minutes(30))


@pytest.mark.parametrize("closed_at", [None, 10, 90])
@pytest.mark.parametrize("now", [0, 30, 100])
def test_every_row_has_its_own_key_and_a_reason_unless_it_is_sent(closed_at: float | None, now: int) -> None:
    alert = replace(ALERT, downstream=(READER, OWNER), addressees=TOLD if now else frozenset())
    alert = replace(alert, closed_at=None if closed_at is None else minutes(closed_at))
    notices = plan_notices(alert, now=minutes(now))
    assert len({notice.key for notice in notices}) == len(notices)
    assert all((notice.reason is None) == (notice.step is NoticeStep.SEND) for notice in notices)


def test_the_texts_that_users_and_keys_carry_are_these() -> None:
    assert [event.value for event in Event] == [
        *(
            "opened",
            "also fails",
            "downstream",
            "followed",
            "recovered",
            "withdrawn",
            "updated",
            "unknown",
            "known again",
            "gaps",
        ),
        *("reported", "overridden", "platform", "progress", "acknowledged", "digest", "vital sign", "assigned"),
    ]
    assert [step.value for step in NoticeStep] == ["send", "wait", "suppress"]
    assert {hush.name: hush.value for hush in Hush} == {
        "WITHIN_GRACE": "resolved within grace",
        "INHIBITED": "inhibited by its cause",
        "SILENCED": "silenced",
        "QUIET": "within quiet hours",
        "TOO_LATE": "resolved before it could be sent",
        "ALREADY_TOLD": "already told",
        "REASSIGNED": "given to somebody else before",
        "NEVER_TOLD": "never told of the incident",
        "NO_CHANNEL": "no reachable channel",
        "OF_THE_PAST": "of the past: found by a back-fill that somebody asked for",
    }


def test_a_planned_notice_is_a_whole_row() -> None:
    (waiting, *_), (sent, *_) = plan_notices(ALERT, now=minutes(29)), plan_notices(ALERT, now=minutes(30))
    assert sent == PlannedNotice(
        key="dq:42:opened:email:team-trips",
        event=Event.OPENED,
        recipient="team-trips",
        channel="email",
        due_at=minutes(30),
        step=NoticeStep.SEND,
    )
    assert waiting == replace(sent, step=NoticeStep.WAIT, reason=Hush.WITHIN_GRACE)


@pytest.mark.parametrize("closed", [None, 10, 45])
def test_who_was_told_keeps_the_notice_as_it_went_out(closed: int | None) -> None:
    silences = (SilencedTime(start=minutes(0), end=minutes(600)),)
    alert = replace(ALERT, addressees=TOLD, silences=silences, closed_at=None if closed is None else minutes(closed))
    assert steps(alert, 46)[Event.OPENED, "team-trips"] == (NoticeStep.SEND, None)


@pytest.mark.parametrize(("closed", "reason"), [(29, Hush.WITHIN_GRACE), (30, Hush.WITHIN_GRACE), (31, Hush.TOO_LATE)])
def test_what_is_resolved_by_the_end_of_the_grace_was_within_it(closed: int, reason: Hush) -> None:
    found = steps(replace(ALERT, closed_at=minutes(closed)), 99)
    assert found[Event.OPENED, "team-trips"] == (NoticeStep.SUPPRESS, reason)


@pytest.mark.parametrize(
    ("until", "due", "reason"),
    [
        *((None, 30, Hush.WITHIN_GRACE), (10, 30, Hush.WITHIN_GRACE)),
        *((30, 30, Hush.WITHIN_GRACE), (31, 31, Hush.INHIBITED)),
    ],
)
@pytest.mark.parametrize("action", [AlertAction.WAIT, AlertAction.INHIBIT])
def test_a_cause_holds_a_notice_back_only_beyond_the_grace(
    action: AlertAction, until: int | None, due: int, reason: Hush
) -> None:
    held = Decision(action=action, why=Why.CAUSE_FAILED, until=None if until is None else minutes(until))
    notice = planned(replace(ALERT, decision=held), 29)[Event.OPENED, "team-trips"]
    assert (notice.step, notice.due_at, notice.reason) == (NoticeStep.WAIT, minutes(due), reason)


def test_the_end_of_a_decision_to_notify_holds_nothing_back() -> None:
    spoken = replace(ALONE, until=minutes(600))
    assert steps(replace(ALERT, decision=spoken), 30)[Event.OPENED, "team-trips"] == (NoticeStep.SEND, None)


@pytest.mark.parametrize(
    ("why", "told", "step"),
    [
        (Why.CAUSE_OUTLASTED, {"team-trips"}, NoticeStep.SUPPRESS),
        (Why.CAUSE_OUTLASTED, {"team-other"}, NoticeStep.SEND),
        (Why.STILL_BROKEN, {"team-trips"}, NoticeStep.SEND),
    ],
)
def test_only_a_cause_that_outlasts_its_time_speaks_for_its_effect(why: Why, told: set[str], step: NoticeStep) -> None:
    alert = replace(ALERT, decision=Decision(action=AlertAction.NOTIFY, why=why), cause_recipients=frozenset(told))
    assert planned(alert, 30)[Event.OPENED, "team-trips"].step is step


def test_who_knows_of_the_same_rows_by_another_alert_is_not_told_again_under_a_key_of_its_own() -> None:
    alert = replace(ALERT, twin_recipients=frozenset({"team-trips"}), twin_key="dq:41")
    found = planned(alert, 30)
    known, other = found[Event.OPENED, "team-trips"], found[Event.DOWNSTREAM, "team-report"]
    assert (known.step, known.reason) == (NoticeStep.SUPPRESS, Hush.ALREADY_TOLD)
    assert known.key == "dq:42:opened:email:team-trips:dq:41"
    assert (other.step, other.key) == (NoticeStep.SEND, "dq:42:downstream:slack:team-report")


@pytest.mark.parametrize("action", [AlertAction.WAIT, AlertAction.INHIBIT])
def test_a_twin_says_nothing_of_an_alert_that_is_held_back_by_its_cause(action: AlertAction) -> None:
    held = Decision(action=action, why=Why.CAUSE_FAILED, until=minutes(60))
    alert = replace(ALERT, decision=held, twin_recipients=frozenset({"team-trips"}), twin_key="dq:41")
    key = "dq:42:opened:email:team-trips"
    waiting = planned(alert, 45)[Event.OPENED, "team-trips"]
    assert (waiting.step, waiting.reason, waiting.key) == (NoticeStep.WAIT, Hush.INHIBITED, key)


@pytest.mark.parametrize(
    ("recipient", "at", "covered"),
    [
        (None, 10, True),
        (None, 19.9, True),
        (None, 20, False),
        (None, 9.9, False),
        ("team-trips", 10, True),
        ("team-report", 15, False),
    ],
)
def test_a_silence_is_from_its_start_to_before_its_end(recipient: str | None, at: float, covered: bool) -> None:
    silence = SilencedTime(start=minutes(10), end=minutes(20), recipient=recipient)
    assert silence.covers("team-trips", minutes(at)) is covered


def test_silences_that_follow_one_another_are_one_in_whatever_order_they_were_made() -> None:
    spans = [(90, 120), (20, 60), (60, 90), (130, 140)]
    silences = tuple(SilencedTime(start=minutes(start), end=minutes(end)) for start, end in spans)
    assert first_wait(plan_notices(replace(ALERT, silences=silences), now=minutes(31))) == minutes(120)


def test_the_next_notice_is_the_first_of_those_that_wait() -> None:
    silence = SilencedTime(start=minutes(0), end=minutes(50), recipient="team-trips")
    alert = replace(ALERT, silences=(silence,))
    assert first_wait(plan_notices(alert, now=minutes(10))) == minutes(30)
    assert first_wait(plan_notices(alert, now=minutes(40))) == minutes(50)
    assert first_wait(plan_notices(alert, now=minutes(50))) is None


def test_closings_go_once_to_owners_then_downstreams_then_all_others_who_were_told() -> None:
    former = [Address(recipient=name, channel="email") for name in ("team-b", "team-a")]
    alert = replace(ALERT, owner=(OWNER, OWNER), addressees=frozenset({OWNER, *former}), closed_at=minutes(90))
    closings = [notice for notice in plan_notices(alert, now=minutes(91)) if notice.event is Event.RECOVERED]
    assert [(each.recipient, each.step, each.reason, each.due_at) for each in closings] == [
        ("team-trips", NoticeStep.SEND, None, minutes(90)),
        ("team-report", NoticeStep.SUPPRESS, Hush.NEVER_TOLD, minutes(90)),
        ("team-a", NoticeStep.SEND, None, minutes(90)),
        ("team-b", NoticeStep.SEND, None, minutes(90)),
    ]
    assert closings[0].key == "dq:42:recovered:email:team-trips"


def test_the_key_of_a_message_is_the_same_in_every_order_process_and_release() -> None:
    keys = ["dq:1:opened:email:team-trips", "dq:2:opened:email:team-trips"]
    assert message_key(keys) == message_key(reversed(keys))
    assert message_key(keys) == f"group:{blake2s(chr(10).join(keys).encode(), digest_size=16).hexdigest()}"
    assert message_key(keys[:1]) == keys[0]


def test_what_is_not_said_of_an_alert_is_nothing() -> None:
    alone = AlertFacts(incident_key="dq:42", opened_at=OPENED, grace=timedelta(0), owner=(), decision=ALONE)
    assert (alone.downstream, alone.silences, alone.twin_key) == ((), (), "")
    assert (alone.addressees, alone.cause_recipients, alone.twin_recipients) == (frozenset(), frozenset(), frozenset())
    assert (alone.closed_at, alone.withdrawn) == (None, False)


def test_a_test_that_begins_to_fail_later_is_told_once_to_those_who_were_told_of_the_others() -> None:
    new = NewTests(tests=("paid",), since=minutes(60))
    later = replace(ALERT, addressees=TOLD, new_tests={OWNER: new, READER: new})
    assert steps(later, 89)[Event.ALSO_FAILS, "team-trips"] == (NoticeStep.WAIT, Hush.WITHIN_GRACE)
    assert steps(later, 90)[Event.ALSO_FAILS, "team-trips"] == (NoticeStep.SEND, None)
    assert (Event.ALSO_FAILS, "team-report") not in steps(later, 90)  # once is enough for who only reads
    assert (Event.ALSO_FAILS, "team-trips") not in steps(replace(later, addressees=frozenset()), 90)
    assert (Event.ALSO_FAILS, "team-trips") not in steps(replace(later, closed_at=minutes(80)), 90)


def test_each_set_of_new_tests_has_a_key_of_its_own() -> None:
    def key(*tests: str) -> str:
        new = {OWNER: NewTests(tests=tests, since=OPENED)}
        return planned(replace(ALERT, addressees=TOLD, new_tests=new), 90)[Event.ALSO_FAILS, "team-trips"].key

    assert key("paid", "rides") == key("rides", "paid") != key("paid")
    assert key("paid").endswith(":also fails:email:team-trips")


@pytest.mark.parametrize(
    ("reason", "freshness_broken", "audience"),
    [
        (Reason.TIMEOUT, False, Audience.ON_CALL),
        (Reason.ENGINE_UNREACHABLE, True, Audience.ON_CALL),
        (None, False, Audience.ON_CALL),
        (Reason.INVALID, False, Audience.OWNER),
        (Reason.UNKNOWN_COLUMN, True, Audience.OWNER),
        (Reason.NO_DATA, False, Audience.ON_CALL),
        (Reason.NO_DATA, True, Audience.NOBODY),
        (Reason.UNDEFINED, False, Audience.OWNER),
        (Reason.UNDEFINED, True, Audience.NOBODY),
        (Reason.WARMING_UP, False, Audience.NOBODY),
        (Reason.NOT_DUE, False, Audience.NOBODY),
    ],
)
def test_the_cause_of_an_unknown_says_who_hears_of_it(
    reason: Reason | None, freshness_broken: bool, audience: Audience
) -> None:
    assert audience_of_unknown(reason, freshness_broken=freshness_broken) is audience


SHARED = (
    Address(recipient="team-trips", channel="slack", place="#data"),
    Address(recipient="team-report", channel="slack", place="#data"),
)


def test_one_place_is_told_once_whoever_stands_behind_it() -> None:
    both = replace(ALERT, owner=SHARED[:1], downstream=SHARED[1:])
    assert steps(both, 30) == {
        (Event.OPENED, "team-trips"): (NoticeStep.SEND, None),
        (Event.DOWNSTREAM, "team-report"): (NoticeStep.SUPPRESS, Hush.ALREADY_TOLD),
    }
    assert set(steps(both, 29).values()) == {(NoticeStep.WAIT, Hush.WITHIN_GRACE)}


def test_one_place_hears_of_the_end_once() -> None:
    both = replace(ALERT, owner=SHARED[:1], downstream=SHARED[1:], addressees=frozenset(SHARED))
    ends = steps(replace(both, closed_at=minutes(60)), 60)
    assert {name: step for (event, name), step in ends.items() if event is Event.RECOVERED} == {
        "team-trips": (NoticeStep.SEND, None),
        "team-report": (NoticeStep.SUPPRESS, Hush.ALREADY_TOLD),
    }
