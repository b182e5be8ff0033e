"""Late or lost: whether the rows that a window lacks may still come."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from alerting.inhibition.rules import (
    MISSING,
    AlertAction,
    EffectTerms,
    Spot,
    Trouble,
    Upstreams,
    can_cause,
    decide,
    lost_at,
    narrowed,
    stillness,
    twin,
)
from assay.time.windows import Window

MONDAY = datetime(2026, 3, 9, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
WINDOW = Window(start=MONDAY, end=MONDAY + DAY)
TERMS = EffectTerms(sustain=4 * HOUR, grace=HOUR, measured_at=MONDAY + DAY)


def at(hours: float) -> datetime:
    return WINDOW.end + hours * HOUR


@pytest.mark.parametrize(
    ("known", "lost"),
    [
        ({}, None),  # nothing says when files changed, and nobody has told of a completion
        ({"completed_at": at(3)}, at(3)),
        ({"completed_at": at(6)}, at(6)),  # told at the instant of the count
        ({"completed_at": at(7)}, None),  # the rows were counted before that: they may be there by now
        ({"changed_at": at(3)}, at(7)),
        ({"changed_at": at(7)}, None),
        ({"changed_at": at(3), "completed_at": at(5)}, at(5)),
        ({"changed_at": at(3), "completed_at": at(5), "stillness": HOUR}, at(4)),
        ({"changed_at": at(3), "completed_at": at(7)}, at(7)),
        ({"completed_at": at(3), "changed_at": at(3), "has_file": False}, None),
    ],
)
def test_when_rows_are_lost(known: dict[str, Any], lost: datetime | None) -> None:
    assert lost_at(**{"has_file": True, "counted_at": at(6), "stillness": 4 * HOUR, **known}) == lost


def test_files_stand_still_for_an_hour_where_nothing_else_is_known() -> None:
    assert lost_at(has_file=True, counted_at=at(6), changed_at=at(6)) == at(7)


@pytest.mark.parametrize(
    ("sustain", "gaps", "hours"),
    [
        (0, [], 1),
        (4, [], 4),
        (0, [2, 3], 1),  # two gaps are too few to say what is usual
        (0, [2, 3, 9], 3),
        (0, [2, 3, 4, 9], 3.5),
        (0, [0.1, 0.1, 0.1], 1),
        (4, [2, 3, 9], 4),
        (4, [6, 6, 6, 100], 6),
    ],
)
def test_how_long_files_must_stand_still(sustain: int, gaps: list[float], hours: float) -> None:
    assert stillness(sustain=sustain * HOUR, gaps=[gap * HOUR for gap in gaps]) == hours * HOUR


def trouble(category: str, *spots: Spot, id: int = 0, dataset: str = "trips", failed: float | None = 10) -> Trouble:
    number = id or {"freshness": 1, "completeness": 2, "consistency": 3}[category]
    failed_at = None if failed is None else at(failed)
    return Trouble(id=number, dataset=dataset, category=category, spots=spots, since=at(6), failed_at=failed_at)


def spot(place: str | None = None, *, lost: bool = False, lost_at: datetime | None = None) -> Spot:
    return Spot(window=WINDOW, datacenter=place, lost=lost, lost_at=lost_at)


@pytest.mark.parametrize("category", sorted(MISSING))
@pytest.mark.parametrize("lost", [False, True])
def test_freshness_causes_what_is_missing_while_late_and_is_caused_by_it_once_lost(category: str, lost: bool) -> None:
    fresh, missing = trouble("freshness", spot(lost=lost)), trouble(category, spot())
    assert can_cause(fresh, missing, {}) is not lost
    assert can_cause(missing, fresh, {}) is lost


@pytest.mark.parametrize(
    ("fresh", "effect", "silent"),
    [
        ([spot()], trouble("completeness", spot()), True),
        ([spot(lost=True)], trouble("completeness", spot()), False),
        ([spot()], trouble("consistency", spot("phx")), True),  # home is late, and the copy says nothing of its own
        ([spot(), spot("phx")], trouble("consistency", spot("phx")), True),
        ([spot(), spot("phx", lost=True)], trouble("consistency", spot("phx")), False),  # its own loss
        ([spot(lost=True), spot("phx")], trouble("consistency", spot("phx")), True),  # its own lateness
        ([spot(), spot("phx", lost=True)], trouble("completeness", spot()), True),  # another's loss is not home's
        ([spot("phx")], trouble("completeness", spot()), False),
    ],
)
def test_who_is_silent_for_lateness(fresh: list[Spot], effect: Trouble, silent: bool) -> None:
    decision = decide(effect, [trouble("freshness", *fresh), effect], {}, TERMS, now=at(11))
    assert (decision.action is AlertAction.INHIBIT) is silent


def test_a_loss_upstream_is_told_instead_of_all_the_lateness_behind_it() -> None:
    lineage: Upstreams = {"daily": {"trips": {}}}
    lost, missing = trouble("freshness", spot(lost=True)), trouble("completeness", spot())
    effect = trouble("freshness", spot(), id=9, dataset="daily")
    decision = decide(effect, [lost, missing, effect], lineage, TERMS, now=at(11))
    assert (decision.action, decision.cause_id) == (AlertAction.INHIBIT, missing.id)


def test_what_is_silent_for_lateness_is_decided_about_again_when_the_rows_will_be_lost() -> None:
    late, missing = trouble("freshness", spot(lost_at=at(13))), trouble("completeness", spot())
    assert decide(missing, [late, missing], {}, TERMS, now=at(11)).until == at(13)


@pytest.mark.parametrize(
    ("spots", "hours"),
    [
        ([spot(lost_at=at(13)), spot(lost_at=at(12))], 12),
        ([spot(lost_at=at(99))], 30),  # the lateness is told of a day after it began in any case
        ([spot(), spot(lost=True, lost_at=at(12))], 30),
    ],
)
def test_of_all_instants_at_which_rows_will_be_lost_the_first_counts(spots: list[Spot], hours: int) -> None:
    missing = trouble("completeness", spot())
    late = trouble("freshness", *spots)
    decision = decide(missing, [late, missing], {}, TERMS, now=at(11))
    assert (decision.action, decision.until) == (AlertAction.INHIBIT, at(hours))


def test_only_the_lateness_of_its_own_table_tells_missing_rows_when_they_will_be_lost() -> None:
    lineage: Upstreams = {"daily": {"trips": {}}}
    own, upstream = trouble("freshness", spot(), dataset="daily"), trouble("freshness", spot(lost_at=at(12)), id=7)
    missing = trouble("completeness", spot(), id=8, dataset="daily")
    assert decide(missing, [own, upstream, missing], lineage, TERMS, now=at(11)).until == at(30)
    assert decide(own, [own, upstream], lineage, TERMS, now=at(11)).until == at(30)


def test_rows_that_were_told_as_late_are_the_twin_of_those_that_are_missing() -> None:
    missing = trouble("completeness", spot())
    lost, late = trouble("freshness", spot(lost=True)), trouble("freshness", spot())
    assert twin(missing, missing.spots[0], [lost, missing]) == lost
    assert twin(missing, missing.spots[0], [late, missing]) is None
    assert twin(late, late.spots[0], [late, missing]) == missing


def test_the_loss_of_a_copy_is_no_twin_of_the_lateness_of_home() -> None:
    copy = trouble("consistency", spot("phx"))
    fresh = trouble("freshness", spot(), spot("phx", lost=True))
    assert twin(copy, copy.spots[0], [fresh, copy]) is None
    assert twin(copy, copy.spots[0], [replace(fresh, spots=fresh.spots[1:]), copy]) is not None


def test_troubles_of_another_table_or_window_are_no_twins() -> None:
    missing, tomorrow = trouble("completeness", spot()), Window(start=WINDOW.end, end=WINDOW.end + DAY)
    elsewhere = trouble("freshness", spot(lost=True), dataset="stops")
    later = trouble("freshness", replace(spot(lost=True), window=tomorrow))
    assert twin(missing, missing.spots[0], [elsewhere, later, missing]) is None


def test_a_copy_speaks_for_itself_before_home_speaks_for_it() -> None:
    fresh = trouble("freshness", spot(), spot("phx", lost=True))
    own = narrowed(fresh, spot("phx"))
    assert own is not None
    assert [one.datacenter for one in own.spots] == ["phx"]
    assert narrowed(fresh, replace(spot(), window=Window(start=WINDOW.end, end=WINDOW.end + DAY))) is None
