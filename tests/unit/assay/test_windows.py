"""Windows and the partitions that tile time."""

from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo

import pytest

from assay.time.durations import Step, UnableToStep
from assay.time.windows import Granularity, Partitioning, UnableToAlign, UnableToPartition, UnableToReadWindow, Window

NEW_YORK_DAYS = Partitioning(granularity=Granularity.DAY, time_zone="America/New_York")
NEW_YORK_HOURS = Partitioning(granularity=Granularity.HOUR, time_zone="America/New_York")
UTC_HOURS = Partitioning(granularity=Granularity.HOUR)


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def window(start: str, end: str) -> Window:
    return Window(start=utc(start), end=utc(end))


def test_a_window_is_written_and_read_in_one_way() -> None:
    text = "2013-02-01T05:00:00Z/2013-02-02T05:00:00Z"
    assert Window.parse(text).text == text
    assert Window.parse("2013-02-01T00:00:00-05:00/2013-02-02T00:00:00-05:00").text == text


def test_a_window_is_in_utc_wherever_its_instants_come_from() -> None:
    there = ZoneInfo("Asia/Kolkata")
    day = Window(start=datetime(2013, 2, 1, tzinfo=there), end=datetime(2013, 2, 2, tzinfo=there))
    assert (day.start.tzinfo, day.end.tzinfo) == (UTC, UTC)
    assert day == window("2013-01-31T18:30", "2013-02-01T18:30")
    assert day.duration == timedelta(days=1)


@pytest.mark.parametrize("text", ["", "2013-02-01", "2013-02-02/2013-02-01", "a/b", "2013-02-01/2013-02-02", "x/y/z"])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(UnableToReadWindow):
        Window.parse(text)


def test_a_window_needs_a_length() -> None:
    with pytest.raises(UnableToReadWindow, match="must end after"):
        window("2013-02-01", "2013-02-01")


@pytest.mark.parametrize(("start", "end"), [(None, UTC), (UTC, None)])
def test_both_ends_of_a_window_need_a_zone(start: tzinfo | None, end: tzinfo | None) -> None:
    with pytest.raises(UnableToReadWindow, match=r"^A window needs instants with a time zone, not 2013-02-01 00:00:00"):
        Window(start=datetime(2013, 2, 1, tzinfo=start), end=datetime(2013, 2, 2, tzinfo=end))


def test_what_is_no_window_is_told_with_an_example() -> None:
    with pytest.raises(UnableToReadWindow) as refused:
        Window.parse("2013-02-02/x")
    assert str(refused.value) == (
        "'2013-02-02/x' is no window (Invalid isoformat string: 'x'): "
        "write it like 2013-02-01T05:00:00Z/2013-02-02T05:00:00Z."
    )


@pytest.mark.parametrize(
    ("start", "end", "said"),
    [
        ("1900-01-01", "2200-01-01", None),
        ("1899-12-31T23:59:59", "2013-02-01", "1899-12-31T23:59:59+00:00 lies outside of the years 1900 to 2199"),
        ("2013-02-01", "2200-01-01T00:00:01", "2200-01-01T00:00:01+00:00 lies outside of the years 1900 to 2199"),
    ],
)
def test_a_window_far_from_our_years_is_not_taken(start: str, end: str, said: str | None) -> None:
    asked = window(start, end)
    if said is None:
        assert asked.taken() is asked
        return
    with pytest.raises(UnableToReadWindow) as refused:
        asked.taken()
    assert str(refused.value) == f"{said}: name one in them."


def test_windows_that_only_touch_do_not_overlap() -> None:
    first, second = window("2013-02-01", "2013-02-02"), window("2013-02-02", "2013-02-03")
    assert not first.overlaps(second)
    assert not second.overlaps(first)
    for other in (window("2013-02-01T23:59:59", "2013-02-05"), window("2013-01-01", "2013-02-01T00:00:01"), first):
        assert first.overlaps(other)
        assert other.overlaps(first)
    assert not first.overlaps(window("2013-02-05", "2013-02-06"))
    assert not first.overlaps(window("2013-01-05", "2013-01-06"))


