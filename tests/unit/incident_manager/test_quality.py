"""What is known of a range of a dataset, and why."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.standing import State
from assay.windows import Window
from execution_engine.outcome import Outcome, Reason
from incident_manager.intervals import Intervals
from incident_manager.quality.facts import Calendar, Check, Claim, Facts, LiveTest, Spoilt
from incident_manager.quality.rules import Answer, Asked, Kind, Status, judge, worst

MONDAY = datetime(2024, 3, 4, tzinfo=UTC)


def days(first: int, last: int) -> Window:
    """From the start of one day to the end of another, counted from Monday, 4 March 2024."""
    return Window(start=MONDAY + timedelta(days=first), end=MONDAY + timedelta(days=last + 1))


TODAY = days(0, 0)
TEST = LiveTest(id=1, name="freshness", category="freshness", hard=True, judges_from=days(-7, 0).start)
SOFT = replace(TEST, hard=False)
WEEKLY = LiveTest(id=2, name="duplicates:whole", category="duplicates", hard=True, whole_table=True)
OUTSIDE = replace(WEEKLY, id=9, name="unpartitioned:whole", category="completeness", hard=False, judges_rows=False)
CALENDAR = Calendar(due_to=days(3, 3).start, ended_to=days(4, 4).start)  # Thursday has ended, Wednesday is due
HELD: Mapping[int, Intervals] = {1: (days(-7, 2),)}
BROKEN = Check(test=TEST, windows=(TODAY,), state=State.FAIL, outcome=Outcome.BROKEN)
UNKNOWN = replace(BROKEN, state=State.UNKNOWN, outcome=None, error=Reason.QUERY_FAILED)
SPOILT = Spoilt(incident_id=7, category="freshness", hard=True, windows=(TODAY,))
CLAIM = Claim(report_id=3, window=TODAY)


def asked(window: Window | None = TODAY, *, place: str | None = "sea", **facts: Any) -> Answer:
    known = {"tests": (TEST,), "calendar": CALENDAR, **facts}
    known.setdefault("held", {} if known.get("checks") else HELD)
    return judge(Facts(dataset="shop.rides", **known), Asked(window=window, datacenter=place))


CASES: list[tuple[str, dict[str, Any], Status]] = [
    ("a test that holds", {}, Status.GOOD),
    ("a test that fails", {"checks": (BROKEN,)}, Status.BAD),
    ("one that warns", {"checks": (replace(BROKEN, state=State.WARN),)}, Status.BAD),
    ("one that broke before it was due", {"checks": (replace(BROKEN, state=State.PENDING),)}, Status.BAD),
    ("one that broke and erred since", {"checks": (replace(BROKEN, state=State.UNKNOWN),)}, Status.BAD),
    ("a soft one that fails", {"checks": (replace(BROKEN, test=SOFT),)}, Status.BAD),
    ("an incident", {"spoilt": (SPOILT,)}, Status.BAD),
    ("a confirmed report", {"spoilt": (replace(SPOILT, report_id=3),)}, Status.BAD),
    ("a hard one without a verdict", {"checks": (UNKNOWN,)}, Status.UNKNOWN),
    ("a soft one without a verdict", {"checks": (replace(UNKNOWN, test=SOFT),)}, Status.UNTESTED),
    (
        "a soft one that cannot read",
        {"checks": (replace(UNKNOWN, test=SOFT, error=Reason.UNREADABLE),)},
        Status.UNKNOWN,
    ),
    (
        "one that erred and is due",
        {"checks": (replace(UNKNOWN, state=State.PENDING),)},
        Status.UNKNOWN,
    ),
    (
        "one that erred and is not due",
        {"checks": (replace(UNKNOWN, state=State.PENDING, is_due=False),)},
        Status.UNTESTED,
    ),
    ("no standing, though due", {"held": {}}, Status.UNKNOWN),
    ("no standing of a soft test, though due", {"held": {}, "tests": (SOFT,)}, Status.UNTESTED),
    ("a claim", {"claims": (CLAIM,)}, Status.REPORTED),
    ("an accepted fault", {"checks": (replace(BROKEN, accepted="gone"),)}, Status.REPORTED),
    ("a waived fault", {"checks": (replace(BROKEN, waived="twins"),)}, Status.GOOD),
    ("a test that learns", {"checks": (replace(UNKNOWN, state=State.LEARNING),)}, Status.UNTESTED),
    ("a test that never judged it", {"checks": (replace(UNKNOWN, state=State.UNTESTED),)}, Status.UNTESTED),
    ("no test", {"tests": (), "held": {}}, Status.UNTESTED),
    ("a weekly test that holds", {"tests": (WEEKLY,), "held": {2: (days(-90, 0),)}}, Status.GOOD),
    ("an unknown dataset", {"is_known": False}, Status.UNKNOWN),
    ("a claim elsewhere", {"claims": (replace(CLAIM, datacenter="phx"),)}, Status.GOOD),
    (
        "rows that lie in no partition",
        {"tests": (OUTSIDE,), "checks": (replace(BROKEN, test=OUTSIDE),)},
        Status.BAD,
    ),
    ("no row in no partition, and no other test", {"tests": (OUTSIDE,), "held": {9: (TODAY,)}}, Status.UNTESTED),
    ("a fault elsewhere", {"spoilt": (replace(SPOILT, datacenter="phx"),)}, Status.GOOD),
    ("a fault of other parts", {"spoilt": (replace(SPOILT, parts=(days(1, 1),)),)}, Status.GOOD),
    ("a fault of yesterday", {"spoilt": (replace(SPOILT, windows=(days(-1, -1),)),)}, Status.GOOD),
]


@pytest.mark.parametrize(("facts", "status"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_one_window(facts: dict[str, Any], status: Status) -> None:
    assert asked(**facts).status is status


@pytest.mark.parametrize(
    ("window", "status", "kinds"),
    [
        (days(-7, 2), Status.GOOD, []),
        (days(3, 3), Status.UNTESTED, [Kind.NOT_JUDGED]),  # it has ended, and is not due
        (days(4, 4), Status.UNTESTED, [Kind.NOT_OVER]),
        (days(1000, 1300), Status.UNTESTED, [Kind.NOT_OVER]),
        (days(-1600, -1300), Status.UNTESTED, [Kind.UNTESTED]),
        (days(-9, 4), Status.UNTESTED, [Kind.UNTESTED, Kind.NOT_JUDGED, Kind.NOT_OVER]),
    ],
)
def test_a_range_is_parted_by_the_calendar(window: Window, status: Status, kinds: list[Kind]) -> None:
    found = asked(window)
    assert (found.status, [reason.kind for reason in found.reasons]) == (status, kinds)


def test_one_hour_of_a_broken_day_is_bad() -> None:
    hour = Window(start=MONDAY + timedelta(hours=5), end=MONDAY + timedelta(hours=6))
    found = asked(hour, checks=(replace(BROKEN, state=State.WARN),))
    assert (found.status, found.reasons[0].windows) == (Status.BAD, (hour,))
    assert found.reasons[0].text == "freshness is broken (WARN): no incident yet"


def test_a_hole_of_one_day_is_found_in_two_hundred_years() -> None:
    known = {1: (days(-36_500, 0), days(2, 36_500))}
    begun = replace(TEST, judges_from=days(-36_500, 0).start)
    late = Calendar(due_to=days(36_501, 36_501).start, ended_to=days(36_501, 36_501).start)
    found = asked(days(-36_500, 36_500), tests=(begun,), held=known, calendar=late)
    assert [(reason.kind, reason.windows) for reason in found.reasons] == [(Kind.NOT_JUDGED, (days(1, 1),))]
    assert found.status is Status.UNKNOWN


def test_what_an_outage_skipped_is_untested_and_what_is_pending_is_not_judged_yet() -> None:
    moved = replace(TEST, scheduled_to=days(2, 2).start)
    found = asked(days(0, 2), tests=(moved,), held={}, waiting={1: (days(1, 2),)})
    by_kind = {reason.kind: reason.windows for reason in found.reasons}
    assert by_kind == {Kind.NOT_JUDGED: (days(1, 2),), Kind.UNTESTED: (days(0, 0),)}


@pytest.mark.parametrize("test", [TEST, replace(TEST, scheduled_to=days(2, 2).start)], ids=["adrift", "scheduled"])
@pytest.mark.parametrize("overdue", [True, False])
def test_a_page_and_a_look_up_say_the_same_of_a_window_that_nobody_asked_a_run_of(
    test: LiveTest, overdue: bool
) -> None:
    waiting = {1: (days(2, 2),)} if overdue else {}
    held: Mapping[int, Intervals] = {1: (days(-7, 1),)}
    of_day = asked(days(2, 2), tests=(test,), held=held, waiting=waiting)
    on_page = asked(None, place=None, tests=(test,), held=held, waiting=waiting)
    is_unknown = Status.UNKNOWN in (of_day.status, on_page.status)
    assert (of_day.status is Status.UNKNOWN, on_page.status is Status.UNKNOWN) == (is_unknown, is_unknown)
    assert is_unknown is (overdue or test is TEST)


def test_what_is_kept_no_more_is_untested() -> None:
    kept = replace(CALENDAR, kept_from=days(1, 1).start)
    found = asked(days(0, 1), held={}, calendar=kept)
    assert {reason.kind: reason.windows for reason in found.reasons} == {
        Kind.NOT_JUDGED: (days(1, 1),),
        Kind.UNTESTED: (days(0, 0),),
    }


def test_a_test_of_the_whole_table_is_bad_only_where_it_names_what_is_bad() -> None:
    whole = replace(BROKEN, test=WEEKLY, windows=(days(-90, 2),))
    named = replace(SPOILT, category="duplicates", test_id=2, whole_table=True, windows=(days(-90, 2),), parts=(TODAY,))
    facts: dict[str, Any] = {"tests": (TEST, WEEKLY), "checks": (whole,), "spoilt": (named,), "held": HELD}
    assert (asked(TODAY, **facts).status, asked(days(1, 1), **facts).status) == (Status.BAD, Status.GOOD)


def test_without_a_range_the_answer_is_how_things_stand() -> None:
    assert asked(None).status is Status.GOOD
    young = (replace(TEST, scheduled_to=TODAY.start),)
    assert asked(None, held={}, tests=young).status is Status.UNTESTED
    assert asked(None, held={}, tests=young, claims=(CLAIM,)).status is Status.REPORTED
    assert asked(None, checks=(replace(BROKEN, windows=(days(-400, -400),)),), held=HELD).status is Status.BAD


def test_without_a_datacenter_every_copy_counts() -> None:
    away = replace(SPOILT, datacenter="phx")
    answers = [asked(place=place, spoilt=(away,)).status for place in ("sea", "phx", None)]
    assert answers == [Status.GOOD, Status.BAD, Status.BAD]


def test_reasons_that_differ_by_their_windows_alone_are_one() -> None:
    found = asked(days(0, 1), checks=(BROKEN, replace(BROKEN, windows=(days(1, 1),))))
    assert [reason.windows for reason in found.reasons] == [(days(0, 1),)]


@pytest.mark.parametrize(("first", "second"), list(zip(list(Status), list(Status)[1:], strict=False)))
def test_bad_outweighs_unknown_and_that_reported_and_that_untested_and_that_good(first: Status, second: Status) -> None:
    assert worst([second, first, second]) is first
