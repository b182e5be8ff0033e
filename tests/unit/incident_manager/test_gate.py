"""May a pipeline read this data now?"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.state import State
from assay.time.windows import Window
from execution_engine.outcome import Outcome
from incident_manager.gate.rules import (
    Because,
    GateAnswer,
    GateDecision,
    Override,
    Policy,
    bound,
    decide,
    gathered,
    in_the_way,
    overridden_all,
)
from incident_manager.intervals import Intervals
from incident_manager.quality.rules import (
    AnswerReason,
    Calendar,
    ClaimFact,
    DataTestFact,
    Facts,
    QualityAnswer,
    QualityStatus,
    RangeRequest,
    ReasonKind,
    SpoiltFact,
    StandingFact,
    judge,
)

MONDAY = datetime(2024, 3, 4, tzinfo=UTC)


def day(number: int = 0) -> Window:
    return Window(start=MONDAY + timedelta(days=number), end=MONDAY + timedelta(days=number + 1))


ALLOW, WARN, BLOCK = GateDecision.ALLOW, GateDecision.WARN, GateDecision.BLOCK
CLOSED, OPEN = Policy(fail_closed=True), Policy(fail_closed=False)
ONLY_INCIDENTS = Policy(fail_closed=True, only_incidents=True)
TEST = DataTestFact(id=1, name="duplicates", category="duplicates", hard=True, judges_from=MONDAY - timedelta(days=9))
SOFT = replace(TEST, hard=False)
OTHER = replace(TEST, id=2, name="custom:fares", category="custom")
WHOLE_TABLE = DataTestFact(id=3, name="duplicates:whole", category="duplicates", hard=True, whole_table=True)
HELD = {1: (day(),)}
BROKEN = StandingFact(test=TEST, windows=(day(),), state=State.WARN, outcome=Outcome.BROKEN)
FAILED = replace(BROKEN, state=State.FAIL)
UNKNOWN = replace(BROKEN, state=State.UNKNOWN, outcome=None)
WHOLE = replace(FAILED, test=WHOLE_TABLE)
SPOILT = SpoiltFact(incident_id=7, category="duplicates", hard=True, windows=(day(),))
CONFIRMED = replace(SPOILT, report_id=3)
CLAIM = ClaimFact(report_id=3, window=day())
DONE = Calendar(due_to=day(9).start, ended_to=day(9).start)


def answer(
    *facts: StandingFact | SpoiltFact | ClaimFact,
    policy: Policy = CLOSED,
    days: int = 1,
    held: Mapping[int, Intervals] | None = None,
) -> GateAnswer:
    checks = tuple(fact for fact in facts if isinstance(fact, StandingFact))
    live = {test.id: test for test in (TEST, *(check.test for check in checks))}
    known = Facts(
        dataset="core.trips",
        tests=tuple(live.values()),
        checks=checks,
        held=(HELD if not any(check.test.id == 1 for check in checks) else {}) if held is None else held,
        spoilt=tuple(fact for fact in facts if isinstance(fact, SpoiltFact)),
        claims=tuple(fact for fact in facts if isinstance(fact, ClaimFact)),
        calendar=DONE,
    )
    asked = RangeRequest(window=Window(start=day().start, end=day(days - 1).end), datacenter="sea")
    return decide([(judge(known, asked), policy)])


@pytest.mark.parametrize(
    ("check", "policy", "expected"),
    [
        (BROKEN, OPEN, BLOCK),
        (FAILED, OPEN, BLOCK),
        (replace(BROKEN, test=SOFT), CLOSED, WARN),
        (replace(BROKEN, waived="wrong bound"), CLOSED, ALLOW),
        (replace(BROKEN, accepted="never repaired"), CLOSED, WARN),
        (UNKNOWN, CLOSED, BLOCK),
        (UNKNOWN, OPEN, ALLOW),
        (replace(UNKNOWN, test=SOFT), CLOSED, WARN),
        (BROKEN, ONLY_INCIDENTS, WARN),
    ],
)
def test_one_check(check: StandingFact, policy: Policy, expected: GateDecision) -> None:
    assert answer(check, policy=policy).decision is expected


def test_a_window_that_holds_is_allowed_without_a_reason() -> None:
    assert answer() == GateAnswer(decision=ALLOW, reasons=())


def test_a_whole_table_test_only_warns_where_a_partition_test_of_its_category_holds() -> None:
    alone = replace(WHOLE, test=replace(WHOLE_TABLE, category="custom"))
    assert answer(WHOLE).decision is WARN
    assert answer(WHOLE, held={}, policy=OPEN).decision is BLOCK
    assert answer(alone).decision is BLOCK
    assert answer(replace(WHOLE, test=replace(WHOLE_TABLE, hard=False)), held={}, policy=OPEN).decision is WARN
    assert answer(WHOLE, UNKNOWN, policy=OPEN).decision is BLOCK


def test_a_partition_test_must_hold_on_all_that_was_asked_to_outweigh_the_whole_table() -> None:
    both = {1: (Window(start=day().start, end=day(1).end),)}
    assert answer(WHOLE, days=2, held=both).decision is WARN
    assert answer(WHOLE, days=2, held=HELD, policy=OPEN).decision is BLOCK


def test_every_reason_is_given_with_the_strictest_first() -> None:
    soft = replace(BROKEN, test=replace(OTHER, hard=False))
    unknown = replace(UNKNOWN, test=replace(OTHER, id=5, name="x"))
    found = answer(unknown, soft, SPOILT, CLAIM, policy=OPEN)
    assert [(reason.decision, reason.text) for reason in found.reasons] == [
        (BLOCK, "duplicates incident 7 is open"),
        (WARN, "custom is broken (WARN): no incident yet"),
        (WARN, "report 3 is not confirmed yet"),
        (ALLOW, "could not be judged"),
    ]
    assert found.reasons[0].incident_id == 7
    assert found.reasons[1].test == "custom:fares"


def test_the_strictest_dataset_decides_for_the_pipeline() -> None:
    asked = RangeRequest(window=day(), datacenter="sea")
    good = Facts(dataset="core.trips", tests=(TEST,), held=HELD, calendar=DONE)
    bad = Facts(dataset="raw.events", tests=(TEST,), checks=(BROKEN,), calendar=DONE)
    found = decide([(judge(known, asked), CLOSED) for known in (good, bad)])
    assert (found.decision, found.reasons[0].dataset) == (BLOCK, "raw.events")


def test_the_answers_are_these_words() -> None:
    assert [decision.value for decision in GateDecision] == ["allow", "warn", "block"]


HARD, MILD = {"hard": True}, {"hard": False}


@pytest.mark.parametrize(
    ("kind", "terms", "closed", "open_", "incidents"),
    [
        (ReasonKind.BROKEN, HARD, BLOCK, BLOCK, WARN),
        (ReasonKind.BROKEN, MILD, WARN, WARN, WARN),
        (ReasonKind.SPOILT, HARD, BLOCK, BLOCK, BLOCK),
        (ReasonKind.SPOILT, MILD, WARN, WARN, WARN),
        (ReasonKind.NOT_IN_CATALOG, MILD, BLOCK, BLOCK, WARN),
        (ReasonKind.NOT_THERE_YET, HARD, BLOCK, BLOCK, WARN),
        (ReasonKind.NOT_THERE_YET, MILD, BLOCK, BLOCK, WARN),
        (ReasonKind.NOT_JUDGED, HARD, BLOCK, ALLOW, WARN),
        (ReasonKind.NOT_JUDGED, MILD, WARN, ALLOW, WARN),
        (ReasonKind.NOT_OVER, HARD, BLOCK, ALLOW, WARN),
        (ReasonKind.NOT_OVER, MILD, WARN, ALLOW, WARN),
        (ReasonKind.CLAIMED, HARD, WARN, WARN, WARN),
        (ReasonKind.ACCEPTED, HARD, WARN, WARN, WARN),
        (ReasonKind.UNTESTED, HARD, ALLOW, ALLOW, ALLOW),
        (ReasonKind.NO_TEST, HARD, ALLOW, ALLOW, ALLOW),
        (ReasonKind.LEARNING, HARD, ALLOW, ALLOW, ALLOW),
        (ReasonKind.WAIVED, HARD, ALLOW, ALLOW, ALLOW),
    ],
)
def test_what_each_kind_of_reason_asks_for(
    kind: ReasonKind, terms: dict[str, bool], closed: GateDecision, open_: GateDecision, incidents: GateDecision
) -> None:
    reason = AnswerReason(kind=kind, text="so", windows=(day(),), **terms)  # type: ignore[arg-type]
    known = QualityAnswer(dataset="core.trips", request=RangeRequest(), status=QualityStatus.GOOD, reasons=(reason,))
    decisions = [decide([(known, policy)]).decision for policy in (CLOSED, OPEN, ONLY_INCIDENTS)]
    assert decisions == [closed, open_, incidents]


def test_a_policy_gates_on_all_unless_it_says_incidents() -> None:
    assert Policy(fail_closed=False) == Policy(fail_closed=False, only_incidents=False)


@pytest.mark.parametrize(
    ("whole_table", "holds", "expected"),
    [(True, {"duplicates"}, WARN), (True, {"custom"}, BLOCK), (False, {"duplicates"}, BLOCK), (True, set(), BLOCK)],
)
@pytest.mark.parametrize("kind", [ReasonKind.BROKEN, ReasonKind.SPOILT])
def test_only_a_test_of_the_whole_table_is_outweighed_and_only_in_its_own_category(
    kind: ReasonKind, whole_table: bool, holds: set[str], expected: GateDecision
) -> None:
    reason = AnswerReason(
        kind=kind, text="so", windows=(day(),), hard=True, category="duplicates", whole_table=whole_table
    )
    known = QualityAnswer(
        dataset="x",
        request=RangeRequest(),
        status=QualityStatus.BAD,
        reasons=(reason,),
        holds_throughout=frozenset(holds),
    )
    assert decide([(known, OPEN)]).decision is expected


def test_a_reason_of_an_answer_says_all_that_is_known_of_it() -> None:
    said: dict[str, Any] = {"windows": (day(0), day(2), day(4)), "text": "so", "kind": ReasonKind.SPOILT}
    said |= {"test": "t", "incident_id": 7, "report_id": 3, "category": "freshness"}
    reason = AnswerReason(hard=True, **said)
    known = QualityAnswer(dataset="core.trips", request=RangeRequest(), status=QualityStatus.BAD, reasons=(reason,))
    (because,) = decide([(known, CLOSED)]).reasons
    assert because == Because(decision=BLOCK, dataset="core.trips", **said)
    assert because.window == Window(start=day(0).start, end=day(4).end)


def test_reasons_of_like_strictness_stay_in_their_order_and_none_allow() -> None:
    asked = [(ALLOW, "a"), (BLOCK, "b"), (WARN, "c"), (BLOCK, "d"), (WARN, "e")]
    reasons = [Because(decision=decision, dataset=name, windows=(), text="") for decision, name in asked]
    assert [each.dataset for each in gathered(reasons).reasons] == ["b", "d", "c", "e", "a"]
    assert gathered(reasons).decision is BLOCK
    assert gathered([]) == GateAnswer(decision=ALLOW, reasons=())


def bound_answer(fact: StandingFact | SpoiltFact, *, policy: Policy = CLOSED, **bindings: bool) -> GateAnswer:
    """What a pipeline is answered that is bound to tests, by their names with ``:`` for ``_``."""
    hard = {name.replace("_", ":"): is_strong for name, is_strong in bindings.items()}
    checks = [fact] if isinstance(fact, StandingFact) else []
    facts = Facts(
        dataset="core.trips",
        tests=[checks[0].test if checks else TEST],
        checks=checks,
        held={} if checks else HELD,
        spoilt=[fact] if isinstance(fact, SpoiltFact) else [],
        calendar=DONE,
    )
    asked = RangeRequest(window=day(), datacenter="sea")
    return decide([(judge(bound(facts, hard), asked), replace(policy, bound=hard))])


def because(kind: ReasonKind, *, decision: GateDecision = BLOCK, report: int | None = None) -> Because:
    return Because(decision=decision, dataset="a.b", windows=(day(),), text=kind, kind=kind, report_id=report)


@pytest.mark.parametrize(
    "kind", [ReasonKind.BROKEN, ReasonKind.SPOILT, ReasonKind.NOT_JUDGED, ReasonKind.NOT_THERE_YET]
)
def test_what_is_run_again_is_worth_waiting_for(kind: ReasonKind) -> None:
    assert in_the_way(gathered([because(kind)]), until=day().end) is None


def test_a_confirmed_report_waits_for_a_person() -> None:
    report = because(ReasonKind.SPOILT, report=3)
    assert in_the_way(gathered([because(ReasonKind.BROKEN), report]), until=day().end) == report
    assert in_the_way(gathered([replace(report, decision=WARN)]), until=day().end) is None


@pytest.mark.parametrize(("hours", "is_worth_it"), [(-1, False), (0, True), (1, True)])
def test_a_window_that_is_not_over_is_worth_waiting_for_if_it_ends_in_time(hours: int, is_worth_it: bool) -> None:
    until = day().end + timedelta(hours=hours)
    assert (in_the_way(gathered([because(ReasonKind.NOT_OVER)]), until=until) is None) is is_worth_it


BY_TEST = replace(SPOILT, test_id=1)
SOFTLY_BROKEN = replace(BROKEN, test=SOFT)


@pytest.mark.parametrize("policy", [CLOSED, OPEN])
@pytest.mark.parametrize(
    ("fact", "is_strong", "expected"),
    [
        (BROKEN, False, WARN),
        (BROKEN, True, BLOCK),
        (SOFTLY_BROKEN, True, BLOCK),
        (SOFTLY_BROKEN, False, WARN),
        (FAILED, False, WARN),
        (BY_TEST, False, WARN),
        (replace(BY_TEST, hard=False), True, BLOCK),
    ],
)
def test_a_binding_goes_before_the_severity_of_a_test(
    fact: StandingFact | SpoiltFact, is_strong: bool, expected: GateDecision, policy: Policy
) -> None:
    assert bound_answer(fact, policy=policy, duplicates=is_strong).decision is expected


@pytest.mark.parametrize(
    ("fact", "expected"), [(BROKEN, BLOCK), (SOFTLY_BROKEN, WARN), (BY_TEST, BLOCK), (CONFIRMED, BLOCK)]
)
def test_a_binding_is_of_its_own_test_alone(fact: StandingFact | SpoiltFact, expected: GateDecision) -> None:
    assert bound_answer(fact, custom_fares=False).decision is expected
    assert bound_answer(fact, custom_fares=True).decision is expected


def test_a_confirmed_report_blocks_a_pipeline_whatever_it_is_bound_to() -> None:
    assert bound_answer(CONFIRMED, duplicates=False).decision is BLOCK


def test_a_gate_on_incidents_waits_for_one_though_the_binding_is_strong() -> None:
    assert bound_answer(SOFTLY_BROKEN, policy=ONLY_INCIDENTS, duplicates=True).decision is WARN
    assert bound_answer(replace(BY_TEST, hard=False), policy=ONLY_INCIDENTS, duplicates=True).decision is BLOCK


def test_what_is_not_there_yet_stops_no_pipeline_that_is_bound_weakly() -> None:
    def decision(hard: Mapping[str, bool]) -> GateDecision:
        facts = Facts(dataset="core.trips", tests=[TEST], incomplete={1: (day(),)}, calendar=DONE)
        asked = RangeRequest(window=day(), datacenter="sea")
        return decide([(judge(bound(facts, hard), asked), replace(OPEN, bound=hard))]).decision

    assert (decision({}), decision({"duplicates": True}), decision({"duplicates": False})) == (BLOCK, BLOCK, WARN)


def test_an_override_of_some_windows_leaves_the_others_blocked_and_keeps_the_status() -> None:
    both = Window(start=day().start, end=day().end + timedelta(days=1))
    because = replace(bound_answer(BROKEN).reasons[0], decision=BLOCK, windows=(both,))
    override = Override(window=day(), author="ada", reason="known", ends_at=day().end)
    answer = GateAnswer(decision=BLOCK, reasons=(because,), status=QualityStatus.BAD)
    found = overridden_all(answer, [override])
    assert (found.decision, found.status) == (BLOCK, QualityStatus.BAD)
    assert {reason.decision: reason.windows for reason in found.reasons} == {
        WARN: (day(),),
        BLOCK: (Window(start=day().end, end=both.end),),
    }


def test_the_reason_says_how_the_pipeline_is_bound() -> None:
    (weak,) = bound_answer(BROKEN, duplicates=False).reasons
    (strong,) = bound_answer(BROKEN, duplicates=True).reasons
    (free,) = bound_answer(BROKEN).reasons
    assert weak.text == f"{free.text} (weak for this pipeline)"
    assert strong.text == f"{free.text} (strong for this pipeline)"