def test_the_end_of_a_window_lies_outside_it() -> None:
    day = window("2013-02-01", "2013-02-02")
    assert day.contains(day.start)
    assert not day.contains(day.end)
    assert day.contains(window("2013-02-01T22:00", "2013-02-02"))
    assert day.contains(day)
    assert not day.contains(window("2013-02-01T22:00", "2013-02-02T00:01"))
    assert not day.contains(window("2013-01-31T22:00", "2013-02-01T22:00"))
    assert not day.contains(day.start - timedelta(microseconds=1))


@pytest.mark.parametrize(
    ("granularity", "key", "text"),
    [
        (Granularity.HOUR, "2013-02-01-07", "2013-02-01T12:00:00Z/2013-02-01T13:00:00Z"),
        (Granularity.DAY, "2013-02-01", "2013-02-01T05:00:00Z/2013-02-02T05:00:00Z"),
        (Granularity.WEEK, "2013-W05", "2013-01-28T05:00:00Z/2013-02-04T05:00:00Z"),
        (Granularity.MONTH, "2013-03", "2013-03-01T05:00:00Z/2013-04-01T04:00:00Z"),
    ],
)
def test_each_granularity_has_a_default_key(granularity: Granularity, key: str, text: str) -> None:
    partitioning = Partitioning(granularity=granularity, time_zone="America/New_York")
    assert partitioning.window(key).text == text
    assert partitioning.key(Window.parse(text)) == key


@pytest.mark.parametrize(
    ("zone", "key", "hours"),
    [
        ("America/New_York", "2013-03-10", 23),
        ("America/New_York", "2013-11-03", 25),
        ("Africa/Cairo", "2023-04-28", 23),  # midnight itself is skipped
        ("America/Sao_Paulo", "2018-11-04", 23),  # likewise
        ("America/Sao_Paulo", "2018-02-17", 25),  # 23:00 comes twice
        ("Australia/Lord_Howe", "2018-04-01", 24.5),
        ("America/St_Johns", "2010-11-06", 25),  # the clock goes back at 00:01, into the day before
        ("America/St_Johns", "2010-11-07", 24),
    ],
)
def test_a_local_day_is_as_long_as_its_clocks_make_it(zone: str, key: str, hours: float) -> None:
    days = Partitioning(granularity=Granularity.DAY, time_zone=zone)
    assert days.window(key).duration == timedelta(hours=hours)
    assert days.key(days.window(key)) == key


def test_a_midnight_that_the_clocks_show_again_is_still_the_day_before() -> None:
    days = Partitioning(granularity=Granularity.DAY, time_zone="America/St_Johns")
    shown_first = utc("2010-11-07T02:30:30")  # 00:00:30, half a minute before the clocks go back to 23:01
    assert days.key(days.at(shown_first)) == "2010-11-06"
    assert days.key(days.at(utc("2010-11-07T03:30"))) == "2010-11-07"


def test_a_day_whose_midnight_is_skipped_begins_at_the_change_of_clocks() -> None:
    days = Partitioning(granularity=Granularity.DAY, time_zone="Africa/Cairo", key_format="%Y%m%d %H:%M")
    day = days.window("20230428 00:00")
    assert day.start.astimezone(ZoneInfo("Africa/Cairo")).hour == 1
    assert days.key(day) == "20230428 00:00"


def test_a_day_that_a_country_dropped_has_no_partition() -> None:
    samoa = Partitioning(granularity=Granularity.DAY, time_zone="Pacific/Apia")
    days = samoa.between(utc("2011-12-29T10:00"), utc("2011-12-31T10:00"))
    assert [samoa.key(day) for day in days] == ["2011-12-29", "2011-12-31"]
    with pytest.raises(UnableToPartition, match="No day in Pacific/Apia"):
        samoa.window("2011-12-30")


