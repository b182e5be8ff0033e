"""What is known of a range of a dataset, and why."""

from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.state import State
from assay.time.windows import Window
from execution_engine.outcome import Outcome, Reason
from incident_manager.intervals import Intervals
from incident_manager.quality.rules import (
    HIDDEN,
    Calendar,
    ClaimFact,
    DataTestFact,
    Facts,
    QualityAnswer,
    QualityStatus,
    RangeRequest,
    ReasonKind,
    SourceFacts,
    SpoiltFact,
    StandingFact,
    concerning,
    concerns,
    instants,
    judge,
    overdue,
    overlapping,
    worst,
)
from incident_manager.quality.rules import AnswerReason as Said

MONDAY = datetime(2024, 3, 4, tzinfo=UTC)


def days(first: int, last: int) -> Window:
    """From the start of one day to the end of another, counted from Monday, 4 March 2024."""
    return Window(start=MONDAY + timedelta(days=first), end=MONDAY + timedelta(days=last + 1))


TODAY = days(0, 0)
TEST = DataTestFact(id=1, name="freshness", category="freshness", hard=True, judges_from=days(-7, 0).start)
SOFT = replace(TEST, hard=False)
WEEKLY = DataTestFact(id=2, name="duplicates:whole", category="duplicates", hard=True, whole_table=True)
OUTSIDE = replace(WEEKLY, id=9, name="unpartitioned:whole", category="completeness", hard=False, judges_rows=False)
CALENDAR = Calendar(due_to=days(3, 3).start, ended_to=days(4, 4).start)  # Thursday has ended, Wednesday is due
HELD: Mapping[int, Intervals] = {1: (days(-7, 2),)}
BROKEN = StandingFact(test=TEST, windows=(TODAY,), state=State.FAIL, outcome=Outcome.BROKEN)
UNKNOWN = replace(BROKEN, state=State.UNKNOWN, outcome=None, error=Reason.QUERY_FAILED)
SPOILT = SpoiltFact(incident_id=7, category="freshness", hard=True, windows=(TODAY,))
CLAIM = ClaimFact(report_id=3, window=TODAY)


def answer_of(window: Window | None = TODAY, *, place: str | None = "sea", **facts: Any) -> QualityAnswer:
    known = {"tests": (TEST,), "calendar": CALENDAR, **facts}
    known.setdefault("held", {} if known.get("checks") else HELD)
    return judge(Facts(dataset="shop.rides", **known), RangeRequest(window=window, datacenter=place))


CASES: list[tuple[str, dict[str, Any], QualityStatus]] = [
    ("a test that holds", {}, QualityStatus.GOOD),
    ("a test that fails", {"checks": (BROKEN,)}, QualityStatus.BAD),
    ("one that warns", {"checks": (replace(BROKEN, state=State.WARN),)}, QualityStatus.BAD),
    ("one that broke before it was due", {"checks": (replace(BROKEN, state=State.PENDING),)}, QualityStatus.BAD),
    ("one that broke and erred since", {"checks": (replace(BROKEN, state=State.UNKNOWN),)}, QualityStatus.BAD),
    ("a soft one that fails", {"checks": (replace(BROKEN, test=SOFT),)}, QualityStatus.BAD),
    ("an incident", {"spoilt": (SPOILT,)}, QualityStatus.BAD),
    ("a confirmed report", {"spoilt": (replace(SPOILT, report_id=3),)}, QualityStatus.BAD),
    ("a hard one without a verdict", {"checks": (UNKNOWN,)}, QualityStatus.UNKNOWN),
    ("a soft one without a verdict", {"checks": (replace(UNKNOWN, test=SOFT),)}, QualityStatus.UNTESTED),
    (
        "a soft one that cannot read",
        {"checks": (replace(UNKNOWN, test=SOFT, error=Reason.UNREADABLE),)},
        QualityStatus.UNKNOWN,
    ),
    ("one that erred and is due", {"checks": (replace(UNKNOWN, state=State.PENDING),)}, QualityStatus.UNKNOWN),
    (
        "one that erred and is not due",
        {"checks": (replace(UNKNOWN, state=State.PENDING, is_due=False),)},
        QualityStatus.UNTESTED,
    ),
    ("no standing, though due", {"held": {}}, QualityStatus.UNKNOWN),
    ("no standing of a soft test, though due", {"held": {}, "tests": (SOFT,)}, QualityStatus.UNTESTED),
    ("a claim", {"claims": (CLAIM,)}, QualityStatus.REPORTED),
    ("an accepted fault", {"checks": (replace(BROKEN, accepted="gone"),)}, QualityStatus.REPORTED),
    ("a waived fault", {"checks": (replace(BROKEN, waived="twins"),)}, QualityStatus.GOOD),
    ("a test that learns", {"checks": (replace(UNKNOWN, state=State.LEARNING),)}, QualityStatus.UNTESTED),
    ("a test that never judged it", {"checks": (replace(UNKNOWN, state=State.UNTESTED),)}, QualityStatus.UNTESTED),
    ("no test", {"tests": (), "held": {}}, QualityStatus.UNTESTED),
    ("a weekly test that holds", {"tests": (WEEKLY,), "held": {2: (days(-90, 0),)}}, QualityStatus.GOOD),
    ("an unknown dataset", {"is_known": False}, QualityStatus.UNKNOWN),
    ("a claim elsewhere", {"claims": (replace(CLAIM, datacenter="phx"),)}, QualityStatus.GOOD),
    (
        "rows that lie in no partition",
        {"tests": (OUTSIDE,), "checks": (replace(BROKEN, test=OUTSIDE),)},
        QualityStatus.BAD,
    ),
    ("no row in no partition, and no other test", {"tests": (OUTSIDE,), "held": {9: (TODAY,)}}, QualityStatus.UNTESTED),
    ("a fault elsewhere", {"spoilt": (replace(SPOILT, datacenter="phx"),)}, QualityStatus.GOOD),
    ("a fault of other parts", {"spoilt": (replace(SPOILT, parts=(days(1, 1),)),)}, QualityStatus.GOOD),
    ("a fault of yesterday", {"spoilt": (replace(SPOILT, windows=(days(-1, -1),)),)}, QualityStatus.GOOD),
]


