"""The hour that a change of clocks doubles, where keys tell its halves: held to dateutil's time zones."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from dateutil import tz

from assay.time.durations import Step, UnableToStep, shift
from assay.time.windows import Granularity, Partitioning, Window
from tests.unit.assay.test_windows_in_every_zone import changes_of_clocks

LABEL = "%Y-%m-%dT%H%z"
ZONES = ["America/New_York", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe"]
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
STEPS = ["-1d", "1d", "-7d", "52w", "-52w", "364d", "-1h", "1h", "-2h", "24h", "-24h"]


def hours_of(zone: str) -> Partitioning:
    return Partitioning(granularity=Granularity.HOUR, time_zone=zone, key_format=LABEL)


@cache
def set_back(zone: str) -> list[datetime]:
    """About when the clocks of the zone were set back, the last nine times before 2026."""
    found = changes_of_clocks(ZoneInfo(zone))[-18:]
    return [at for at in found if local(at + 2 * HOUR, zone).utcoffset() < local(at - HOUR, zone).utcoffset()]  # type: ignore[operator]


def local(instant: datetime, zone: str) -> datetime:
    """What dateutil says that the clock shows, with its fold."""
    return instant.astimezone(tz.gettz(zone))


def windows_about(zone: str) -> Iterator[tuple[Partitioning, Window]]:
    """The hours before, in and after each doubled one."""
    hours = hours_of(zone)
    for change in set_back(zone):
        for window in hours.between(change - 3 * HOUR, change + 4 * HOUR):
            yield hours, window


def moved(start: datetime, step: Step, zone: str) -> datetime | None:
    """The instant a step away by dateutil: real hours, or local days in the same half of an hour; None: skipped."""
    if step.unit == "h":
        return start + step.amount * HOUR
    shown = local(start, zone)
    days = {"d": 1, "w": 7}[step.unit] * step.amount
    there = tz.enfold(shown + timedelta(days=days), fold=shown.fold)  # dateutil adds by the clock
    return there.astimezone(UTC) if tz.datetime_exists(there) else None


def test_there_are_doubled_hours_to_look_at() -> None:
    assert [len(set_back(zone)) for zone in ZONES] == [9, 9, 9, 9]


@pytest.mark.thorough
@pytest.mark.parametrize("zone", ZONES)
def test_each_minute_lies_in_the_half_that_the_clock_shows(zone: str) -> None:
    hours = hours_of(zone)
    for change in set_back(zone):
        for minute in range(-120, 240):
            instant = change + minute * MINUTE
            window = hours.at(instant)
            assert hours.key(window) == local(instant, zone).strftime(LABEL)
            assert window == hours.window(hours.key(window))


@pytest.mark.parametrize("zone", ZONES)
def test_both_halves_come_before_the_hour_after_them(zone: str) -> None:
    for change in set_back(zone):
        hours = hours_of(zone)
        shown = [local(change + minute * MINUTE, zone).strftime(LABEL) for minute in range(-300, 300)]
        labels = list(dict.fromkeys(shown))[1:]
        newest = hours.window(labels[-1])
        assert [hours.key(each) for each in hours.previous(newest, len(labels) - 1)] == labels[:-1]
        windows = [hours.window(label) for label in labels]
        assert [hours.previous(each)[0] for each in windows[1:]] == windows[:-1]
        following = [newest := hours.window(labels[0])] + [newest := hours.next(newest) for _ in labels[1:]]
        assert [hours.key(each) for each in following] == labels


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("zone", ZONES)
def test_a_step_from_a_half_leads_to_the_same_half_or_to_the_whole_hour(zone: str, step: str) -> None:
    by = Step.parse(step)
    for hours, window in windows_about(zone):
        expected = moved(window.start, by, zone)
        if expected is None:
            with pytest.raises(UnableToStep):
                hours.step(window, by)
        else:
            assert hours.key(hours.step(window, by)) == local(expected, zone).strftime(LABEL), (window.text, step)


@pytest.mark.parametrize("zone", ZONES)
def test_an_instant_in_the_second_half_stays_in_a_second_half(zone: str) -> None:
    for change in set_back(zone):
        for minutes in range(-90, 180, 15):
            instant = change + minutes * MINUTE
            for step in ("364d", "-52w", "1d", "-7d"):
                expected = moved(instant, Step.parse(step), zone)
                if expected is not None:
                    assert shift(instant, Step.parse(step), ZoneInfo(zone)) == expected