def test_the_doubled_hour_is_one_partition_of_two_hours() -> None:
    doubled = NEW_YORK_HOURS.window("2012-11-04-01")
    assert doubled.duration == timedelta(hours=2)
    assert NEW_YORK_HOURS.at(utc("2012-11-04T05:30")) == NEW_YORK_HOURS.at(utc("2012-11-04T06:30")) == doubled


def test_the_doubled_hour_is_two_partitions_where_the_key_tells_the_offset() -> None:
    hours = Partitioning(granularity=Granularity.HOUR, time_zone="America/New_York", key_format="%Y-%m-%dT%H%z")
    windows = hours.between(utc("2012-11-04T05:00"), utc("2012-11-04T08:00"))
    keys = ["2012-11-04T01-0400", "2012-11-04T01-0500", "2012-11-04T02-0500"]
    assert [hours.key(each) for each in windows] == keys
    assert [hours.window(key) for key in keys] == list(windows)


def test_after_the_hour_before_the_skipped_one_comes_the_one_after_it() -> None:
    assert NEW_YORK_HOURS.next(NEW_YORK_HOURS.window("2013-03-10-01")) == NEW_YORK_HOURS.window("2013-03-10-03")


@pytest.mark.parametrize("key", ["2013-2-1", "2013-02-30", "2013-02-01 ", "../../etc", "", "0001-01-01x", "9999-12-31"])
def test_a_key_that_no_partition_has_is_refused(key: str) -> None:
    with pytest.raises(UnableToPartition):
        NEW_YORK_DAYS.window(key)


def test_a_wrong_key_is_told_with_the_format_or_with_the_zone_that_skips_it() -> None:
    with pytest.raises(UnableToPartition) as unreadable:
        NEW_YORK_DAYS.window("1.2.2013")
    assert str(unreadable.value) == "'1.2.2013' does not have the key format '%Y-%m-%d'."
    with pytest.raises(UnableToPartition) as skipped:
        NEW_YORK_HOURS.window("2013-03-10-02")
    assert str(skipped.value) == ("No hour in America/New_York has the key '2013-03-10-02' (format '%Y-%m-%d-%H').")


@pytest.mark.parametrize(
    ("granularity", "key_format"),
    [
        (Granularity.DAY, "%m-%d"),
        (Granularity.DAY, "%Y-%m"),
        (Granularity.HOUR, "%Y-%m-%d"),
        (Granularity.MONTH, "%Y"),
        (Granularity.WEEK, "%V"),
        (Granularity.DAY, "%Q"),
        (Granularity.DAY, "today"),
    ],
)
def test_a_key_format_must_tell_the_partitions_apart(granularity: Granularity, key_format: str) -> None:
    with pytest.raises(UnableToPartition, match="key format"):
        Partitioning(granularity=granularity, key_format=key_format)


def test_partitions_are_cut_in_utc_and_named_as_usual_unless_something_else_is_said() -> None:
    assert Partitioning(granularity=Granularity.HOUR, time_zone="UTC", key_format="%Y-%m-%d-%H") == UTC_HOURS
    assert UTC_HOURS.zone == ZoneInfo("UTC")
    assert Partitioning(granularity=Granularity.DAY, key_format="%d.%m.%Y").key_format == "%d.%m.%Y"


def test_a_key_may_tell_the_offset_of_utc() -> None:
    hours = Partitioning(granularity=Granularity.HOUR, key_format="%Y-%m-%dT%H%z")
    assert hours.key(window("2013-02-01T07:00", "2013-02-01T08:00")) == "2013-02-01T07+0000"


def test_an_unknown_zone_is_refused() -> None:
    with pytest.raises(UnableToPartition, match="Europe/Berlin"):
        Partitioning(granularity=Granularity.DAY, time_zone="Mars/Olympus")