@pytest.mark.parametrize(("facts", "status"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_one_window(facts: dict[str, Any], status: QualityStatus) -> None:
    assert answer_of(**facts).status is status


@pytest.mark.parametrize(
    ("window", "status", "kinds"),
    [
        (days(-7, 2), QualityStatus.GOOD, []),
        (days(3, 3), QualityStatus.UNTESTED, [ReasonKind.NOT_JUDGED]),  # it has ended, and is not due
        (days(4, 4), QualityStatus.UNTESTED, [ReasonKind.NOT_OVER]),
        (days(1000, 1300), QualityStatus.UNTESTED, [ReasonKind.NOT_OVER]),
        (days(-1600, -1300), QualityStatus.UNTESTED, [ReasonKind.UNTESTED]),
        (days(-9, 4), QualityStatus.UNTESTED, [ReasonKind.UNTESTED, ReasonKind.NOT_JUDGED, ReasonKind.NOT_OVER]),
    ],
)
def test_a_range_is_parted_by_the_calendar(window: Window, status: QualityStatus, kinds: list[ReasonKind]) -> None:
    found = answer_of(window)
    assert (found.status, [reason.kind for reason in found.reasons]) == (status, kinds)


def test_one_hour_of_a_broken_day_is_bad() -> None:
    hour = Window(start=MONDAY + timedelta(hours=5), end=MONDAY + timedelta(hours=6))
    found = answer_of(hour, checks=(replace(BROKEN, state=State.WARN),))
    assert (found.status, found.reasons[0].windows) == (QualityStatus.BAD, (hour,))
    assert found.reasons[0].text == "freshness is broken (WARN): no incident yet"


def test_a_hole_of_one_day_is_found_in_two_hundred_years() -> None:
    known = {1: (days(-36_500, 0), days(2, 36_500))}
    begun = replace(TEST, judges_from=days(-36_500, 0).start)
    late = Calendar(due_to=days(36_501, 36_501).start, ended_to=days(36_501, 36_501).start)
    found = answer_of(days(-36_500, 36_500), tests=(begun,), held=known, calendar=late)
    assert [(reason.kind, reason.windows) for reason in found.reasons] == [(ReasonKind.NOT_JUDGED, (days(1, 1),))]
    assert found.status is QualityStatus.UNKNOWN


@pytest.mark.parametrize("test", [TEST, replace(TEST, scheduled_to=days(2, 2).start)], ids=["adrift", "scheduled"])
@pytest.mark.parametrize("overdue", [True, False])
def test_a_page_and_a_look_up_say_the_same_of_a_window_that_nobody_asked_a_run_of(
    test: DataTestFact, overdue: bool
) -> None:
    waiting = {1: (days(2, 2),)} if overdue else {}
    held: Mapping[int, Intervals] = {1: (days(-7, 1),)}
    of_day = answer_of(days(2, 2), tests=(test,), held=held, waiting=waiting)
    on_page = answer_of(None, place=None, tests=(test,), held=held, waiting=waiting)
    is_unknown = QualityStatus.UNKNOWN in (of_day.status, on_page.status)
    assert (of_day.status is QualityStatus.UNKNOWN, on_page.status is QualityStatus.UNKNOWN) == (is_unknown, is_unknown)
    assert is_unknown is (overdue or test is TEST)


def test_without_a_range_the_answer_is_how_things_stand() -> None:
    assert answer_of(None).status is QualityStatus.GOOD
    young = (replace(TEST, scheduled_to=TODAY.start),)
    assert answer_of(None, held={}, tests=young).status is QualityStatus.UNTESTED
    assert answer_of(None, held={}, tests=young, claims=(CLAIM,)).status is QualityStatus.REPORTED
    assert (
        answer_of(None, checks=(replace(BROKEN, windows=(days(-400, -400),)),), held=HELD).status is QualityStatus.BAD
    )


def test_without_a_datacenter_every_copy_counts() -> None:
    away = replace(SPOILT, datacenter="phx")
    answers = [answer_of(place=place, spoilt=(away,)).status for place in ("sea", "phx", None)]
    assert answers == [QualityStatus.GOOD, QualityStatus.BAD, QualityStatus.BAD]


@pytest.mark.parametrize(("first", "second"), list(zip(list(QualityStatus), list(QualityStatus)[1:], strict=False)))
def test_bad_outweighs_unknown_and_that_reported_and_that_untested_and_that_good(
    first: QualityStatus, second: QualityStatus
) -> None:
    assert worst([second, first, second]) is first


def reasons_of(window: Window | None = TODAY, **facts: Any) -> list[Said]:
    return list(answer_of(window, **facts).reasons)


OF_TEST: dict[str, Any] = {"windows": (TODAY,), "category": "freshness", "test": "freshness", "hard": True, "count": 1}
UNTESTED_TEXT = "untested: the partition ended before the test existed, or is no longer kept"
UNDECLARED_TEXT = "untested: the partition began before its columns were declared as they are"
CUSTOM = replace(TEST, id=5, category="custom")
DECLARED = replace(TEST, declared_from=days(1, 1).start)
UNTRIED = replace(UNKNOWN, state=State.UNTESTED)
OF_STANDINGS: list[tuple[str, StandingFact, ReasonKind, str, QualityStatus | None]] = [
    ("a failure", BROKEN, ReasonKind.BROKEN, "freshness is broken (FAIL)", QualityStatus.BAD),
    (
        "one that is seen only by its state",
        replace(BROKEN, outcome=None, state=State.WARN),
        ReasonKind.BROKEN,
        "freshness is broken (WARN): no incident yet",
        QualityStatus.BAD,
    ),
    (
        "one that is waived, whatever else is said of it",
        replace(BROKEN, waived="twins", accepted="gone"),
        ReasonKind.WAIVED,
        "waived: twins",
        None,
    ),
    (
        "one that is accepted",
        replace(BROKEN, accepted="gone"),
        ReasonKind.ACCEPTED,
        "accepted as it is: gone",
        QualityStatus.REPORTED,
    ),
    ("one that never will be judged", UNTRIED, ReasonKind.UNTESTED, UNTESTED_TEXT, None),
    (
        "one that began before its columns were declared",
        replace(UNTRIED, test=DECLARED),
        ReasonKind.UNTESTED,
        UNDECLARED_TEXT,
        None,
    ),
    (
        "one that began just when its columns were declared",
        replace(UNTRIED, test=replace(DECLARED, declared_from=TODAY.start)),
        ReasonKind.UNTESTED,
        UNTESTED_TEXT,
        None,
    ),
    (
        "one that learns",
        replace(UNKNOWN, state=State.LEARNING),
        ReasonKind.LEARNING,
        "learning: not enough history yet",
        None,
    ),
    (
        "one that erred and cannot be judged",
        UNKNOWN,
        ReasonKind.NOT_JUDGED,
        "could not be judged: query failed",
        QualityStatus.UNKNOWN,
    ),
    (
        "one of which nothing is known",
        replace(UNKNOWN, error=None),
        ReasonKind.NOT_JUDGED,
        "could not be judged",
        QualityStatus.UNKNOWN,
    ),
    (
        "one that waits and erred",
        replace(UNKNOWN, state=State.PENDING),
        ReasonKind.NOT_JUDGED,
        "not judged yet: query failed",
        QualityStatus.UNKNOWN,
    ),
    (
        "one that waits and is not due",
        replace(UNKNOWN, state=State.PENDING, error=None, is_due=False),
        ReasonKind.NOT_JUDGED,
        "not judged yet",
        None,
    ),
]


@pytest.mark.parametrize(
    ("check", "kind", "text", "status"), [case[1:] for case in OF_STANDINGS], ids=[case[0] for case in OF_STANDINGS]
)
def test_a_standing_is_this_reason(
    check: StandingFact, kind: ReasonKind, text: str, status: QualityStatus | None
) -> None:
    first, *others = reasons_of(tests=(check.test,), checks=(check,))
    assert first == Said(kind=kind, text=text, status=status, state=check.state, **OF_TEST)
    assert [reason.kind for reason in others] in ([], [ReasonKind.NO_TEST])


def test_a_check_that_passes_says_nothing_and_does_not_hold_for_others() -> None:
    assert reasons_of(checks=(replace(UNKNOWN, state=State.PASS, outcome=Outcome.HELD, error=None),)) == []


COULD_NOT_LOOK = (
    *(Reason.TIMEOUT, Reason.OUT_OF_MEMORY, Reason.CRASHED, Reason.UNREADABLE, Reason.NO_PARTITION_COLUMN),
    *(Reason.ENGINE_UNREACHABLE, Reason.STORE_UNREACHABLE, Reason.LEASE_LOST),
)


@pytest.mark.parametrize(
    "error", [*COULD_NOT_LOOK, Reason.QUERY_FAILED, Reason.NO_DATA, Reason.WARMING_UP, Reason.INVALID]
)
def test_a_soft_test_that_could_not_look_at_the_data_leaves_it_unknown(error: Reason) -> None:
    (first, *_) = reasons_of(tests=(SOFT,), checks=(replace(UNKNOWN, test=SOFT, error=error),))
    assert first.status is (QualityStatus.UNKNOWN if error in COULD_NOT_LOOK else None)


def test_an_incident_and_a_confirmed_report_are_these_reasons() -> None:
    whole = replace(SPOILT, whole_table=True, hard=False, category="duplicates", windows=(days(-3, 3),))
    of_incident = OF_TEST | {"kind": ReasonKind.SPOILT, "status": QualityStatus.BAD, "incident_id": 7, "test": None}
    spoilt = Said(text="freshness incident 7 is open", **of_incident)
    confirmed = replace(spoilt, text="report 3 is confirmed", report_id=3)
    weekly = replace(spoilt, text="duplicates incident 7 is open", category="duplicates", hard=False, whole_table=True)
    assert reasons_of(spoilt=(SPOILT, replace(SPOILT, report_id=3), whole)) == [weekly, spoilt, confirmed]


def test_a_claim_is_this_reason_of_the_part_that_was_asked_for() -> None:
    wide = replace(CLAIM, window=days(-5, 5))
    text, terms = "report 3 is not confirmed yet", {"status": QualityStatus.REPORTED, "report_id": 3, "count": 1}
    expected = Said(kind=ReasonKind.CLAIMED, text=text, windows=(TODAY,), **terms)  # type: ignore[arg-type]
    assert reasons_of(claims=(wide,)) == [expected]
    assert reasons_of(None, claims=(wide,)) == [replace(expected, windows=(wide.window,))]


@pytest.mark.parametrize(("window", "windows"), [(TODAY, (TODAY,)), (None, ())])
def test_a_dataset_that_nobody_knows_is_answered_with_this_alone(window: Window | None, windows: Intervals) -> None:
    text, status = "the catalog does not know shop.rides", QualityStatus.UNKNOWN
    assert answer_of(window, is_known=False, checks=(BROKEN,)) == QualityAnswer(
        dataset="shop.rides",
        request=RangeRequest(window=window, datacenter="sea"),
        status=status,
        reasons=(Said(kind=ReasonKind.NOT_IN_CATALOG, text=text, windows=windows, status=status),),
    )


@pytest.mark.parametrize(
    ("tests", "window", "held", "text", "windows"),
    [
        ((), days(0, 2), {}, "no live test covers this window", (days(0, 2),)),
        ((WEEKLY,), days(0, 2), {2: (days(1, 1),)}, "no test has judged it", (days(0, 0), days(2, 2))),
        ((), None, {}, "no live test covers this window", ()),
        ((WEEKLY,), None, {}, "no test has judged it", ()),
    ],
)
def test_what_nothing_explains_is_untested_just_there(
    tests: tuple[DataTestFact, ...], window: Window | None, held: Mapping[int, Intervals], text: str, windows: Intervals
) -> None:
    answer = answer_of(window, tests=tests, held=held)
    expected = Said(
        kind=ReasonKind.NO_TEST, text=text, windows=windows, status=QualityStatus.UNTESTED, count=len(windows)
    )
    assert (answer.status, answer.reasons) == (QualityStatus.UNTESTED, (expected,))


def test_what_is_explained_is_not_said_to_have_no_test_though_it_is_untested() -> None:
    answer = answer_of(
        None, checks=(replace(UNKNOWN, state=State.LEARNING),), held={}, tests=(replace(TEST, judges_from=None),)
    )
    assert (answer.status, [reason.kind for reason in answer.reasons]) == (
        QualityStatus.UNTESTED,
        [ReasonKind.LEARNING],
    )


@pytest.mark.parametrize(
    ("facts", "kinds"),
    [
        (
            {"checks": (replace(BROKEN, outcome=Outcome.HELD, state=State.PASS),), "tests": (WEEKLY,)},
            [ReasonKind.NO_TEST],
        ),
        ({"checks": (replace(BROKEN, test=WEEKLY, outcome=Outcome.HELD, state=State.PASS),)}, []),
        ({"checks": (replace(BROKEN, test=WEEKLY, outcome=None, state=State.PASS),)}, [ReasonKind.NO_TEST]),
        ({"checks": (replace(BROKEN, test=WEEKLY, outcome=None, waived="twins"),)}, [ReasonKind.WAIVED]),
        ({"checks": (replace(BROKEN, test=WEEKLY, outcome=None, accepted="gone"),)}, [ReasonKind.ACCEPTED]),
    ],
)
def test_only_what_a_live_test_or_a_user_said_judges(facts: dict[str, Any], kinds: list[ReasonKind]) -> None:
    answer = answer_of(**{"tests": (WEEKLY,), "held": {}, **facts})
    assert [reason.kind for reason in answer.reasons] == kinds
    assert (answer.status is QualityStatus.UNTESTED) is (kinds == [ReasonKind.NO_TEST])


def test_reasons_are_one_by_all_but_their_windows_with_a_count_and_the_weightiest_is_first() -> None:
    mondays = [BROKEN, replace(BROKEN, windows=(days(2, 2),)), replace(BROKEN, windows=(days(2, 2),))]
    learning = replace(UNKNOWN, state=State.LEARNING, windows=(days(1, 1),))
    found = reasons_of(days(0, 2), checks=(learning, *mondays), claims=(CLAIM,))
    assert [(each.kind, each.windows, each.count) for each in found] == [
        (ReasonKind.BROKEN, (days(0, 0), days(2, 2)), 3),
        (ReasonKind.CLAIMED, (TODAY,), 1),
        (ReasonKind.LEARNING, (days(1, 1),), 1),
    ]


@pytest.mark.parametrize(
    ("window", "held", "tests", "throughout"),
    [
        (days(0, 1), {1: (days(0, 1),)}, (TEST,), {"freshness"}),
        (days(0, 1), {1: (days(0, 0),)}, (TEST,), set()),
        (days(0, 1), {2: (days(0, 1),)}, (WEEKLY,), set()),
        (
            days(0, 1),
            {1: (days(0, 1),), 5: (days(-9, 9),)},
            (TEST, replace(TEST, id=5, category="custom")),
            {"freshness", "custom"},
        ),
        (None, {1: (days(0, 1),)}, (TEST,), set()),
    ],
)
def test_categories_hold_throughout_where_a_test_of_partitions_passes_on_all_of_it(
    window: Window | None, held: Mapping[int, Intervals], tests: tuple[DataTestFact, ...], throughout: set[str]
) -> None:
    assert answer_of(window, tests=tests, held=held).holds_throughout == throughout


def test_tests_checks_and_passes_of_another_copy_are_none_here() -> None:
    away = replace(TEST, datacenter="phx")
    held: Mapping[int, Intervals] = {1: (TODAY,)}
    broken = replace(BROKEN, test=away)
    assert [reason.text for reason in reasons_of(tests=(away,), held=held)] == ["no live test covers this window"]
    assert [reason.kind for reason in reasons_of(tests=(away,), checks=(broken,))] == [ReasonKind.NO_TEST]
    assert answer_of(tests=(away,), held=held, place="phx").status is QualityStatus.GOOD
    assert answer_of(tests=(away,), held=held, place=None).status is QualityStatus.GOOD


@pytest.mark.parametrize(
    ("place", "windows", "concerned"),
    [
        ("sea", [TODAY], True),
        ("phx", [TODAY], False),
        (None, [TODAY], True),
        ("sea", [days(1, 1)], False),
        ("sea", [days(1, 1), TODAY], True),
        ("sea", [], False),
    ],
)
def test_what_concerns_a_range_lies_in_its_datacenter_and_touches_it(
    place: str | None, windows: list[Window], concerned: bool
) -> None:
    assert concerns(RangeRequest(window=TODAY, datacenter="sea"), place, windows) is concerned
    assert concerns(RangeRequest(datacenter="sea"), place, []) is (place != "phx")
    assert concerns(RangeRequest(window=TODAY), place, windows) is any(each == TODAY for each in windows)


NOT_JUDGED, UNJUDGED, UNTESTED = ReasonKind.NOT_JUDGED, "not judged yet", ReasonKind.UNTESTED
COMING = (ReasonKind.NOT_OVER, "not over yet", None, (days(4, 5),))  # of every test
NOT_DUE = (NOT_JUDGED, UNJUDGED, None, (days(3, 3),))
Gap = tuple[ReasonKind, str, QualityStatus | None, Intervals]


def late(*windows: Window) -> Gap:
    return NOT_JUDGED, UNJUDGED, QualityStatus.UNKNOWN, windows


GAPS: list[tuple[str, DataTestFact, dict[str, Any], list[Gap]]] = [
    (
        "what the calendar parts",
        TEST,
        {"held": {1: (days(0, 0),)}},
        [late(days(-7, -1), days(1, 2)), (UNTESTED, UNTESTED_TEXT, None, (days(-9, -8),)), NOT_DUE],
    ),
    ("a soft test", SOFT, {"held": {1: (days(-9, 2),)}}, [NOT_DUE]),
    (
        "what was incomplete before it was due",
        TEST,
        {"held": {1: (days(-9, 2),)}, "incomplete": {1: (days(2, 3), days(5, 5))}},
        [(ReasonKind.NOT_THERE_YET, "not there yet", None, (days(3, 3),))],
    ),
    (
        "what began before its columns were declared",
        replace(TEST, undeclared_to=days(0, 0).start, declared_from=days(1, 1).start),
        {"held": {}},
        [
            late(days(1, 2)),
            (UNTESTED, UNTESTED_TEXT, None, (days(-9, -8),)),
            (UNTESTED, UNDECLARED_TEXT, None, (days(-7, -1),)),
            NOT_DUE,
        ],
    ),
    (
        "what is kept no more",
        TEST,
        {"held": {}, "calendar": replace(CALENDAR, retention_start=days(2, 2).start)},
        [late(days(2, 2)), (UNTESTED, UNTESTED_TEXT, None, (days(-9, 1),)), NOT_DUE],
    ),
    (
        "a schedule that is behind the calendar",
        replace(TEST, scheduled_to=days(1, 1).start),
        {"held": {1: (days(-9, -2),)}, "waiting": {1: (days(-1, -1), days(2, 2))}},
        [
            late(days(-1, -1), days(2, 2)),
            (UNTESTED, UNTESTED_TEXT, None, (days(0, 0),)),
            (NOT_JUDGED, UNJUDGED, None, (days(1, 1), days(3, 3))),
        ],
    ),
    (
        "a schedule that is ahead of the calendar",
        replace(TEST, scheduled_to=days(9, 9).start),
        {"held": {1: (days(-9, 1),)}},
        [(UNTESTED, UNTESTED_TEXT, None, (days(2, 2),)), NOT_DUE],
    ),
]


@pytest.mark.parametrize(("test", "facts", "expected"), [case[1:] for case in GAPS], ids=[case[0] for case in GAPS])
def test_each_day_without_a_standing_has_its_reason(
    test: DataTestFact, facts: dict[str, Any], expected: list[Gap]
) -> None:
    gaps = [gap for gap in reasons_of(days(-9, 5), tests=(test,), **facts) if gap.kind is not ReasonKind.NO_TEST]
    assert [(gap.kind, gap.text, gap.status, gap.windows) for gap in gaps] == [*expected, COMING]
    assert {(gap.category, gap.test, gap.hard, gap.state) for gap in gaps} == {
        ("freshness", "freshness", test.hard, None)
    }


@pytest.mark.parametrize("facts", [{"calendar": None}, {"tests": (replace(TEST, judges_from=None),)}])
def test_a_test_whose_windows_follow_no_rule_owes_nothing(facts: dict[str, Any]) -> None:
    assert [reason.kind for reason in reasons_of(**{"held": {}, **facts})] == [ReasonKind.NO_TEST]


def test_a_day_that_has_a_standing_is_no_gap() -> None:
    failing = replace(BROKEN, windows=(days(1, 1),))
    found = reasons_of(days(0, 2), checks=(failing,), held={})
    assert [(each.kind, each.windows) for each in found] == [
        (ReasonKind.BROKEN, (days(1, 1),)),
        (ReasonKind.NOT_JUDGED, (days(0, 0), days(2, 2))),
    ]


ADRIFT: list[tuple[str, DataTestFact, dict[str, Any], Intervals]] = [
    ("all since it began", TEST, {"held": {}}, (days(-7, 2),)),
    ("all since the newest that passes", TEST, {"held": {1: (days(-7, -5), days(-3, 0))}}, (days(1, 2),)),
    (
        "all that is kept",
        TEST,
        {"held": {}, "calendar": replace(CALENDAR, retention_start=days(2, 2).start)},
        (days(2, 2),),
    ),
    (
        "none before it began",
        TEST,
        {"held": {}, "calendar": replace(CALENDAR, retention_start=days(-9, -9).start)},
        (days(-7, 2),),
    ),
    (
        "none that has a standing",
        TEST,
        {"held": {}, "checks": (replace(UNKNOWN, windows=(days(-7, 1),)),)},
        (days(2, 2),),
    ),
    ("none where all passes", TEST, {"held": {1: (days(-7, 2),)}}, ()),
    ("none that has not ended", TEST, {"held": {1: (days(-7, 3),)}}, ()),
    ("none where nothing is due", replace(TEST, judges_from=days(9, 9).start), {"held": {}}, ()),
    ("none of windows without a rule", replace(TEST, judges_from=None), {"held": {}}, ()),
    (
        "what is asked for, of a test with a schedule",
        replace(TEST, scheduled_to=TODAY.start),
        {"held": {1: (days(1, 1),)}, "waiting": {1: (days(0, 2),), 5: (days(-9, 9),)}},
        (days(0, 0), days(2, 2)),
    ),
]


@pytest.mark.parametrize(("test", "facts", "windows"), [case[1:] for case in ADRIFT], ids=[case[0] for case in ADRIFT])
@pytest.mark.parametrize("hard", [True, False])
def test_as_things_stand_what_is_due_and_has_no_standing_is_late(
    test: DataTestFact, facts: dict[str, Any], windows: Intervals, hard: bool
) -> None:
    reasons = reasons_of(None, tests=(replace(test, hard=hard),), **facts)
    unjudged = [each for each in reasons if each.state is None and each.kind is NOT_JUDGED]
    assert [(each.text, each.status, each.windows, each.test) for each in unjudged] == (
        [(UNJUDGED, QualityStatus.UNKNOWN if hard else None, windows, "freshness")] if windows else []
    )


def test_checks_and_incidents_are_told_by_the_first_of_their_windows_within_the_range() -> None:
    early = replace(BROKEN, test=CUSTOM, windows=(days(-9, -9), days(1, 1)))
    spoilt = replace(SPOILT, incident_id=8, windows=(days(-9, -9), days(1, 1), days(2, 2)))
    known = {"tests": (TEST, CUSTOM), "checks": (early, BROKEN), "spoilt": (spoilt, SPOILT), "held": HELD}
    found = reasons_of(days(0, 2), **known)
    assert [(each.test, each.incident_id, each.windows, each.count) for each in found[:4]] == [
        ("freshness", None, (TODAY,), 1),
        ("freshness", None, (days(1, 1),), 1),
        (None, 7, (TODAY,), 1),
        (None, 8, (days(1, 2),), 2),
    ]
    whole = reasons_of(None, **known)
    assert [(each.test, each.incident_id, each.windows, each.count) for each in whole[:4]] == [
        ("freshness", None, (days(-9, -9), days(1, 1)), 2),
        ("freshness", None, (TODAY,), 1),
        (None, 8, (days(-9, -9), days(1, 2)), 3),
        (None, 7, (TODAY,), 1),
    ]


def test_of_what_never_was_judged_only_what_began_before_its_columns_were_declared_is_undeclared() -> None:
    check = replace(UNKNOWN, state=State.UNTESTED, test=DECLARED, windows=(days(-1, -1), TODAY, days(1, 1)))
    broken = replace(check, state=State.FAIL)
    texts = [
        (each.text, each.windows, each.count) for each in reasons_of(days(-2, 1), tests=(DECLARED,), checks=(check,))
    ]
    assert texts[1:3] == [(UNDECLARED_TEXT, (days(-1, 0),), 2), (UNTESTED_TEXT, (days(1, 1),), 1)]
    (told, *_) = reasons_of(days(-2, 1), tests=(DECLARED,), checks=(broken,))
    assert (told.windows, told.count) == ((days(-1, 1),), 3)


def test_a_broken_whole_table_and_its_incident_are_told_of_the_parts_that_are_bad() -> None:
    whole = replace(BROKEN, test=WEEKLY, windows=(days(-90, 90),))
    parts = (days(-4, -4), days(-1, 0), days(1, 1))
    named = replace(SPOILT, test_id=2, windows=(days(-90, 90),), parts=parts)
    known = {"tests": (TEST, WEEKLY), "checks": (whole,), "spoilt": (named,), "held": HELD}
    found = [(each.kind, each.windows, each.count) for each in reasons_of(days(-1, 2), **known)]
    assert found == [(ReasonKind.BROKEN, (days(-1, 1),), 1), (ReasonKind.SPOILT, (days(-1, 1),), 1)]
    assert reasons_of(days(2, 2), **known) == []
    away = replace(named, datacenter="phx")
    assert [each.kind for each in reasons_of(days(-1, 2), **{**known, "spoilt": (away,)})] == [ReasonKind.BROKEN]


AWAY = replace(TEST, id=6, datacenter="phx")


def test_of_facts_those_of_other_copies_and_other_times_are_left_out_wherever_they_stand() -> None:
    elsewhere, later = replace(BROKEN, test=AWAY), replace(BROKEN, windows=(days(1, 1),))
    both = replace(BROKEN, windows=(TODAY, days(1, 1)), state=State.WARN)
    whole = replace(BROKEN, test=WEEKLY, windows=(days(-9, 9),))
    parted = replace(SPOILT, incident_id=8, test_id=2, windows=(days(-9, 9),), parts=(days(1, 1),))
    spoilt = replace(SPOILT, incident_id=9, windows=(days(-1, -1), TODAY))
    gone = [replace(SPOILT, datacenter="phx"), replace(SPOILT, windows=(days(1, 1),)), parted]
    known = Facts(
        dataset="shop.rides",
        tests=(AWAY, TEST, WEEKLY),
        checks=(elsewhere, later, whole, both),
        held={6: (TODAY,), 1: (days(-7, -1),)},
        spoilt=(*gone, spoilt),
        claims=(replace(CLAIM, datacenter="phx"), replace(CLAIM, window=days(1, 1)), CLAIM),
        waiting={1: (days(1, 1),)},
        calendar=CALENDAR,
    )
    assert concerning(known, RangeRequest(window=TODAY, datacenter="sea")) == replace(
        known,
        tests=[TEST, WEEKLY],
        checks=[replace(both, windows=[TODAY])],
        held={1: (days(-7, -1),)},
        spoilt=[replace(spoilt, windows=[TODAY])],
        claims=[CLAIM],
    )
    every = concerning(known, RangeRequest())
    assert (list(every.tests), every.held, list(every.claims)) == (list(known.tests), known.held, list(known.claims))
    assert [check.windows for check in every.checks] == [(days(-9, 9),), (TODAY,), (TODAY, days(1, 1)), (days(1, 1),)]
    assert [each.incident_id for each in every.spoilt] == [8, 9, 7, 7]


DUE = TODAY.end + timedelta(hours=6)
ALMOST, LATER = DUE - timedelta(seconds=1), DUE + timedelta(days=3)


@pytest.mark.parametrize(
    ("at", "due_at", "due_to", "windows"),
    [
        (ALMOST, DUE, None, ()),
        (ALMOST, DUE, TODAY.end, ()),  # a calendar that is ahead of the schedule changes nothing
        (DUE, DUE, None, (TODAY,)),
        (DUE, DUE, TODAY.start, (TODAY,)),  # nor does one that is behind it
        (LATER, DUE, days(3, 3).end, (days(0, 3),)),  # a schedule that has stood still
        (DUE, None, None, ()),
    ],
)
def test_what_is_due_without_a_run_of_it_is_overdue(
    at: datetime, due_at: datetime | None, due_to: datetime | None, windows: Intervals
) -> None:
    assert overdue(next_due_at=due_at, next_window=TODAY, due_to=due_to, now=at) == windows


def test_an_answer_names_its_dataset_and_what_was_asked() -> None:
    assert answer_of() == QualityAnswer(
        dataset="shop.rides",
        request=RangeRequest(window=TODAY, datacenter="sea"),
        status=QualityStatus.GOOD,
        holds_throughout=frozenset({"freshness"}),
    )
    assert RangeRequest() == RangeRequest(window=None, datacenter=None)


def test_an_incident_counts_the_parts_that_are_bad_within_the_range() -> None:
    named = replace(SPOILT, windows=(days(-90, 90),), parts=(days(-1, -1), days(0, 0), days(2, 2)))
    (reason,) = reasons_of(days(0, 2), spoilt=(named,))
    assert (reason.windows, reason.count) == ((days(0, 0), days(2, 2)), 2)


def test_the_names_of_statuses_and_kinds_are_these() -> None:
    assert [status.value for status in QualityStatus] == ["bad", "unknown", "reported", "untested", "good"]
    assert [kind.value for kind in ReasonKind] == [
        *("broken", "spoilt", "not in the catalog", "not judged", "not there yet", "claimed", "accepted"),
        *("not over", "untested", "no test", "learning", "waived"),
    ]
    assert worst([]) is QualityStatus.GOOD


def test_what_is_not_said_of_facts_and_reasons_is_this() -> None:
    test = DataTestFact(id=1, name="n", category="c", hard=True)
    unsaid = asdict(test)
    assert (unsaid.pop("judges_rows"), unsaid.pop("whole_table")) == (True, False)
    assert {name for name, value in unsaid.items() if value is None} == {
        *("datacenter", "judges_from", "undeclared_to", "declared_from", "scheduled_to")
    }
    check = StandingFact(test=test, windows=(TODAY,), state=State.PASS)
    assert (check.outcome, check.error, check.is_due, check.waived, check.accepted) == (None, None, True, None, None)
    spoilt = SpoiltFact(incident_id=7, category="c", hard=True, windows=(TODAY,))
    assert (spoilt.parts, spoilt.datacenter, spoilt.test_id, spoilt.whole_table, spoilt.report_id) == (
        *((), None, None, False, None),
    )
    assert (spoilt.bad, replace(spoilt, parts=(days(1, 1),)).bad) == ((TODAY,), (days(1, 1),))
    assert asdict(ClaimFact(report_id=3, window=TODAY)) | {"window": None} == {
        **{"report_id": 3, "window": None, "datacenter": None, "category": ""}
    }
    assert asdict(Facts(dataset="d")) == {
        **{"dataset": "d", "is_known": True, "calendar": None, "sources": ()},
        **{"tests": (), "checks": (), "spoilt": (), "claims": (), "held": {}, "waiting": {}, "incomplete": {}},
    }
    reason = Said(kind=ReasonKind.BROKEN, text="so", windows=())
    assert (reason.category, reason.hard, reason.whole_table, reason.count) == ("", False, False, 0)
    answer = QualityAnswer(dataset="d", request=RangeRequest(), status=QualityStatus.GOOD)
    assert (answer.reasons, answer.holds_throughout) == ((), frozenset())


def source(*, is_shown: bool = True, test: DataTestFact = TEST, **facts: Any) -> SourceFacts:
    """The source ``raw.fares`` of a business metric, at home in ``phx``, with a test that fails on Monday."""
    known = {"tests": (test,), "calendar": CALENDAR, "checks": (replace(BROKEN, test=test),), **facts}
    return SourceFacts(facts=Facts(dataset="raw.fares", **known), datacenter="phx", is_shown=is_shown)


@pytest.mark.parametrize(
    ("own", "text", "hard"),
    [
        (source(), "freshness is broken (FAIL); shop.rides is computed from raw.fares", True),
        (source(test=SOFT), "freshness is broken (FAIL); shop.rides is computed from raw.fares", False),
        (source(is_shown=False), f"{HIDDEN}; shop.rides is computed from raw.fares", True),
        (source(checks=(), held=HELD), None, False),
        (source(checks=(replace(BROKEN, test=replace(TEST, datacenter="sea")),), held=HELD), None, False),
        (source(checks=(replace(UNKNOWN, test=SOFT),)), None, False),
    ],
)
def test_what_is_wrong_with_a_source_is_wrong_with_the_business_metric(
    own: SourceFacts, text: str | None, hard: bool
) -> None:
    reasons = [reason for reason in answer_of(sources=(own,)).reasons if reason.source]
    if text is None:
        assert reasons == []
        return
    (reason,) = reasons
    assert (reason.text, reason.hard, reason.source, reason.whole_table) == (text, hard, "raw.fares", False)
    assert (reason.status, reason.windows) == (QualityStatus.BAD, (TODAY,))
    assert (reason.test is None) == (not own.is_shown)


def test_facts_of_many_windows_are_those_of_one_of_them() -> None:
    twice = (days(-1, -1), TODAY)
    facts = Facts(
        dataset="shop.rides",
        checks=[replace(BROKEN, windows=twice), replace(UNKNOWN, windows=(days(-1, -1),))],
        spoilt=[replace(SPOILT, windows=twice), replace(SPOILT, windows=(days(1, 1),))],
        claims=[CLAIM, replace(CLAIM, window=days(1, 1))],
    )
    assert overlapping(facts, TODAY) == replace(
        facts, checks=[replace(BROKEN, windows=[TODAY])], spoilt=[replace(SPOILT, windows=[TODAY])], claims=[CLAIM]
    )


def test_what_is_known_changes_at_the_ends_of_what_it_is_known_of() -> None:
    test = replace(
        TEST,
        judges_from=days(1, 1).start,
        undeclared_to=days(2, 2).start,
        declared_from=days(3, 3).start,
        scheduled_to=days(4, 4).start,
    )
    calendar = Calendar(retention_start=days(5, 5).start, due_to=days(6, 6).start, ended_to=days(7, 7).start)
    facts = Facts(
        dataset="shop.rides",
        tests=(test,),
        calendar=calendar,
        checks=(replace(BROKEN, windows=(days(8, 8),)),),
        spoilt=(replace(SPOILT, windows=(days(10, 10),), parts=(days(12, 12),)),),
        claims=(replace(CLAIM, window=days(14, 14)),),
        held={1: (days(16, 16),)},
        waiting={1: (days(18, 18),)},
        incomplete={1: (days(20, 20),)},
        sources=(
            SourceFacts(
                facts=Facts(dataset="raw.fares", claims=(replace(CLAIM, window=days(22, 22)),)), datacenter="sea"
            ),
        ),
    )
    assert sorted(instants(facts)) == [days(at, at).start for at in range(1, 24)]
