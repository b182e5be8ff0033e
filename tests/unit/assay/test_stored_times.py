"""Where a range of instants begins and ends among the times that a column holds."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.time.stored_times import Holds, StoredTimes
from assay.time.windows import Granularity, Partitioning, UnableToPartition

BERLIN = "Europe/Berlin"
MINUTE = timedelta(minutes=1)


def stored(
    zone: str = "UTC", cut_in: str = "UTC", holds: Holds = Holds.TIME, by: Granularity = Granularity.DAY
) -> StoredTimes:
    return StoredTimes(partitioning=Partitioning(granularity=by, time_zone=cut_in), holds=holds, time_zone=zone)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


CUTS = [
    ("UTC", "2026-03-09 00:00", "2026-03-09 00:00"),
    (BERLIN, "2026-03-08 23:00", "2026-03-09 00:00"),
    (BERLIN, "2026-03-29 01:00", "2026-03-29 03:00"),  # 02:00 to 03:00 is left out
    (BERLIN, "2026-10-25 00:00", "2026-10-25 02:00"),  # the first of two hours from 02:00
    (BERLIN, "2026-10-25 02:00", "2026-10-25 03:00"),
    ("Asia/Kolkata", "2026-03-08 18:30", "2026-03-09 00:00"),
]


@pytest.mark.parametrize(("zone", "instant", "wall"), CUTS)
def test_a_range_begins_at_what_the_clocks_of_the_column_show(zone: str, instant: str, wall: str) -> None:
    assert stored(zone).wall(utc(instant)) == datetime.fromisoformat(wall)


@pytest.mark.parametrize("instant", ["2026-10-25 00:30", "2026-10-25 01:00", "2026-10-25 01:30"])
def test_a_range_that_begins_inside_a_doubled_hour_is_refused(instant: str) -> None:
    with pytest.raises(UnableToPartition, match=r"Europe/Berlin, whose clocks showed 2026-10-25 02:.0 twice"):
        stored(BERLIN).wall(utc(instant))


@given(st.sampled_from(sorted(available_timezones())), st.datetimes(datetime(2012, 1, 1), datetime(2037, 1, 1)))
def test_a_cut_parts_the_rows_before_an_instant_from_those_after_it_or_is_refused(zone: str, near: datetime) -> None:
    instant = near.replace(minute=0, second=0, microsecond=0, tzinfo=UTC)
    try:
        wall = stored(zone).wall(instant)
    except UnableToPartition:
        return
    for minutes in range(-180, 180, 10):
        shown = (instant + minutes * MINUTE).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert (shown >= wall) == (minutes >= 0), (shown, wall)


@pytest.mark.thorough
@pytest.mark.parametrize("by", [Granularity.DAY, Granularity.HOUR])
@pytest.mark.parametrize("zone", [BERLIN, "America/New_York", "Australia/Lord_Howe", "America/Havana", "Africa/Cairo"])
def test_local_times_fall_into_the_partitions_that_their_own_text_names(zone: str, by: Granularity) -> None:
    times = stored(zone, zone, by=by)
    instants = pd.date_range("2026-01-01", "2026-12-31", freq="10min", tz="UTC")
    shown = instants.tz_convert(zone).tz_localize(None)
    named = pd.Series(1, index=shown.strftime(times.partitioning.key_format)).groupby(level=0).sum()
    windows = times.partitioning.between(instants[0].to_pydatetime() + timedelta(days=2), utc("2026-12-30 00:00"))
    walls = shown.sort_values()
    for window in windows:
        count = walls.searchsorted(times.wall(window.end)) - walls.searchsorted(times.wall(window.start))
        assert count == named[times.partitioning.key(window)], window.text


@pytest.mark.parametrize(
    ("holds", "ticks"), [(Holds.EPOCH_SECONDS, 1773014401), (Holds.EPOCH_MILLISECONDS, 1773014400500)]
)
def test_epochs_begin_at_the_first_tick_that_is_not_before_the_instant(holds: Holds, ticks: int) -> None:
    assert stored(holds=holds).ticks(utc("2026-03-09 00:00") + timedelta(milliseconds=500)) == ticks


@pytest.mark.parametrize(
    ("holds", "value", "instant"),
    [
        (Holds.EPOCH_SECONDS, 1773014400, "2026-03-09 00:00"),
        (Holds.EPOCH_MILLISECONDS, 1773014400000, "2026-03-09 00:00"),
        (Holds.EPOCH_SECONDS, -60, "1969-12-31 23:59"),
    ],
)
def test_a_tick_is_an_instant_since_1970(holds: Holds, value: int, instant: str) -> None:
    times = stored(BERLIN, holds=holds)
    assert times.ticks(utc(instant)) == value
    assert times.instant(value) == utc(instant)
    assert times.instants(str(value)) == (utc(instant),) * 2


def test_a_stored_time_is_the_first_instant_that_it_may_be() -> None:
    assert stored(BERLIN).instant(datetime(2026, 10, 25, 2, 30)) == utc("2026-10-25 00:30")
    assert stored(BERLIN).instant(datetime(2026, 3, 9, 12)).tzinfo is UTC
    there = ZoneInfo("Asia/Kolkata")
    assert stored(BERLIN).instant(datetime(2026, 3, 9, 5, 30, tzinfo=there)) == utc("2026-03-09 00:00")


def test_a_column_holds_what_catalogs_call_it_in_clocks_of_utc() -> None:
    assert [str(each) for each in Holds] == ["key", "time", "epoch_seconds", "epoch_milliseconds"]
    assert StoredTimes(partitioning=stored().partitioning, holds=Holds.TIME) == stored("UTC")
    with pytest.raises(UnableToPartition, match="There is no time zone 'Berlin'"):
        stored("Berlin")


@pytest.mark.parametrize(
    ("holds", "text", "instant"),
    [
        (Holds.TIME, "9999-12-31", "2200-01-01"),
        (Holds.TIME, "0001-01-02", "1900-01-01"),
        (Holds.EPOCH_SECONDS, str(2**35), "2200-01-01"),
        (Holds.EPOCH_SECONDS, str(-(2**32)), "1900-01-01"),
        (Holds.TIME, "2199-12-31 23:59", "2199-12-31 23:59"),
    ],
)
def test_a_time_far_from_our_years_is_the_last_one_near_them(holds: Holds, text: str, instant: str) -> None:
    assert stored(holds=holds).instants(text) == (utc(instant),) * 2


@pytest.mark.parametrize(("holds", "text"), [(Holds.EPOCH_SECONDS, "noon"), (Holds.EPOCH_SECONDS, "9" * 30)])
def test_what_is_no_tick_is_no_instant(holds: Holds, text: str) -> None:
    assert stored(holds=holds).instants(text) is None


def test_what_a_doubled_hour_hides_is_told_with_both_clocks() -> None:
    with pytest.raises(UnableToPartition) as refused:
        stored(BERLIN).wall(utc("2026-10-25 01:30"))
    assert str(refused.value) == (
        "the times are those of Europe/Berlin, whose clocks showed 2026-10-25 02:30 twice, so that rows "
        "before and after 2026-10-25 01:30 UTC cannot be told apart"
    )


def test_a_time_in_a_query_may_be_either_of_two_instants() -> None:
    assert stored(BERLIN).instants("2026-10-25 02:30") == (utc("2026-10-25 00:30"), utc("2026-10-25 01:30"))
    assert stored(BERLIN).instants("2026-10-25T02:30+01:00") == (utc("2026-10-25 01:30"),) * 2
    assert stored(holds=Holds.EPOCH_SECONDS).instants("1773014400") == (utc("2026-03-09 00:00"),) * 2
    assert stored(BERLIN).instants("monday") is None
