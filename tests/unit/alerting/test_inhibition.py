"""Inhibition: one page for one cause, and never silence for an unrelated trouble."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.inhibition.rules import (
    AlertAction,
    Decision,
    EffectTerms,
    Evidence,
    Spot,
    Trouble,
    Upstreams,
    Why,
    can_cause,
    decide,
    root_cause,
    touched_share,
    usual_delay,
    weigh_causes,
)
from alerting.inhibition.sizes import UNKNOWN_SIZE, Size
from assay.catalog.edges import Columns
from assay.time.windows import Window

MONDAY = datetime(2024, 3, 4, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
RAW, TRIPS, REPORT = "raw.events", "core.trips", "mart.report"
LINEAGE: Upstreams = {TRIPS: {RAW: {}}, REPORT: {TRIPS: {}}}
IDS = {RAW: 1, TRIPS: 2, REPORT: 3}


def day(number: int = 0) -> Window:
    return Window(start=MONDAY + number * DAY, end=MONDAY + (number + 1) * DAY)


def at(hours: float) -> datetime:
    return MONDAY + DAY + hours * HOUR


def trouble(
    dataset: str,
    category: str = "freshness",
    *,
    id: int | None = None,
    days: tuple[int, ...] = (0,),
    datacenter: str | None = None,
    since: float = 1,
    failed: float | None = 2,
    eta: float | None = None,
    size: Size = UNKNOWN_SIZE,
) -> Trouble:
    return Trouble(
        id=id or IDS[dataset],
        dataset=dataset,
        category=category,
        spots=tuple(Spot(window=day(number), datacenter=datacenter, size=size) for number in days),
        since=at(since),
        failed_at=None if failed is None else at(failed),
        eta=None if eta is None else at(eta),
    )


def terms(*, sustain: float = 4, measured: float = 2, delay: float = 0, former: float | None = None) -> EffectTerms:
    released: dict[str, Any] = {} if former is None else {"former_id": 9, "released_at": at(former)}
    return EffectTerms(
        sustain=sustain * HOUR, grace=HOUR, measured_at=at(measured), usual_delay=delay * HOUR, **released
    )


def decided(effect: Trouble, *others: Trouble, now: float = 3, by: EffectTerms | None = None) -> Decision:
    return decide(effect, (effect, *others), LINEAGE, by or terms(), now=at(now))


ALL_ROWS = Size(touched=1)


def touched(share: float) -> Size:
    return Size(touched=share)


def drifted(*columns: str) -> Size:
    return Size(touched=1, columns=frozenset(columns))


def values_of(*columns: str) -> Size:
    return Size(touched=0.5, broken=frozenset(columns))


def moved(share: float, *columns: str) -> Size:
    return Size(moved=share, reads=tuple(frozenset({column}) for column in columns))


@pytest.mark.parametrize(
    ("cause", "effect", "can"),
    [
        ((RAW, "freshness"), (RAW, "completeness"), True),
        ((RAW, "freshness"), (RAW, "consistency"), True),
        ((RAW, "freshness"), (RAW, "duplicates"), False),
        ((RAW, "freshness"), (RAW, "custom"), False),
        ((RAW, "freshness"), (RAW, "anomaly"), True),
        ((RAW, "completeness"), (RAW, "anomaly"), True),
        ((RAW, "schema"), (RAW, "column"), True),
        ((RAW, "anomaly"), (RAW, "completeness"), False),
        ((RAW, "anomaly"), (RAW, "novelty"), False),
        ((RAW, "completeness"), (TRIPS, "novelty"), True),
        ((RAW, "novelty"), (TRIPS, "anomaly"), True),
        ((RAW, "custom"), (TRIPS, "anomaly"), False),
        *(((RAW, cause), (TRIPS, "metric"), True) for cause in ("freshness", "consistency", "schema", "custom")),
        ((RAW, "custom"), (RAW, "metric"), False),
        ((RAW, "freshness"), (TRIPS, "freshness"), True),
        ((RAW, "freshness"), (TRIPS, "completeness"), False),
        ((RAW, "completeness"), (TRIPS, "duplicates"), True),
        ((RAW, "completeness"), (TRIPS, "custom"), True),
        ((RAW, "duplicates"), (TRIPS, "duplicates"), True),
        ((RAW, "duplicates"), (TRIPS, "custom"), True),
        ((RAW, "completeness"), (TRIPS, "completeness"), False),
        ((RAW, "duplicates"), (TRIPS, "completeness"), False),
        ((RAW, "completeness"), (RAW, "freshness"), False),
        ((RAW, "completeness"), (RAW, "custom"), False),
        ((RAW, "custom"), (TRIPS, "custom"), False),
        ((TRIPS, "freshness"), (RAW, "freshness"), False),
        ((RAW, "freshness"), (REPORT, "freshness"), False),
    ],
)
def test_a_trouble_causes_only_what_it_can(cause: tuple[str, str], effect: tuple[str, str], can: bool) -> None:
    assert can_cause(trouble(*cause, id=8, size=ALL_ROWS), trouble(*effect, id=9), LINEAGE) is can


LOST, DOUBLED = "completeness", "duplicates"


@pytest.mark.parametrize(
    ("cause", "effect", "can"),
    [
        ((RAW, DOUBLED, touched(0.02)), (TRIPS, "custom", moved(0.371)), False),  # +59 % of a mean
        ((RAW, DOUBLED, touched(0.02)), (TRIPS, "custom", moved(0.02)), True),
        ((RAW, DOUBLED, touched(0.02)), (TRIPS, DOUBLED, UNKNOWN_SIZE), True),  # no value fault: by category
        ((RAW, LOST, touched(0.5)), (TRIPS, "anomaly", moved(0.474)), True),  # a halved row count
        ((RAW, LOST, touched(0.5)), (TRIPS, "anomaly", moved(0.6)), False),
        ((RAW, LOST, UNKNOWN_SIZE), (TRIPS, "anomaly", moved(0.01)), False),
        ((RAW, LOST, touched(1)), (TRIPS, "custom", UNKNOWN_SIZE), True),  # nothing is there: any value is wrong
        ((RAW, LOST, touched(0.99)), (TRIPS, "custom", UNKNOWN_SIZE), False),
        ((TRIPS, "freshness", touched(0.3)), (TRIPS, "novelty", moved(0.2)), True),
        ((TRIPS, "freshness", touched(0.3)), (TRIPS, "novelty", moved(0.4)), False),
        ((TRIPS, "freshness", UNKNOWN_SIZE), (TRIPS, LOST, UNKNOWN_SIZE), True),
        ((TRIPS, "freshness", UNKNOWN_SIZE), (TRIPS, "column", moved(0)), False),
        ((RAW, "custom", touched(0.2)), (TRIPS, "metric", moved(0.1)), True),
        ((RAW, "custom", touched(0.2)), (TRIPS, "metric", moved(0.3)), False),
        ((TRIPS, "schema", drifted("fare")), (TRIPS, "column", moved(0.9, "fare")), True),
        ((TRIPS, "schema", drifted("fare")), (TRIPS, "column", moved(0.9, "city")), False),
        ((TRIPS, "schema", drifted("fare")), (TRIPS, "novelty", moved(0.9, "fare", "city")), False),
        ((TRIPS, "schema", drifted("fare", "city")), (TRIPS, "novelty", moved(0.9, "fare", "city")), True),
        ((TRIPS, "schema", drifted("fare")), (TRIPS, "column", moved(0.9)), True),  # nothing says what it reads
    ],
)
def test_a_value_is_explained_only_by_a_cause_that_touches_enough_of_its_rows(
    cause: tuple[str, str, Size], effect: tuple[str, str, Size], can: bool
) -> None:
    (above, first, by), (below, second, of) = cause, effect
    assert can_cause(trouble(above, first, id=8, size=by), trouble(below, second, id=9, size=of), LINEAGE) is can


@pytest.mark.parametrize(
    ("cause", "effect", "explains", "reason"),
    [
        (
            touched(0.02),
            moved(0.371),
            False,
            "2 % of its rows are wrong or missing, and it takes 37.1 % to move the value so far",
        ),
        (
            touched(0.5),
            moved(0.474),
            True,
            "50 % of its rows are wrong or missing, and 47.4 % move the value so far",
        ),
        (
            touched(0.02),
            UNKNOWN_SIZE,
            False,
            "2 % of its rows are wrong or missing, and it takes all of them to move the value so far",
        ),
        (UNKNOWN_SIZE, moved(0.01), False, "how many of its rows are wrong is not known"),
        (drifted("fare", "tip"), moved(0.9, "city"), False, "what is wrong is fare, tip, which the value is not of"),
    ],
)
def test_why_a_cause_explains_a_value_or_not_is_a_clause(
    cause: Size, effect: Size, explains: bool, reason: str
) -> None:
    above, below = trouble(RAW, LOST, size=cause), trouble(TRIPS, "custom", size=effect)
    assert weigh_causes(below, (above, below), LINEAGE) == {above.id: Evidence(explains=explains, reason=reason)}


@pytest.mark.parametrize(
    ("edge", "cause", "value", "can"),
    [
        ({"price": ["fare"], "place": ["city"]}, values_of("fare"), "price", True),
        ({"price": ["fare"], "place": ["city"]}, values_of("fare"), "place", False),
        ({"price": ["fare"], "fare": ["city"]}, values_of("fare"), "fare", False),  # another column of the same name
        ({"place": ["city"], "": ["fare"]}, values_of("fare"), "place", True),  # a filter reads it: rows are missing
        ({"price": ["fare"], "place": ["city"]}, drifted("fare"), "price", True),
        ({"price": ["fare"]}, touched(0.5), "place", True),  # whole rows are wrong
        ({}, values_of("fare"), "place", True),  # nobody knows the columns of the edge
    ],
)
def test_a_broken_column_explains_what_is_made_of_it_and_nothing_else(
    edge: Columns, cause: Size, value: str, can: bool
) -> None:
    above, below = trouble(RAW, "anomaly", size=cause), trouble(TRIPS, "anomaly", id=9, size=moved(0.4, value))
    above = above if cause.broken else replace(above, category=LOST)
    assert can_cause(above, below, {TRIPS: {RAW: edge}}) is can


@pytest.mark.parametrize("explains", [True, False])
def test_what_a_trial_shows_goes_before_the_size(explains: bool) -> None:
    cause = trouble(RAW, LOST, size=touched(0.1))
    trial = Evidence(explains=explains, reason="were city = 'Rome' as usual, …", columns=("city",))
    size = moved(0.9) if explains else moved(0.01)
    spot = Spot(window=day(0), size=size, trials={(RAW, LOST): trial})
    effect = replace(trouble(TRIPS, "custom"), spots=(spot,))
    assert decided(effect, cause).action is (AlertAction.INHIBIT if explains else AlertAction.NOTIFY)
    assert weigh_causes(effect, (cause,), LINEAGE) == {cause.id: trial}


def test_only_values_are_weighed_and_only_by_what_rules_lead_from() -> None:
    late, lost = trouble(RAW, id=7), trouble(RAW, LOST, size=ALL_ROWS)
    elsewhere = trouble(RAW, LOST, id=8, days=(1,), size=ALL_ROWS)
    value, doubled = trouble(TRIPS, "custom"), trouble(TRIPS, DOUBLED, id=9)
    assert set(weigh_causes(value, (late, lost, elsewhere, value), LINEAGE)) == {lost.id}
    assert weigh_causes(doubled, (lost, doubled), LINEAGE) == {}


def test_what_a_cause_touches_of_a_day_counts_for_the_part_that_the_day_is_of_a_longer_window() -> None:
    week = Window(start=MONDAY, end=MONDAY + 7 * DAY)
    one, two = trouble(RAW, LOST, size=touched(0.7)), trouble(RAW, LOST, days=(0, 1), size=touched(0.7))
    assert touched_share(one.spots, week) == pytest.approx(0.1)
    assert touched_share((*two.spots, *two.spots), week) == pytest.approx(0.2)  # two tests of one day are one day
    assert touched_share((Spot(window=week, size=touched(0.3)),), day(2)) == 0.3
    assert touched_share(trouble(RAW, days=(7,), size=touched(1)).spots, day(0)) == 0


def test_each_window_of_a_value_is_explained_by_its_own_size() -> None:
    cause = trouble(RAW, LOST, since=0, days=(0, 1), size=touched(0.3))
    small, large = (Spot(window=day(number), size=moved(by)) for number, by in enumerate((0.2, 0.9)))
    effect = trouble(TRIPS, "custom")
    assert decided(replace(effect, spots=(small,)), cause).action is AlertAction.INHIBIT
    assert decided(replace(effect, spots=(small, large)), cause).action is AlertAction.NOTIFY


def test_a_large_fault_between_is_told_by_itself_where_its_own_cause_is_small() -> None:
    root = trouble(RAW, DOUBLED, size=touched(0.02))
    middle = trouble(TRIPS, "custom", size=Size(touched=0.4, moved=0.4))
    effect = trouble(REPORT, "metric", size=moved(0.3))
    assert decided(effect, middle, root).cause_id == middle.id
    assert decided(middle, effect, root).action is AlertAction.NOTIFY


def test_three_tables_ten_hours_late_give_one_page() -> None:
    chain = [trouble(RAW, since=1), trouble(TRIPS, since=2), trouble(REPORT, since=3)]
    decisions = {late.dataset: decide(late, chain, LINEAGE, terms(), now=at(10)) for late in chain}
    assert decisions[RAW] == Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)
    for dataset in (TRIPS, REPORT):
        assert decisions[dataset].action is AlertAction.INHIBIT
        assert decisions[dataset].cause_id == IDS[RAW]


@pytest.mark.parametrize(
    "unrelated",
    [trouble(RAW, days=(1,)), trouble(RAW, "duplicates"), trouble(RAW, datacenter="phx"), trouble("raw.other", id=7)],
    ids=["another window", "another category", "another datacenter", "another table"],
)
def test_an_unrelated_trouble_silences_nothing(unrelated: Trouble) -> None:
    assert decided(trouble(TRIPS), unrelated).action is AlertAction.NOTIFY


def test_a_replica_that_is_late_explains_what_is_missing_there_and_nowhere_else() -> None:
    late = trouble(TRIPS, datacenter="phx")
    assert decided(trouble(TRIPS, "consistency", id=5, datacenter="phx"), late).action is AlertAction.INHIBIT
    assert decided(trouble(TRIPS, "consistency", id=5, datacenter="sea"), late).action is AlertAction.NOTIFY
    assert decided(trouble(TRIPS, "completeness", id=5), late).action is AlertAction.NOTIFY


def test_a_late_home_explains_what_is_missing_in_its_replicas() -> None:
    missing = trouble(TRIPS, "consistency", id=5, datacenter="phx")
    assert decided(missing, trouble(TRIPS)).action is AlertAction.INHIBIT


def test_an_alert_is_silent_only_if_every_window_of_it_is_explained() -> None:
    assert decided(trouble(TRIPS, days=(0, 1)), trouble(RAW, days=(0,))).action is AlertAction.NOTIFY
    assert decided(trouble(TRIPS, days=(0, 1)), trouble(RAW, days=(0, 1))).action is AlertAction.INHIBIT


def test_a_chain_holds_only_if_every_member_is_broken_on_the_window() -> None:
    late, root = trouble(REPORT), trouble(RAW)
    assert decided(late, root).action is AlertAction.NOTIFY
    assert decided(late, root, trouble(TRIPS, days=(1,))).action is AlertAction.NOTIFY
    assert decided(late, root, trouble(TRIPS, failed=None)).cause_id == root.id


def test_the_chain_may_pass_through_categories_as_the_rules_allow() -> None:
    root, middle = trouble(RAW, "completeness"), trouble(TRIPS, "duplicates", size=ALL_ROWS)
    assert decided(trouble(REPORT, "custom"), middle, root).cause_id == root.id


def test_of_two_roots_the_furthest_then_the_earliest_is_told() -> None:
    upstreams: Upstreams = {TRIPS: {RAW: {}, "raw.other": {}}, REPORT: {TRIPS: {}, "raw.near": {}}}
    near, other = trouble("raw.near", id=4, since=0), trouble("raw.other", id=6, since=0.5)
    effect = trouble(REPORT)
    known = [trouble(RAW, since=1), other, near, trouble(TRIPS), effect]
    root = root_cause(effect, effect.spots[0], known, upstreams)
    assert root == other


def test_in_a_cycle_the_earliest_is_told_and_the_others_are_not() -> None:
    cycle: Upstreams = {RAW: {TRIPS: {}}, TRIPS: {REPORT: {}}, REPORT: {RAW: {}}}
    known = [trouble(RAW, since=3), trouble(TRIPS, since=1), trouble(REPORT, since=1)]
    causes = {one.dataset: decide(one, known, cycle, terms(), now=at(5)).cause_id for one in known}
    assert causes == {RAW: IDS[TRIPS], TRIPS: None, REPORT: IDS[TRIPS]}


def test_a_cycle_upstream_is_a_cause_of_what_hangs_on_it() -> None:
    lineage: Upstreams = {RAW: {TRIPS: {}}, TRIPS: {RAW: {}}, REPORT: {TRIPS: {}}}
    effect = trouble(REPORT, since=0)
    known = [trouble(RAW, since=2), trouble(TRIPS, since=3), effect]
    assert decide(effect, known, lineage, terms(), now=at(5)).cause_id == IDS[RAW]


def test_a_table_that_reads_itself_is_not_its_own_upstream() -> None:
    lineage: Upstreams = {RAW: {RAW: {}}}
    custom = trouble(RAW, "custom", id=5)
    known = [custom, trouble(RAW, "duplicates")]
    assert decide(custom, known, lineage, terms(), now=at(3)).action is AlertAction.NOTIFY


def test_while_the_cause_only_warns_its_effects_wait_at_most_their_own_sustain() -> None:
    cause, effect = trouble(RAW, failed=None), trouble(TRIPS, failed=2)
    waiting = Decision(action=AlertAction.WAIT, why=Why.CAUSE_MAY_FAIL, cause_id=cause.id, until=at(6))
    assert decided(effect, cause, now=5.9) == waiting
    assert decided(effect, cause, now=6).action is AlertAction.NOTIFY


def test_a_failed_member_of_the_chain_takes_over_when_the_root_only_warns() -> None:
    chain = [trouble(RAW, failed=None), trouble(TRIPS, failed=2)]
    assert decided(trouble(REPORT, failed=2), *chain, now=6).cause_id == IDS[TRIPS]


@pytest.mark.parametrize(("eta", "until"), [(None, 25.0), (8.0, 8.0), (40.0, 40.0)])
def test_inhibition_ends_at_the_causes_eta_or_after_a_day(eta: float | None, until: float) -> None:
    cause, effect = trouble(RAW, since=0, eta=eta), trouble(TRIPS, since=1)
    assert decided(effect, cause, now=until - 0.1).until == at(until)
    assert decided(effect, cause, now=until) == Decision(
        action=AlertAction.NOTIFY, why=Why.CAUSE_OUTLASTED, cause_id=cause.id
    )


def test_a_window_that_only_warns_says_nothing_while_a_cause_explains_those_that_failed() -> None:
    monday, tuesday = Spot(window=day(0)), Spot(window=day(1), failed=False)
    effect, cause = replace(trouble(TRIPS), spots=(monday, tuesday)), trouble(RAW, since=0)
    assert decided(effect, cause).action is AlertAction.INHIBIT
    assert decided(replace(effect, spots=(monday, replace(tuesday, failed=True))), cause).action is AlertAction.NOTIFY


def test_a_cause_that_is_old_elsewhere_inhibits_for_a_day_where_it_is_new() -> None:
    monday, tuesday = Spot(window=day(0), since=at(0)), Spot(window=day(1), since=at(24))
    cause = replace(trouble(RAW, since=0), spots=(monday, tuesday))
    effect = replace(trouble(TRIPS, since=0), spots=(tuesday,))
    assert decided(effect, cause, now=30) == Decision(
        action=AlertAction.INHIBIT, why=Why.CAUSE_FAILED, cause_id=cause.id, until=at(48)
    )


def test_the_words_for_what_is_done_and_why_are_these() -> None:
    assert [action.value for action in AlertAction] == ["notify", "wait", "inhibit"]
    assert {why.name: why.value for why in Why} == {
        "NO_CAUSE": "no cause upstream",
        "CAUSE_MAY_FAIL": "its cause may be about to fail",
        "CAUSE_FAILED": "caused by an incident already told",
        "CAUSE_OUTLASTED": "its cause lasts longer than expected",
        "AWAITING_RERUN": "its cause is resolved, waiting for a new result",
        "SETTLING": "its cause is resolved, waiting for the data to catch up",
        "OF_THE_PAST": "found by a back-fill of the past",
        "STILL_BROKEN": "still broken after its cause was resolved",
    }


def on_days(*sinces: float | None) -> tuple[Spot, ...]:
    return tuple(
        Spot(window=day(number), since=None if since is None else at(since)) for number, since in enumerate(sinces)
    )


def test_of_several_windows_the_loudest_decision_counts_then_the_earliest_end() -> None:
    effect = trouble(TRIPS, days=(0, 1, 2))
    cause = replace(trouble(RAW, since=0), spots=on_days(5, 3, 4))
    assert decided(effect, cause, now=6).until == at(27)
    warns = replace(cause, id=8, failed_at=None)
    silent = replace(cause, spots=on_days(5))
    waits = replace(warns, spots=on_days(5, 3, 4)[1:2])
    two = replace(effect, spots=effect.spots[:2])
    assert decided(two, silent, waits, now=5.5).action is AlertAction.WAIT
    assert decided(two, replace(silent, eta=at(5.8)), waits, now=5.5).until == at(6)
    assert decided(effect, silent, waits, now=5.5).action is AlertAction.NOTIFY


def test_an_alert_with_a_window_of_which_nobody_heard_has_no_twin() -> None:
    lost = replace(trouble(TRIPS, id=7, days=(0,)), spots=(Spot(window=day(0), lost=True),))
    told, both = trouble(TRIPS, "completeness", id=5), trouble(TRIPS, "completeness", id=5, days=(0, 1))
    assert decided(told, lost) == Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE, twin_id=7)
    assert decided(both, lost) == Decision(action=AlertAction.NOTIFY, why=Why.NO_CAUSE)


def test_an_effect_that_has_not_failed_waits_its_sustain_from_its_first_broken_result() -> None:
    cause, effect = trouble(RAW, failed=None), trouble(TRIPS, since=1, failed=None)
    assert decided(effect, cause, now=4.9).until == at(5)
    assert decided(effect, cause, now=5).action is AlertAction.NOTIFY


def test_once_the_wait_for_a_warning_is_over_only_failed_causes_silence() -> None:
    warning, failed = trouble(RAW, since=0, failed=None), trouble("raw.other", id=6, since=1)
    lineage: Upstreams = {TRIPS: {RAW: {}, "raw.other": {}}}
    effect = trouble(TRIPS, failed=2)
    decision = decide(effect, [warning, failed, effect], lineage, terms(), now=at(6))
    assert decision == Decision(action=AlertAction.INHIBIT, why=Why.CAUSE_FAILED, cause_id=6, until=at(25))


def test_the_day_of_silence_begins_with_the_later_of_cause_and_effect() -> None:
    effect = replace(trouble(TRIPS, since=0), spots=(Spot(window=day(0), since=at(3)),))
    assert decided(effect, trouble(RAW, since=1), now=4).until == at(27)
    assert decided(trouble(TRIPS, since=2), trouble(RAW, since=1), now=4).until == at(26)
    assert decided(trouble(TRIPS, since=1), trouble(RAW, since=2), now=4).until == at(26)


@pytest.mark.parametrize(
    ("measured", "delay", "until", "why"),
    [
        (5, 0, 6, Why.SETTLING),  # measured the instant the cause ended: a new result, and the grace of an hour
        (5.2, 0, 6, Why.SETTLING),
        (6, 3, 8, Why.SETTLING),
        (4, 3, 29, Why.AWAITING_RERUN),  # never run again: told after a day
        (2, 0, 29, Why.AWAITING_RERUN),
        (4, 30, 35, Why.AWAITING_RERUN),  # what usually takes longer than a day gets its time
    ],
)
def test_after_a_cause_an_effect_has_its_grace_or_its_usual_delay(
    measured: float, delay: float, until: float, why: Why
) -> None:
    by = terms(measured=measured, delay=delay, former=5)
    assert decided(trouble(TRIPS), by=by, now=until - 0.1) == Decision(
        action=AlertAction.WAIT, why=why, cause_id=9, until=at(until)
    )
    assert decided(trouble(TRIPS), by=by, now=until) == Decision(
        action=AlertAction.NOTIFY, why=Why.STILL_BROKEN, cause_id=9
    )


def test_an_effect_has_no_usual_delay_unless_one_is_known() -> None:
    by = EffectTerms(sustain=HOUR, grace=timedelta(0), measured_at=at(5), former_id=9, released_at=at(5))
    assert decided(trouble(TRIPS), by=by, now=5).why is Why.STILL_BROKEN


@pytest.mark.parametrize(
    ("own", "upstreams", "hours"),
    [
        ([3] * 3, [[1] * 3], 2),
        ([3, 3, 30], [[1] * 5], 2),  # one late window is not usual
        ([3] * 3, [[1] * 3, [2] * 3], 1),  # it waits for the slowest
        ([1] * 3, [[2] * 3], 0),  # a negative delay is none
        ([12], [[1] * 3], 0),  # the one known window may be the late one
        ([3] * 3, [[1]], 0),
        ([3] * 3, [], 0),
        ([], [], 0),
    ],
)
def test_the_usual_delay_is_the_median_behind_the_slowest_upstream(
    own: list[int], upstreams: list[list[int]], hours: int
) -> None:
    seconds = [[each * 3600.0 for each in lateness] for lateness in (own, *upstreams)]
    assert usual_delay(seconds[0], seconds[1:]) == hours * HOUR


def test_an_alert_that_only_warns_is_decided_by_all_of_its_windows() -> None:
    effect = replace(trouble(TRIPS), spots=tuple(Spot(window=day(number), failed=False) for number in (0, 1)))
    assert decided(effect, trouble(RAW, days=(0, 1))).action is AlertAction.INHIBIT
    assert decided(effect, trouble(RAW, days=(0,))).action is AlertAction.NOTIFY
