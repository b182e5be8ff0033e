"""May a pipeline read this data now?"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from alerting.standing import State
from assay.windows import Window
from execution_engine.outcome import Outcome
from incident_manager.gate import Check, Decision, Policy, Question, Reported, Spoilt, judge_gate

MONDAY = datetime(2024, 3, 4, tzinfo=UTC)


def day(number: int = 0) -> Window:
    return Window(start=MONDAY + timedelta(days=number), end=MONDAY + timedelta(days=number + 1))


ALLOW, WARN, BLOCK = Decision.ALLOW, Decision.WARN, Decision.BLOCK
CLOSED, OPEN = Policy(fail_closed=True), Policy(fail_closed=False)
ONLY_INCIDENTS = Policy(fail_closed=True, only_incidents=True)
HELD = Check(test="duplicates", category="duplicates", window=day(), hard=True, state=State.PASS, outcome=Outcome.HELD)
BROKEN = replace(HELD, state=State.WARN, outcome=Outcome.BROKEN)
FAILED = replace(BROKEN, state=State.FAIL)
UNKNOWN = replace(HELD, state=State.UNKNOWN, outcome=None)
PENDING = replace(UNKNOWN, state=State.PENDING)
WHOLE = replace(FAILED, test="duplicates:whole", whole_table=True)
SPOILT = Spoilt(incident_id=7, category="duplicates", hard=True, window=day())
REPORT = Reported(report_id=3, window=day(), confirmed=False)


def asked(*facts: Check | Spoilt | Reported, policy: Policy = CLOSED, days: int = 1) -> Question:
    return Question(
        dataset="core.trips",
        window=Window(start=day().start, end=day(days - 1).end),
        datacenter="sea",
        policy=policy,
        checks=tuple(fact for fact in facts if isinstance(fact, Check)),
        spoilt=tuple(fact for fact in facts if isinstance(fact, Spoilt)),
        reports=tuple(fact for fact in facts if isinstance(fact, Reported)),
    )


def decision(*facts: Check | Spoilt | Reported, policy: Policy = CLOSED, days: int = 1) -> Decision:
    return judge_gate([asked(*facts, policy=policy, days=days)]).decision


@pytest.mark.parametrize(
    ("check", "policy", "expected"),
    [
        (HELD, CLOSED, ALLOW),
        (BROKEN, OPEN, BLOCK),
        (FAILED, OPEN, BLOCK),
        (replace(BROKEN, state=State.PENDING), OPEN, BLOCK),
        (replace(BROKEN, state=State.UNKNOWN), OPEN, BLOCK),
        (replace(BROKEN, hard=False), CLOSED, WARN),
        (replace(BROKEN, waived="wrong bound"), CLOSED, ALLOW),
        (replace(BROKEN, accepted="never repaired"), CLOSED, WARN),
        (UNKNOWN, CLOSED, BLOCK),
        (UNKNOWN, OPEN, ALLOW),
        (replace(UNKNOWN, hard=False), CLOSED, WARN),
        (PENDING, CLOSED, BLOCK),
        (PENDING, OPEN, ALLOW),
        (replace(PENDING, not_there_yet=True), OPEN, BLOCK),
        (replace(PENDING, not_there_yet=True, hard=False), OPEN, BLOCK),
        (replace(PENDING, state=State.UNTESTED), CLOSED, ALLOW),
        (replace(PENDING, state=State.LEARNING), CLOSED, ALLOW),
        (BROKEN, ONLY_INCIDENTS, WARN),
        (FAILED, ONLY_INCIDENTS, WARN),
        (UNKNOWN, ONLY_INCIDENTS, WARN),
        (replace(PENDING, not_there_yet=True), ONLY_INCIDENTS, WARN),
        (replace(BROKEN, datacenter="sea"), CLOSED, BLOCK),
        (replace(BROKEN, window=day(1)), CLOSED, ALLOW),
    ],
)
def test_one_check(check: Check, policy: Policy, expected: Decision) -> None:
    assert decision(check, policy=policy) is expected


@pytest.mark.parametrize(
    ("spoilt", "policy", "expected"),
    [
        (SPOILT, OPEN, BLOCK),
        (SPOILT, ONLY_INCIDENTS, BLOCK),
        (replace(SPOILT, hard=False), CLOSED, WARN),
        (replace(SPOILT, datacenter="sea"), CLOSED, BLOCK),
        (replace(SPOILT, datacenter="phx"), CLOSED, ALLOW),
        (replace(SPOILT, window=day(1)), CLOSED, ALLOW),
        (replace(SPOILT, window=None, whole_table=True), CLOSED, WARN),
        (replace(SPOILT, category="custom", window=None, whole_table=True), CLOSED, BLOCK),
    ],
)
def test_a_spoilt_window_beside_a_check_that_holds(spoilt: Spoilt, policy: Policy, expected: Decision) -> None:
    assert decision(HELD, spoilt, policy=policy) is expected


@pytest.mark.parametrize(
    ("report", "policy", "expected"),
    [
        (REPORT, CLOSED, WARN),
        (replace(REPORT, confirmed=True), OPEN, BLOCK),
        (replace(REPORT, confirmed=True), ONLY_INCIDENTS, BLOCK),
        (replace(REPORT, window=day(1), confirmed=True), CLOSED, ALLOW),
        (replace(REPORT, datacenter="phx", confirmed=True), CLOSED, ALLOW),
    ],
)
def test_a_users_report(report: Reported, policy: Policy, expected: Decision) -> None:
    assert decision(HELD, report, policy=policy) is expected


def test_what_is_missing_in_another_datacenter_does_not_block_here() -> None:
    assert decision(HELD, replace(FAILED, test="consistency:sea>phx", datacenter="phx")) is ALLOW


def test_a_whole_table_test_only_warns_where_a_partition_test_of_its_category_holds() -> None:
    assert decision(WHOLE, HELD) is WARN
    assert decision(WHOLE) is BLOCK
    assert decision(replace(WHOLE, hard=False)) is WARN
    assert decision(WHOLE, replace(HELD, category="custom")) is BLOCK
    assert decision(WHOLE, UNKNOWN, policy=OPEN) is BLOCK


def test_a_partition_test_must_hold_on_all_that_was_asked_to_outweigh_the_whole_table() -> None:
    tuesday = replace(HELD, window=day(1))
    assert decision(WHOLE, HELD, tuesday, days=2) is WARN
    assert decision(WHOLE, HELD, replace(tuesday, state=State.PENDING, outcome=None), policy=OPEN, days=2) is BLOCK


def test_every_reason_is_given_with_the_strictest_first() -> None:
    soft = replace(BROKEN, test="custom:fares", category="custom", hard=False)
    answer = judge_gate([asked(HELD, replace(UNKNOWN, test="x"), soft, SPOILT, REPORT, policy=OPEN)])
    assert [(reason.decision, reason.text) for reason in answer.reasons] == [
        (BLOCK, "duplicates incident 7 is open"),
        (WARN, "custom is broken (WARN)"),
        (WARN, "report 3 is not confirmed yet"),
        (ALLOW, "could not be judged"),
    ]
    assert answer.reasons[0].incident_id == 7
    assert answer.reasons[1].test == "custom:fares"


def test_the_strictest_dataset_decides_for_the_pipeline() -> None:
    good, bad = asked(HELD), replace(asked(BROKEN), dataset="raw.events")
    answer = judge_gate([good, bad])
    assert (answer.decision, answer.reasons[0].dataset) == (BLOCK, "raw.events")


def test_a_window_that_no_test_covers_is_allowed_and_says_so() -> None:
    answer = judge_gate([asked()])
    assert (answer.decision, answer.reasons[0].text) == (ALLOW, "no live test covers this window")


def test_a_waived_check_gives_the_users_reason() -> None:
    answer = judge_gate([asked(replace(FAILED, waived="wrong bound"))])
    assert [reason.text for reason in answer.reasons] == ["waived: wrong bound"]
