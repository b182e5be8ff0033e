"""Whether the last load brought its usual rows."""

from datetime import UTC, datetime, timedelta

from execution_engine.vitals.arrival import Unknown
from execution_engine.vitals.commits import Commit, LocalCalendar
from execution_engine.vitals.volume import Volume, judge_volume

MONDAY = datetime(2026, 6, 1, 6, tzinfo=UTC)
DAY, HOUR = timedelta(days=1), timedelta(hours=1)


def daily(rows: list[int], **others: int) -> list[Commit]:
    return [Commit(at=MONDAY + day * DAY, rows_added=count, **others) for day, count in enumerate(rows)]


def usual(days: int) -> list[int]:
    """Half as many rows at weekends, and a tenth more or less."""
    return [(500 if day % 7 > 4 else 1000) * (95 + day * 37 % 11) // 100 for day in range(days)]


def volume(commits: list[Commit], country: str = "") -> Volume:
    verdict = judge_volume(commits, LocalCalendar(zone=UTC, country=country), commits[-1].at + HOUR)
    assert isinstance(verdict, Volume), verdict
    return verdict


def test_half_a_load_is_unusual_and_half_of_a_weekend_is_not() -> None:
    assert volume(daily(usual(56))).is_usual  # a Sunday
    assert volume(daily([*usual(57)])).is_usual
    assert not volume(daily([*usual(56), 500])).is_usual
    assert not volume(daily([*usual(56), 2000])).is_usual


def test_a_table_that_grows_is_usual() -> None:
    assert volume(daily([round(1000 * 1.005**day) for day in range(90)])).is_usual


def test_loads_of_one_day_are_summed_when_the_day_is_over() -> None:
    hours = [Commit(at=MONDAY + hour * HOUR, rows_added=100) for hour in range(24 * 30)]
    verdict = volume(hours)
    assert (verdict.per, verdict.start.date()) == ("day", hours[-1].at.date() - DAY)
    assert abs(verdict.value - 2400) < 1


def test_a_commit_that_only_removes_rows_is_no_load() -> None:
    loads = daily(usual(56))
    loads.append(Commit(at=loads[-1].at + HOUR, rows_added=0, rows_removed=5000))
    assert volume(loads).is_usual
    assert volume(loads).value > 0


def test_bytes_stand_for_rows_where_no_commit_has_rows() -> None:
    sizes = [Commit(at=MONDAY + day * DAY, bytes_added=count) for day, count in enumerate([*usual(56), 500])]
    assert (volume(sizes).unit, volume(sizes).is_usual) == ("bytes", False)


def test_few_rows_on_a_holiday_are_no_news_where_its_country_is_set() -> None:
    to_christmas = [
        Commit(at=datetime(2026, 12, 25, 6, tzinfo=UTC) - back * DAY, rows_added=1000 + back) for back in range(60)
    ][::-1]
    to_christmas[-1] = Commit(at=to_christmas[-1].at, rows_added=10)
    assert not volume(to_christmas).is_usual
    assert volume(to_christmas, country="US").is_usual


def test_few_loads_say_what_is_missing() -> None:
    verdict = judge_volume(daily(usual(5)), LocalCalendar(zone=UTC), MONDAY + 9 * DAY)
    assert isinstance(verdict, Unknown)
    assert "5 loads are known: from 9 on" in verdict.why
