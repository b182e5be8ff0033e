"""Arrival: until when the next commit of a table is not late, by the gaps between its commits so far (pure)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from execution_engine.profiles.values import Floats

from .commits import DAY, Beat, LocalCalendar, beats_of
from .conformal import FEWEST, upper_bound

ALARMS = 0.01  # of the gaps, or of the days where there are more gaps than days
WEEK = timedelta(days=7)
WEEKS = 4  # that are looked back at the same hour
LAST = 1500  # beats that teach
NEAR = 0.25  # of a day: a beat of another week this near is of the same hour of the week
LAST_GAPS = 15  # whose median is expected where weeks say nothing
SLACK = 0.05  # of the expected gap, and 15 minutes: nobody is late by less
LEAST_SLACK = 900.0
SPAN = timedelta(days=14)  # so that each hour of the week was there twice


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """When the next commit is expected, and the instant from which on it is late."""

    expected_at: datetime
    late_at: datetime


@dataclass(frozen=True, kw_only=True)
class Unknown:
    """Why nothing can be expected yet."""

    why: str


def expect_arrival(instants: Sequence[datetime], calendar: LocalCalendar) -> Arrival | Unknown:
    """What the next commit is held against, from the instants of all commits so far, the oldest first.

    The gap behind a commit is expected as it was at the same hour of the last four weeks, or, where that was no better,
    as the last gaps were. By how much each was missed, in hours or as a factor, gives the bound.
    """
    beats = beats_of([calendar.local(instant) for instant in instants])[-LAST:]
    if fault := too_few(beats):
        return Unknown(why=fault)
    epoch = beats[0].start
    starts = np.array([(beat.start - epoch).total_seconds() for beat in beats])
    ends = np.array([(beat.end - epoch).total_seconds() for beat in beats])
    gaps = starts[1:] - ends[:-1]
    if calendar.country:
        gaps -= [_holidays(beat.end, later.start, calendar) for beat, later in pairwise(beats)]
    days = np.array([beat.end.toordinal() for beat in beats[:-1]])
    reaches = [
        reach for expected in (_as_last(gaps), _as_in_weeks(starts, ends)) for reach in _reaches(expected, gaps, days)
    ]
    _, gap, reach_ahead = min(reaches)
    last = beats[-1].end
    late = last + timedelta(seconds=max(reach_ahead, gap * (1 + SLACK), gap + LEAST_SLACK))
    expected_at = _without_holidays(last, last + timedelta(seconds=gap), calendar)
    return Arrival(
        expected_at=calendar.instant(expected_at), late_at=calendar.instant(_without_holidays(last, late, calendar))
    )


def too_few(beats: Sequence[Beat]) -> str:
    """Why these beats say nothing of the next one; empty where they do."""
    if len(beats) < FEWEST + 2:
        return f"{len(beats)} commits are known: from {FEWEST + 2} on a gap can be expected"
    span = beats[-1].end - beats[0].start
    if span < SPAN:
        return f"its commits are of {span / DAY:.0f} days: from {SPAN.days} on the hours of a week are known"
    return ""


def _as_last(gaps: Floats) -> Floats:
    """Behind each beat, the last one too: the median of the gaps before; NaN where there was none."""
    first = [np.nan, *(float(np.median(gaps[:count])) for count in range(1, min(LAST_GAPS, len(gaps) + 1)))]
    if len(gaps) < LAST_GAPS:
        return np.array(first)
    return np.concatenate([first, np.median(sliding_window_view(gaps, LAST_GAPS), axis=1)])


def _as_in_weeks(starts: Floats, ends: Floats) -> Floats:
    """Behind each beat: when the next one came in the weeks before, their median; NaN where no week says it."""
    samples = np.full((WEEKS, len(ends)), np.nan)
    for back in range(1, WEEKS + 1):
        then = ends - back * WEEK.total_seconds()
        right = np.clip(np.searchsorted(ends, then), 1, len(ends) - 1)
        nearest = np.where(then - ends[right - 1] < ends[right] - then, right - 1, right)
        following = np.minimum(nearest + 1, len(starts) - 1)
        is_near = (np.abs(ends[nearest] - then) < NEAR * DAY.total_seconds()) & (nearest + 1 < len(starts))
        samples[back - 1] = np.where(is_near, np.maximum(starts[following] - then, 0.0), np.nan)
    has_sample = ~np.isnan(samples).all(axis=0)
    medians = np.full(len(ends), np.nan)
    if has_sample.any():
        medians[has_sample] = np.nanmedian(samples[:, has_sample], axis=0)
    return medians


def _reaches(expected: Floats, gaps: Floats, days: Floats) -> list[tuple[float, float, float]]:
    """By differences and by factors: how far the bound reaches on average, the next expected gap and its bound."""
    ahead = float(expected[-1])
    has_value = ~np.isnan(expected[:-1])
    if np.isnan(ahead) or has_value.sum() < FEWEST:
        return []
    expected, gaps, days = expected[:-1][has_value], gaps[has_value], days[has_value]
    least = np.maximum(expected, LEAST_SLACK)
    by_difference = upper_bound(_worst_of_days(gaps - expected, days), ALARMS)
    by_factor = upper_bound(_worst_of_days(gaps / least, days), ALARMS)
    return [
        (float(np.mean(expected)) + by_difference, ahead, ahead + by_difference),
        (float(np.mean(least)) * by_factor, ahead, max(ahead, LEAST_SLACK) * by_factor),
    ]


def _worst_of_days(scores: Floats, days: Floats) -> Floats:
    """The largest score of each day, in their order: so many gaps of a day are one chance of a false alarm."""
    _, firsts = np.unique(days, return_index=True)
    worst = np.maximum.reduceat(scores, firsts)
    return worst if len(worst) >= FEWEST else scores


def _holidays(start: datetime, end: datetime, calendar: LocalCalendar) -> float:
    """The seconds of the public holidays behind the day of the start, up to that of the end."""
    days = range(1, (end.date() - start.date()).days + 1)
    return sum(calendar.is_holiday(start.date() + day * DAY) for day in days) * DAY.total_seconds()


def _without_holidays(start: datetime, end: datetime, calendar: LocalCalendar) -> datetime:
    """The end, later by each public holiday behind the start and up to it: a silence there is no news."""
    day = start.date() + DAY
    while calendar.country and day <= end.date():
        end += DAY if calendar.is_holiday(day) else timedelta()
        day += DAY
    return end
