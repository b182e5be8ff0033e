"""Which windows came before: over short months, leap years and the days on which clocks change."""

import pytest

from assay.time.durations import Step, UnableToStep
from assay.time.windows import Granularity, Partitioning
from execution_engine.language.parse import parse
from execution_engine.language.tree import History, operands
from execution_engine.outcome import Reason
from execution_engine.planning.planner import PlannedSource, UnableToPlan, stepped_back
from execution_engine.planning.schedules import UnableToLookBack, partition_before, past_windows

NEW_YORK = "America/New_York"
DAILY = Partitioning(granularity=Granularity.DAY, time_zone=NEW_YORK)
HOURLY = Partitioning(granularity=Granularity.HOUR, time_zone=NEW_YORK)
WEEKLY = Partitioning(granularity=Granularity.WEEK, time_zone=NEW_YORK)
MONTHLY = Partitioning(granularity=Granularity.MONTH, time_zone=NEW_YORK)


def past(call: str, key: str, partitioning: Partitioning = DAILY) -> list[str]:
    """The keys of the windows that a history of the window with ``key`` is over."""
    (history,) = operands(parse(f"{call} > 0"))
    assert isinstance(history, History)
    return [partitioning.key(window) for window in past_windows(partitioning.window(key), partitioning, history)]


def ago(step: str, key: str, partitioning: Partitioning = DAILY) -> str:
    """The key of the window that lies ``step`` before."""
    source = PlannedSource(name="a.b", datacenters=("sea",), partitioning=partitioning)
    return partitioning.key(stepped_back(partitioning.window(key), source, step))


@pytest.mark.parametrize(
    ("call", "key", "keys"),
    [
        ("mean(row_count(), last=3)", "2026-03-02", ["2026-02-27", "2026-02-28", "2026-03-01"]),
        ("last(row_count(), last=2)", "2026-03-02", ["2026-02-28", "2026-03-01"]),
        ("lag(row_count(), 7)", "2026-03-09", ["2026-03-02"]),
        ("mean(row_count(), last=4, every=7d)", "2026-03-09", ["2026-02-09", "2026-02-16", "2026-02-23", "2026-03-02"]),
        ("mean(row_count(), last=2, every=1w)", "2026-03-09", ["2026-02-23", "2026-03-02"]),
        ("lag(row_count(), 4, every=7d)", "2026-03-09", ["2026-02-09"]),
        ("mean(row_count(), last=3, every=1mo)", "2026-01-31", ["2025-10-31", "2025-11-30", "2025-12-31"]),
        ("mean(row_count(), last=2, every=1mo)", "2026-03-31", ["2026-01-31", "2026-02-28"]),
        ("mean(row_count(), last=2, every=1mo)", "2024-03-31", ["2024-01-31", "2024-02-29"]),
        ("mean(row_count(), last=4, every=1y)", "2024-02-29", ["2020-02-29", "2021-02-28", "2022-02-28", "2023-02-28"]),
        ("lag(row_count(), 1, every=1y)", "2025-02-28", ["2024-02-28"]),
    ],
)
def test_steps_are_counted_from_the_window_itself_through_the_local_calendar(
    call: str, key: str, keys: list[str]
) -> None:
    assert past(call, key) == keys


def test_the_same_hour_of_days_before_leaves_out_the_one_that_clocks_skipped() -> None:
    found = past("mean(row_count(), last=3, every=1d)", "2026-03-09-02", HOURLY)
    assert found == ["2026-03-06-02", "2026-03-07-02"]
    assert past("lag(row_count(), 1, every=1d)", "2026-03-09-02", HOURLY) == []


def test_days_of_23_and_25_hours_are_stepped_over_as_days() -> None:
    for key, before in (("2026-03-09", "2026-03-08"), ("2026-11-02", "2026-11-01")):
        assert past("lag(row_count(), 1)", key) == past("lag(row_count(), 1, every=1d)", key) == [before]


def test_longer_partitions_step_by_their_own_multiples() -> None:
    assert past("mean(row_count(), last=2, every=14d)", "2026-W10", WEEKLY) == ["2026-W06", "2026-W08"]
    assert past("mean(row_count(), last=2, every=1y)", "2026-02", MONTHLY) == ["2024-02", "2025-02"]


def test_years_before_the_first_are_left_out() -> None:
    assert len(past("mean(row_count(), last=1000, every=100y)", "2026-03-09")) == 20
    assert past("lag(row_count(), 1000, every=999999d)", "2026-03-09") == []


@pytest.mark.parametrize(
    ("step", "key", "before"),
    [
        ("1w", "2026-03-09", "2026-03-02"),
        ("1mo", "2026-01-31", "2025-12-31"),
        ("1mo", "2026-03-31", "2026-02-28"),
        ("1mo", "2024-03-31", "2024-02-29"),
        ("1y", "2024-02-29", "2023-02-28"),
        ("4y", "2024-02-29", "2020-02-29"),
        ("1y", "2025-02-28", "2024-02-28"),
        ("1d", "2026-03-09", "2026-03-08"),
        ("7d", "2026-11-02", "2026-10-26"),
    ],
)
def test_a_week_a_month_or_a_year_ago_is_a_step_through_the_local_calendar(step: str, key: str, before: str) -> None:
    assert ago(step, key) == before


def test_24_hours_ago_are_real_hours_and_a_day_ago_is_the_same_hour() -> None:
    assert ago("24h", "2026-03-08-12", HOURLY) == "2026-03-07-11"
    assert ago("1d", "2026-03-08-12", HOURLY) == "2026-03-07-12"


@pytest.mark.parametrize(
    ("step", "key", "partitioning", "reason"),
    [
        ("1d", "2026-03-09-02", HOURLY, Reason.WARMING_UP),
        ("9999y", "2026-03-09", DAILY, Reason.WARMING_UP),
        ("999999d", "2026-03-09", DAILY, Reason.WARMING_UP),
        ("36h", "2026-03-09", DAILY, Reason.MISALIGNED),
        ("1mo", "2026-W10", WEEKLY, Reason.MISALIGNED),
        ("1d", "2026-02", MONTHLY, Reason.MISALIGNED),
    ],
)
def test_a_partition_that_never_was_is_waited_for_and_a_step_between_partitions_is_refused(
    step: str, key: str, partitioning: Partitioning, reason: Reason
) -> None:
    with pytest.raises(UnableToPlan) as refused:
        ago(step, key, partitioning)
    assert refused.value.failure.reason is reason


@pytest.mark.parametrize("step", ["36h", "1h", "30m"])
def test_a_step_that_does_not_fit_leads_nowhere(step: str) -> None:
    with pytest.raises(UnableToStep):
        past(f"mean(row_count(), last=3, every={step})", "2026-03-09")


def test_an_hour_that_was_skipped_says_so() -> None:
    with pytest.raises(UnableToLookBack, match=r"-1d from 2026-03-09-02 there is no hour of America/New_York"):
        partition_before(HOURLY.window("2026-03-09-02"), HOURLY, -Step.parse("1d"))