def test_the_windows_between_two_instants_are_those_that_start_there() -> None:
    days = NEW_YORK_DAYS.between(utc("2013-02-01T05:00"), utc("2013-02-03T05:00"))
    assert [NEW_YORK_DAYS.key(day) for day in days] == ["2013-02-01", "2013-02-02"]
    assert NEW_YORK_DAYS.between(utc("2013-02-01T05:01"), utc("2013-02-02T05:00")) == ()


def test_so_many_windows_are_found_and_no_more() -> None:
    start, end = utc("2013-02-01T05:00"), utc("2013-02-09T05:00")
    assert len(NEW_YORK_DAYS.between(start, end)) == 8
    assert NEW_YORK_DAYS.between(start, end, 2) == NEW_YORK_DAYS.between(start, end)[:2]
    assert NEW_YORK_DAYS.between(start, end, 8) == NEW_YORK_DAYS.between(start, end, 9)
    assert NEW_YORK_DAYS.between(start, end, 0) == ()


def test_nothing_is_looked_at_beyond_what_is_asked_for() -> None:
    """One day more, and the calendar would run out."""
    days = Partitioning(granularity=Granularity.DAY)
    second, third = window("0001-01-02", "0001-01-03"), window("0001-01-03", "0001-01-04")
    assert days.previous(third) == (second,)
    assert days.at(second.start) == second


def test_the_window_after_one_that_is_no_partition_is_not_guessed() -> None:
    with pytest.raises(UnableToAlign):
        NEW_YORK_DAYS.next(window("2013-02-01", "2013-02-02"))
    with pytest.raises(UnableToAlign):
        NEW_YORK_DAYS.previous(window("2013-02-01", "2013-02-02"))


def test_the_previous_windows_come_oldest_first() -> None:
    march = NEW_YORK_HOURS.window("2013-03-10-04")
    keys = [NEW_YORK_HOURS.key(each) for each in NEW_YORK_HOURS.previous(march, 3)]
    assert keys == ["2013-03-10-00", "2013-03-10-01", "2013-03-10-03"]
    assert NEW_YORK_HOURS.previous(march, 0) == ()
    assert NEW_YORK_HOURS.previous(march) == (NEW_YORK_HOURS.window("2013-03-10-03"),)


@pytest.mark.parametrize(
    ("key", "step", "expected"),
    [
        ("2013-03-12", "-7d", "2013-03-05"),  # six days and 23 hours
        ("2013-03-31", "-1mo", "2013-02-28"),
        ("2012-02-29", "1y", "2013-02-28"),
        ("2013-03-12", "1w", "2013-03-19"),
    ],
)
def test_a_step_keeps_the_local_calendar(key: str, step: str, expected: str) -> None:
    stepped = NEW_YORK_DAYS.step(NEW_YORK_DAYS.window(key), Step.parse(step))
    assert NEW_YORK_DAYS.key(stepped) == expected


@pytest.mark.parametrize(
    ("key", "step", "expected"),
    [
        ("2013-03-10-03", "-1h", "2013-03-10-01"),
        ("2012-11-04-02", "-1h", "2012-11-04-01"),
        ("2013-03-11-02", "-1w", "2013-03-04-02"),
    ],
)
def test_an_hourly_partition_steps_by_real_hours_and_local_days(key: str, step: str, expected: str) -> None:
    stepped = NEW_YORK_HOURS.step(NEW_YORK_HOURS.window(key), Step.parse(step))
    assert NEW_YORK_HOURS.key(stepped) == expected


