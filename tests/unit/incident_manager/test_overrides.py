"""What users let pipelines read although the gate would block."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.time.windows import Granularity, Partitioning, Window
from incident_manager.gate.rules import (
    Because,
    GateDecision,
    Override,
    UnableToOverride,
    demand_sound,
    longest,
    overridden,
    usual,
)
from incident_manager.intervals import union

NOW = datetime(2024, 3, 4, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
DAYS = Partitioning(granularity=Granularity.DAY)


def hours(start: int, end: int) -> Window:
    return Window(start=NOW + start * HOUR, end=NOW + end * HOUR)


def override(window: Window, ends_at: datetime = NOW + HOUR, reason: str = "it is needed") -> Override:
    return Override(window=window, author="ada", ends_at=ends_at, reason=reason)


def because(*windows: Window, decision: GateDecision = GateDecision.BLOCK) -> Because:
    return Because(decision=decision, dataset="raw.trips", windows=union(windows), text="duplicates is broken")


spans = st.tuples(st.integers(0, 30), st.integers(1, 8)).map(lambda pair: hours(pair[0], sum(pair)))


@given(st.lists(spans, min_size=1, max_size=4), st.lists(spans, max_size=3))
def test_an_hour_warns_exactly_where_an_override_covers_it_and_none_is_lost(
    bad: list[Window], covers: list[Window]
) -> None:
    found = list(overridden(because(*bad), [override(window) for window in covers]))
    for hour in range(40):
        asked = NOW + hour * HOUR
        said = [each.decision for each in found if any(window.contains(asked) for window in each.windows)]
        is_bad = any(window.contains(asked) for window in bad)
        is_covered = any(window.contains(asked) for window in covers)
        assert said == ([GateDecision.WARN if is_covered else GateDecision.BLOCK] if is_bad else [])


def test_a_warning_keeps_why_it_would_block_and_says_who_overrode_it() -> None:
    (found,) = overridden(because(hours(0, 24)), [override(hours(0, 24))])
    assert found.text == "duplicates is broken; overridden by ada until 2024-03-04 13:00 UTC: it is needed"


@pytest.mark.parametrize("decision", [GateDecision.WARN, GateDecision.ALLOW])
def test_what_does_not_block_is_not_touched(decision: GateDecision) -> None:
    mild = because(hours(0, 24), decision=decision)
    assert list(overridden(mild, [override(hours(0, 24))])) == [mild]


@pytest.mark.parametrize(("tier", "usually", "most"), [(0, 4, 24), (1, 4, 24), (2, 24, 168), (5, 24, 168)])
def test_how_long_an_override_lasts(tier: int, usually: int, most: int) -> None:
    assert (usual(tier), longest(tier)) == (usually * HOUR, most * HOUR)
    day = override(DAYS.at(NOW), ends_at=NOW + most * HOUR)
    demand_sound(day, tier=tier, partitioning=DAYS, now=NOW)
    with pytest.raises(UnableToOverride, match=f"at most {most} hours"):
        demand_sound(day, tier=tier, partitioning=DAYS, now=NOW - timedelta(seconds=1))


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (override(hours(0, 24)), "window"),
        (override(DAYS.at(NOW), ends_at=NOW), "ends_at"),
        (override(DAYS.at(NOW), reason=" \n"), "reason"),
    ],
)
def test_an_override_that_must_not_be(given: Override, field: str) -> None:
    with pytest.raises(UnableToOverride) as raised:
        demand_sound(given, tier=2, partitioning=DAYS, now=NOW)
    assert raised.value.field == field


def test_a_table_without_partitions_may_be_read_over_any_window() -> None:
    demand_sound(override(hours(0, 5)), tier=2, partitioning=None, now=NOW)
