"""What must hold of partitions in every zone, near every change of clocks of twenty years."""

from bisect import bisect_left
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.time.windows import Granularity, Partitioning, Window

FIRST, LAST = datetime(2006, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC)
SAMPLE = ["UTC", "America/New_York", "Africa/Cairo", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"]
HOUR = timedelta(hours=1)


@cache
def changes_of_clocks(zone: ZoneInfo) -> list[datetime]:
    """The hours in which the zone's offset changes, each by its start."""
    found, step = [], timedelta(days=7)
    offsets = [(week := FIRST + n * step, offset(week, zone)) for n in range((LAST - FIRST) // step)]
    for (low, before), (_, after) in pairwise(offsets):
        if before != after:
            changed = [offset(low + n * HOUR, zone) != before for n in range(24 * 7 + 1)]
            found.append(low + (bisect_left(changed, True) - 1) * HOUR)
    return found


def offset(instant: datetime, zone: ZoneInfo) -> timedelta | None:
    return instant.astimezone(zone).utcoffset()


def assert_tiled(partitioning: Partitioning, windows: tuple[Window, ...]) -> None:
    assert [w.start for w in windows[1:]] == [w.end for w in windows[:-1]]
    keys = [partitioning.key(w) for w in windows]
    assert len(set(keys)) == len(keys)
    assert [partitioning.window(key) for key in keys] == list(windows)


@cache
def distinct_zones() -> list[str]:
    """One name for each distinct sequence of offsets, as most of the names are aliases."""
    by_changes = {}
    for name in sorted(available_timezones()):
        zone = ZoneInfo(name)
        changes = changes_of_clocks(zone)
        by_changes[tuple((c, offset(c, zone), offset(c + HOUR, zone)) for c in changes)] = name
    return sorted(by_changes.values())


@pytest.mark.thorough
@pytest.mark.parametrize("granularity", [Granularity.DAY, Granularity.WEEK, Granularity.MONTH])
@pytest.mark.parametrize("zone", SAMPLE)
def test_windows_tile_twenty_years_without_gap_or_overlap(zone: str, granularity: Granularity) -> None:
    partitioning = Partitioning(granularity=granularity, time_zone=zone)
    assert_tiled(partitioning, partitioning.between(FIRST, LAST))


@pytest.mark.thorough
@pytest.mark.parametrize("key_format", ["%Y-%m-%d-%H", "%Y-%m-%d-%H%z"])
def test_hours_and_days_tile_time_around_every_change_of_clocks_of_every_zone(key_format: str) -> None:
    for name in distinct_zones():
        hours = Partitioning(granularity=Granularity.HOUR, time_zone=name, key_format=key_format)
        days = Partitioning(granularity=Granularity.DAY, time_zone=name)
        for change in changes_of_clocks(ZoneInfo(name)):
            around = days.between(change - 30 * HOUR, change + 30 * HOUR)
            assert_tiled(days, around)
            near = hours.between(change - 2 * HOUR, change + 3 * HOUR)
            assert_tiled(hours, near)


@settings(max_examples=3 * settings().max_examples)
@given(
    zone=st.sampled_from(SAMPLE),
    granularity=st.sampled_from(list(Granularity)),
    instant=st.datetimes(datetime(2006, 1, 1), datetime(2026, 1, 1), timezones=st.just(UTC)),
)
def test_every_instant_lies_in_the_one_window_found_for_it(
    zone: str, granularity: Granularity, instant: datetime
) -> None:
    partitioning = Partitioning(granularity=granularity, time_zone=zone)
    window = partitioning.at(instant)
    assert window.contains(instant)
    assert partitioning.next(partitioning.previous(window)[0]) == window
    assert partitioning.tile(window) == (window,)
    assert Window.parse(window.text) == window
