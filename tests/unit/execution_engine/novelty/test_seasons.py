"""Tables with seasons: a batch is compared with its like, once there is enough of it."""

from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from execution_engine.novelty.days import WEEKDAYS, Day, DayCalendar, RareDay, day_of
from execution_engine.novelty.judge import judge
from execution_engine.novelty.past import Past, from_bytes, to_bytes
from execution_engine.novelty.seasons import seasons_of
from execution_engine.novelty.verdict import NoveltyVerdict
from execution_engine.profiles.profile import TableProfile
from tests.unit.execution_engine.novelty.batches import profile, trips

SUNDAY = date(2026, 3, 1)
WEEKS = 10
BUSY, QUIET = 500, 100  # rows of a day, and of one at a weekend


def rows_of(day: date, country: str = "") -> int:
    """Weekends have a fifth of the rows, public holidays a tenth, ends of months three times as many; days differ."""
    kind, chance = day_of(day, country), np.random.default_rng(day.toordinal())
    usual = {RareDay.HOLIDAY: 50, RareDay.END_OF_MONTH: 1500, None: QUIET if day.weekday() >= 5 else BUSY}[kind.rare]
    return usual + int(chance.integers(-usual // 50, usual // 50 + 1))


def batch(day: date, rows: int) -> TableProfile:
    """So many trips of a day."""
    number = (day - date(1970, 1, 1)).days
    return profile(trips(number, rows), number)


def past_of_days(first: date, days: int, country: str = "", *, months: bool = False) -> Past:
    """The days before ``first + days``; without ``months`` the end of one is as any other day."""
    past = Past()
    for at in range(days):
        day = first + timedelta(at)
        kind = day_of(day, country)
        if not months and kind.rare is RareDay.END_OF_MONTH:
            kind = Day(weekday=kind.weekday)
        rows = rows_of(day, country) if months or kind.rare else rows_of(day - timedelta(7 * (day.day > 27)), country)
        past = past.joined(batch(day, rows), day=kind)
    return past


@cache
def weekly() -> Past:
    """Ten weeks up to a Saturday."""
    return past_of_days(SUNDAY - timedelta(7 * WEEKS), 7 * WEEKS)


def row_sentences(verdict: NoveltyVerdict) -> list[str]:
    """What is said of the number of rows."""
    return [cause.text for cause in verdict.causes if cause.text.startswith("rows: ")]


def test_a_weekday_s_volume_on_a_sunday_is_news_and_the_cause_names_sundays() -> None:
    verdict = judge(batch(SUNDAY, BUSY), weekly(), day=day_of(SUNDAY))
    assert row_sentences(verdict) == [text for text in row_sentences(verdict) if text.endswith(" on Sundays")] != []
    rows = next(cause for cause in verdict.causes if cause.column is None)
    assert (rows.expected, rows.low, rows.high) == pytest.approx((QUIET, QUIET, QUIET), rel=0.03)
    assert len(rows.before) == 7 * WEEKS  # the plot is of all


def test_a_sunday_s_volume_on_a_monday_is_news() -> None:
    monday = SUNDAY + timedelta(1)
    assert row_sentences(judge(batch(monday, QUIET), weekly(), day=day_of(monday)))[0].endswith(" on Mondays")


def test_every_sound_day_of_a_week_is_no_news() -> None:
    week = [SUNDAY + timedelta(at) for at in range(7)]
    assert not any(judge(batch(day, rows_of(day)), weekly(), day=day_of(day)).is_novel for day in week)


def test_without_its_day_neither_volume_is_news() -> None:
    undated = weekly().dated(())
    assert (
        row_sentences(judge(batch(SUNDAY, BUSY), undated)) == row_sentences(judge(batch(SUNDAY, QUIET), undated)) == []
    )


def test_before_there_are_three_sundays_one_is_compared_with_all_days() -> None:
    two_weeks = past_of_days(SUNDAY - timedelta(14), 14)
    assert not two_weeks.seasons.seasonal.any()
    assert row_sentences(judge(batch(SUNDAY, BUSY), two_weeks, day=day_of(SUNDAY))) == []


def test_a_past_that_is_read_again_judges_alike_and_one_that_knew_no_days_is_given_them() -> None:
    days = [SUNDAY - timedelta(7 * WEEKS - at) for at in range(7 * WEEKS)]
    read = from_bytes(to_bytes(weekly()))
    undated = weekly().dated(())
    assert [batch.day for batch in undated.batches] == [None] * 7 * WEEKS
    for past in (read, undated.dated([Day(weekday=day.weekday()) for day in days])):
        assert judge(batch(SUNDAY, BUSY), past, day=day_of(SUNDAY)) == judge(
            batch(SUNDAY, BUSY), weekly(), day=day_of(SUNDAY)
        )


def test_days_that_reach_further_back_than_the_past_are_of_its_last_batches() -> None:
    days = [Day(weekday=at % 7) for at in range(100)]
    assert [batch.day for batch in weekly().dated(days).batches] == days[-7 * WEEKS :]


def test_what_a_person_released_on_a_sunday_is_no_news_on_any_day() -> None:
    released = weekly().joined(batch(SUNDAY, BUSY * 4), released=True, day=day_of(SUNDAY))
    for day in (SUNDAY + timedelta(7), SUNDAY + timedelta(1)):
        assert row_sentences(judge(batch(day, BUSY * 4), released, day=day_of(day))) == []


@cache
def monthly() -> Past:
    """Half a year up to 30 August, in which ends of months have three times as many rows."""
    return past_of_days(date(2026, 3, 1), 183, months=True)


def test_the_fourth_end_of_a_month_is_no_news_if_it_is_as_those_before() -> None:
    day = date(2026, 8, 31)
    assert row_sentences(judge(batch(day, rows_of(day)), monthly(), day=day_of(day))) == []
    assert row_sentences(judge(batch(day, rows_of(day)), monthly(), day=Day(weekday=0))) != []


def test_an_end_of_a_month_that_is_like_neither_says_which_it_was_compared_with() -> None:
    day = date(2026, 8, 31)
    [text] = row_sentences(judge(batch(day, 6000), monthly(), day=day_of(day)))
    assert text.endswith(" at the end of a month")
    assert text.startswith("rows: 6,000, usually 1,4") or text.startswith("rows: 6,000, usually 1,5")


def test_a_public_holiday_is_as_a_sunday_before_there_are_holidays_to_compare_with() -> None:
    day = date(2026, 7, 3)  # Independence Day is observed
    past = past_of_days(day - timedelta(7 * WEEKS), 7 * WEEKS)
    assert row_sentences(judge(batch(day, QUIET), past, day=day_of(day)))
    assert row_sentences(judge(batch(day, QUIET), past, day=day_of(day, "US"))) == []


def test_a_public_holiday_is_compared_with_three_others_of_a_year_and_teaches_nothing_of_its_weekday() -> None:
    day = date(2026, 9, 7)  # Labor Day
    past = past_of_days(date(2025, 12, 20), (day - date(2025, 12, 20)).days, "US")
    assert row_sentences(judge(batch(day, 50), past, day=day_of(day, "US"))) == []
    assert row_sentences(judge(batch(day, 50), past, day=day_of(day))) != []
    assert len([batch for batch in past.last if batch.day and batch.day.rare]) >= 2
    rows = past.history.shown[[bool(batch.day and batch.day.weekday == 0) for batch in past.last], 0, 0]
    assert rows.min() > 0


@pytest.mark.parametrize(
    ("local", "country", "expected"),
    [
        (date(2026, 7, 4), "US", Day(weekday=5, rare=RareDay.HOLIDAY)),
        (date(2026, 7, 4), "", Day(weekday=5)),
        (date(2028, 2, 29), "", Day(weekday=1, rare=RareDay.END_OF_MONTH)),
        (date(2027, 2, 28), "", Day(weekday=6, rare=RareDay.END_OF_MONTH)),
        (date(2028, 2, 28), "", Day(weekday=0)),
        (date(2027, 5, 31), "US", Day(weekday=0, rare=RareDay.HOLIDAY)),
        (date.max, "", Day(weekday=4, rare=RareDay.END_OF_MONTH)),
    ],
)
def test_a_day_is_of_its_weekday_and_may_be_rare(local: date, country: str, expected: Day) -> None:
    assert day_of(local, country) == expected


def test_the_day_is_that_of_the_local_calendar() -> None:
    midnight_in_new_york = datetime(2026, 8, 31, 4, tzinfo=UTC)
    assert DayCalendar(zone=ZoneInfo("America/New_York")).day(midnight_in_new_york).rare is RareDay.END_OF_MONTH
    midnight_in_tokyo = datetime(2026, 8, 31, 15, tzinfo=UTC)
    assert DayCalendar(zone=ZoneInfo("Asia/Tokyo")).day(midnight_in_tokyo) == Day(weekday=1)


def test_weekdays_that_are_alike_take_nothing_off() -> None:
    drawn = np.random.default_rng(7).normal(size=(90, 200))
    days: list[Day | None] = [Day(weekday=at % 7) for at in range(90)]
    seasons = seasons_of(drawn, days)
    assert not seasons.seasonal.any()
    assert not seasons.history.any()


def test_a_weekday_s_mean_is_believed_as_far_as_the_analysis_of_variance_says() -> None:
    chance = np.random.default_rng(3)
    weekdays = np.arange(84) % 7
    effects = np.array([0, 0, 0, 0, 0, -5.0, -5.0])
    drawn = effects[weekdays] + chance.normal(size=84)
    seasons = seasons_of(drawn[:, None], [Day(weekday=int(at)) for at in weekdays])
    groups = [drawn[weekdays == at] for at in range(7)]
    within = sum(((group - group.mean()) ** 2).sum() for group in groups) / (84 - 7)
    between = (12 * np.var([group.mean() for group in groups], ddof=1) - within) / 12
    belief = between / (between + within / 12)
    expected = [belief * (group.mean() - drawn.mean()) for group in groups]
    assert seasons.effects[:, 0] == pytest.approx(expected)


@given(
    st.lists(
        st.tuples(
            st.none() | st.builds(Day, weekday=st.integers(0, 6), rare=st.none() | st.sampled_from(RareDay)),
            st.lists(st.none() | st.floats(-1e6, 1e6), min_size=3, max_size=3),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_whatever_is_missing_nothing_is_taken_off_but_numbers(
    batches: list[tuple[Day | None, list[float | None]]],
) -> None:
    scaled = np.array([values for _, values in batches], dtype=np.float64)
    seasons = seasons_of(scaled, [day for day, _ in batches])
    assert np.isfinite(seasons.history).all()
    assert np.isfinite(seasons.effects).all()
    for weekday in range(len(WEEKDAYS)):
        assert not seasons.of(Day(weekday=weekday))[~seasons.is_seasonal(Day(weekday=weekday))].any()


@given(st.integers(0, 10_000), st.integers(1, 6))
def test_a_statistic_without_weekdays_is_judged_as_without_days(seed: int, columns: int) -> None:
    drawn = np.random.default_rng(seed).normal(size=(60, columns))
    days: list[Day | None] = [Day(weekday=at % 7) for at in range(60)]
    seasons = seasons_of(drawn, days)
    assert seasons.seasonal.any(axis=0).mean() == 0
    assert (drawn - seasons.history == drawn).all()