@pytest.mark.parametrize(
    ("granularity", "key", "step"),
    [
        (Granularity.DAY, "2013-03-12", "-24h"),
        (Granularity.DAY, "2013-03-12", "30m"),
        (Granularity.HOUR, "2013-03-12-00", "30m"),
        (Granularity.WEEK, "2013-W05", "1d"),
        (Granularity.WEEK, "2013-W05", "1mo"),
        (Granularity.HOUR, "2013-03-11-02", "-1d"),  # that hour was skipped
        (Granularity.DAY, "2013-03-12", "9999y"),
    ],
)
def test_a_step_that_leads_to_no_partition_is_refused(granularity: Granularity, key: str, step: str) -> None:
    partitioning = Partitioning(granularity=granularity, time_zone="America/New_York")
    with pytest.raises(UnableToStep):
        partitioning.step(partitioning.window(key), Step.parse(step))


@pytest.mark.parametrize(
    ("step", "said"),
    [
        (
            "1d",
            "1d from 2013-W05 is 2013-01-29 00:00:00, where no week of America/New_York starts: "
            "take a whole number of partitions.",
        ),
        (
            "-24h",
            "-24h is no whole number of weeks: step by 1h only through hourly partitions, "
            "by d, w, mo or y through longer ones.",
        ),
    ],
)
def test_a_step_that_leads_nowhere_is_told_with_how_to_mend_it(step: str, said: str) -> None:
    weeks = Partitioning(granularity=Granularity.WEEK, time_zone="America/New_York")
    with pytest.raises(UnableToStep) as refused:
        weeks.step(weeks.window("2013-W05"), Step.parse(step))
    assert str(refused.value) == said


def test_hours_tile_a_day_of_their_own_zone() -> None:
    assert len(NEW_YORK_HOURS.keys(NEW_YORK_DAYS.window("2013-03-10"))) == 23
    assert len(UTC_HOURS.keys(NEW_YORK_DAYS.window("2013-11-03"))) == 25


def test_days_of_another_zone_do_not_align() -> None:
    utc_days = Partitioning(granularity=Granularity.DAY)
    assert utc_days.tile(NEW_YORK_DAYS.window("2013-02-01")) is None
    with pytest.raises(UnableToAlign) as refused:
        utc_days.keys(NEW_YORK_DAYS.window("2013-02-01"))
    assert str(refused.value) == (
        "Partitions do not align: no whole number of days of UTC covers 2013-02-01T05:00:00Z/2013-02-02T05:00:00Z."
    )


@pytest.mark.parametrize(
    ("start", "end", "tiles"),
    [
        ("2013-02-01T00:00", "2013-02-01T03:00", 3),
        ("2013-02-01T00:30", "2013-02-01T03:00", None),
        ("2013-02-01T00:00", "2013-02-01T02:30", None),
        ("2013-02-01T00:10", "2013-02-01T00:20", None),
    ],
)
def test_hours_tile_what_begins_and_ends_with_one(start: str, end: str, tiles: int | None) -> None:
    found = UTC_HOURS.tile(window(start, end))
    assert (len(found) if found else None) == tiles


def test_more_tiles_than_wanted_are_none() -> None:
    three = window("2013-02-01T00:00", "2013-02-01T03:00")
    assert UTC_HOURS.tile(three, 2) is None
    assert UTC_HOURS.tile(three, 3) == UTC_HOURS.tile(three)


def test_nothing_tiles_the_ends_of_the_calendar() -> None:
    assert NEW_YORK_DAYS.tile(window("9999-12-30", "9999-12-31")) is None


def test_a_day_does_not_tile_an_hour() -> None:
    assert NEW_YORK_DAYS.tile(NEW_YORK_HOURS.window("2013-02-01-00")) is None


def test_a_window_that_is_no_partition_has_no_key() -> None:
    with pytest.raises(UnableToAlign) as refused:
        NEW_YORK_DAYS.key(window("2013-02-01", "2013-02-02"))
    assert str(refused.value) == (
        "2013-02-01T00:00:00Z/2013-02-02T00:00:00Z is no day of America/New_York; "
        "the nearest is 2013-01-31T05:00:00Z/2013-02-01T05:00:00Z."
    )
