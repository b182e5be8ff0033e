"""Who is told, when, and why not."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from alerting.grouping import group
from alerting.inhibition import Action, Decision, Why
from alerting.notice_policy import (
    Address,
    AlertFacts,
    Event,
    Hush,
    PlannedNotice,
    Silence,
    Step,
    next_notice_at,
    plan_notices,
)

OPENED = datetime(2024, 3, 5, 6, tzinfo=UTC)
OWNER = Address(recipient="team-trips", channel="email")
READER = Address(recipient="team-report", channel="slack")
ALONE = Decision(action=Action.NOTIFY, why=Why.NO_CAUSE)


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


def planned(alert: AlertFacts, now: float) -> dict[tuple[Event, str], PlannedNotice]:
    return {(notice.event, notice.recipient): notice for notice in plan_notices(alert, now=minutes(now))}


def steps(alert: AlertFacts, now: float) -> dict[tuple[Event, str], tuple[Step, Hush | None]]:
    return {key: (notice.step, notice.reason) for key, notice in planned(alert, now).items()}


def test_the_notice_waits_for_the_grace() -> None:
    notices = plan_notices(ALERT, now=minutes(29))
    assert {notice.step for notice in notices} == {Step.WAIT}
    assert next_notice_at(notices) == minutes(30)


def test_after_the_grace_the_owner_and_the_owners_of_direct_downstreams_are_told() -> None:
    assert steps(ALERT, 30) == {
        (Event.OPENED, "team-trips"): (Step.SEND, None),
        (Event.DOWNSTREAM, "team-report"): (Step.SEND, None),
    }


def test_a_key_names_incident_event_channel_and_recipient_and_never_changes() -> None:
    keys = {notice.key for notice in plan_notices(ALERT, now=minutes(0))}
    assert keys == {"dq:42:opened:email:team-trips", "dq:42:downstream:slack:team-report"}
    assert keys == {notice.key for notice in plan_notices(ALERT, now=minutes(99))}


def test_resolved_within_the_grace_tells_nobody() -> None:
    closed = replace(ALERT, closed_at=minutes(30))
    assert set(steps(closed, 31).values()) == {
        (Step.SUPPRESS, Hush.WITHIN_GRACE),
        (Step.SUPPRESS, Hush.NEVER_TOLD),
    }


def test_recovery_is_told_to_all_who_were_told_and_only_to_them() -> None:
    closed = replace(ALERT, closed_at=minutes(90), told=frozenset({OWNER}))
    found = steps(closed, 91)
    assert found[Event.RECOVERED, "team-trips"] == (Step.SEND, None)
    assert found[Event.RECOVERED, "team-report"] == (Step.SUPPRESS, Hush.NEVER_TOLD)
    assert found[Event.DOWNSTREAM, "team-report"] == (Step.SUPPRESS, Hush.TOO_LATE)


def test_those_told_before_an_owner_changed_hear_of_the_recovery_too() -> None:
    former = Address(recipient="team-old", channel="email")
    closed = replace(ALERT, closed_at=minutes(90), told=TOLD | {former})
    assert steps(closed, 91)[Event.RECOVERED, "team-old"] == (Step.SEND, None)


def test_a_withdrawn_alert_says_so_to_those_who_were_told() -> None:
    closed = replace(ALERT, closed_at=minutes(90), withdrawn=True, told=TOLD)
    assert steps(closed, 91)[Event.WITHDRAWN, "team-trips"] == (Step.SEND, None)


def test_an_inhibited_alert_waits_silently() -> None:
    inhibited = Decision(action=Action.INHIBIT, why=Why.CAUSE_FAILED, cause_id=7, until=minutes(600))
    alert = replace(ALERT, decision=inhibited)
    assert set(steps(alert, 300).values()) == {(Step.WAIT, Hush.INHIBITED)}
    assert steps(replace(alert, closed_at=minutes(300)), 301)[Event.OPENED, "team-trips"] == (
        Step.SUPPRESS,
        Hush.INHIBITED,
    )


def test_a_wait_for_the_cause_does_not_shorten_the_grace() -> None:
    waits = Decision(action=Action.WAIT, why=Why.CAUSE_MAY_FAIL, cause_id=7, until=minutes(10))
    assert next_notice_at(plan_notices(replace(ALERT, decision=waits), now=minutes(5))) == minutes(30)


def test_when_a_cause_outlasts_its_inhibition_only_owners_not_yet_told_get_a_notice() -> None:
    outlasted = Decision(action=Action.NOTIFY, why=Why.CAUSE_OUTLASTED, cause_id=7)
    alert = replace(ALERT, decision=outlasted, told_of_cause=frozenset({"team-trips"}))
    assert steps(alert, 2000) == {
        (Event.OPENED, "team-trips"): (Step.SUPPRESS, Hush.ALREADY_TOLD),
        (Event.DOWNSTREAM, "team-report"): (Step.SEND, None),
    }


def test_a_silence_postpones_the_notice_to_its_end() -> None:
    silences = (
        Silence(start=minutes(60), end=minutes(120)),
        Silence(start=minutes(0), end=minutes(60), recipient="team-trips"),
    )
    found = planned(replace(ALERT, silences=silences), 31)
    silenced, heard = found[Event.OPENED, "team-trips"], found[Event.DOWNSTREAM, "team-report"]
    assert (silenced.step, silenced.reason, silenced.due_at) == (Step.WAIT, Hush.SILENCED, minutes(120))
    assert heard.step is Step.SEND


def test_resolved_while_silenced_is_recorded_as_silenced() -> None:
    silence = Silence(start=minutes(0), end=minutes(120))
    closed = replace(ALERT, silences=(silence,), closed_at=minutes(90))
    assert steps(closed, 91)[Event.OPENED, "team-trips"] == (Step.SUPPRESS, Hush.SILENCED)


def test_a_silence_does_not_keep_the_recovery_from_those_who_were_told() -> None:
    silence = Silence(start=minutes(60), end=minutes(600))
    closed = replace(ALERT, silences=(silence,), told=TOLD, closed_at=minutes(90))
    assert steps(closed, 91)[Event.RECOVERED, "team-trips"] == (Step.SEND, None)


def test_an_owner_who_also_owns_a_downstream_is_told_once() -> None:
    also = Address(recipient="team-trips", channel="slack")
    alert = replace(ALERT, downstream=(also, READER, READER))
    notices = plan_notices(alert, now=minutes(30))
    assert [(notice.event, notice.step) for notice in notices] == [
        (Event.OPENED, Step.SEND),
        (Event.DOWNSTREAM, Step.SUPPRESS),
        (Event.DOWNSTREAM, Step.SEND),
    ]


def test_an_owner_without_a_channel_leaves_a_row_that_says_so() -> None:
    nobody = Address(recipient="team-lost", channel=None)
    alert = replace(ALERT, owner=(nobody,), downstream=())
    assert steps(alert, 30) == {(Event.OPENED, "team-lost"): (Step.SUPPRESS, Hush.NO_CHANNEL)}


@pytest.mark.parametrize("closed_at", [None, 10, 90])
@pytest.mark.parametrize("now", [0, 30, 100])
def test_every_row_has_its_own_key_and_a_reason_unless_it_is_sent(closed_at: float | None, now: int) -> None:
    alert = replace(ALERT, downstream=(READER, OWNER), told=TOLD if now else frozenset())
    alert = replace(alert, closed_at=None if closed_at is None else minutes(closed_at))
    notices = plan_notices(alert, now=minutes(now))
    assert len({notice.key for notice in notices}) == len(notices)
    assert all((notice.reason is None) == (notice.step is Step.SEND) for notice in notices)


def test_notices_to_one_recipient_on_one_channel_are_one_message() -> None:
    first, second = (plan_notices(replace(ALERT, incident_key=key), now=minutes(30)) for key in ("dq:1", "dq:2"))
    groups = group([*second, *first])
    assert [(g.recipient, g.channel, len(g.notices)) for g in groups] == [
        ("team-report", "slack", 2),
        ("team-trips", "email", 2),
    ]
    assert group([*first, *second]) == groups


def test_a_lone_notice_keeps_its_own_key_and_waiting_ones_are_left_out() -> None:
    assert [g.key for g in group(plan_notices(replace(ALERT, downstream=()), now=minutes(30)))] == [
        "dq:42:opened:email:team-trips"
    ]
    assert group(plan_notices(ALERT, now=minutes(29))) == ()
