from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.catalog.tiers import TIERS
from assay.time.windows import Granularity, Partitioning, Window
from execution_engine.planning.schedules import (
    Schedule,
    Slot,
    UnableToSchedule,
    at_bound,
    check_line,
    due_slots,
    first_slot,
    is_ahead,
    is_made_up_for,
    jitter_of,
    moved_slot,
    period,
    slot_after,
    turn,
)
from execution_engine.watch import next_look

BERLIN = Partitioning(granularity=Granularity.DAY, time_zone="Europe/Berlin")
HOUR = timedelta(hours=1)
NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)  # a Wednesday


def daily(line: str = "partition", **given: object) -> Schedule:
    facts = {"whole_table": False, "partitioning": BERLIN, "time_zone": "Europe/Berlin", "freshness": 6 * HOUR} | given
    return Schedule(line=line, **facts)  # type: ignore[arg-type]


def local(month: int, day: int, hour: int = 0) -> datetime:
    return datetime(2026, month, day, hour, tzinfo=BERLIN.zone)


def upcoming(schedule: Schedule, slot: Slot, count: int) -> list[Slot]:
    found = [slot]
    while len(found) < count:
        found.append(due_slots(schedule, found[-1], now=found[-1].due_at).coming)
    return found


def test_a_partition_is_due_when_its_freshness_sla_has_passed() -> None:
    slot = first_slot(daily(), now=NOW)
    assert (BERLIN.key(slot.window), slot.due_at) == ("2026-03-11", slot.window.end + 6 * HOUR)


def test_every_partition_has_its_slot_across_a_change_of_clocks() -> None:
    slots = upcoming(daily(), first_slot(daily(), now=local(3, 28)), 3)
    assert [BERLIN.key(slot.window) for slot in slots] == ["2026-03-28", "2026-03-29", "2026-03-30"]
    assert [slot.window.duration for slot in slots] == [24 * HOUR, 23 * HOUR, 24 * HOUR]


def test_a_whole_table_is_tested_mondays_after_its_last_partition_is_due() -> None:
    schedule = daily("weekly", whole_table=True, retention_start=local(1, 5))
    slots = upcoming(schedule, first_slot(schedule, now=NOW), 2)
    assert [slot.due_at for slot in slots] == [local(3, 16, 6), local(3, 23, 6)]
    assert slots[0].window == Window(start=local(1, 5), end=local(3, 16))


def test_a_whole_table_starts_with_its_first_whole_partition() -> None:
    schedule = daily("weekly", whole_table=True, retention_start=local(1, 5, 7))
    assert first_slot(schedule, now=NOW).window.start == local(1, 6)


def test_a_table_without_partitions_is_tested_up_to_now() -> None:
    schedule = daily("weekly", whole_table=True, partitioning=None)
    slot = first_slot(schedule, now=NOW)
    assert slot.window == Window(start=datetime(1970, 1, 1, tzinfo=UTC), end=slot.due_at)


def test_after_an_outage_a_whole_table_is_tested_once() -> None:
    schedule = daily("weekly", whole_table=True)
    due = due_slots(schedule, first_slot(schedule, now=NOW), now=NOW + timedelta(days=30))
    assert ([slot.due_at for slot in due.slots], due.coming.due_at) == ([local(4, 6, 6)], local(4, 13, 6))


@pytest.mark.parametrize(
    ("policy", "outage", "run", "skipped"),
    [
        ("all", timedelta(days=3), ["03-11", "03-12", "03-13"], 0),
        ("latest", timedelta(days=3), ["03-13"], 2),
        ("none", timedelta(days=3), [], 3),
        ("none", timedelta(minutes=10), ["03-11"], 0),
        ("latest", timedelta(minutes=10), ["03-11"], 0),
        ("none", timedelta(minutes=20), [], 1),
    ],
)
def test_an_outage_is_caught_up_with_by_policy(policy: str, outage: timedelta, run: list[str], skipped: int) -> None:
    schedule = daily(catch_up=policy)
    slot = first_slot(schedule, now=NOW)
    due = due_slots(schedule, slot, now=slot.due_at - HOUR / 60 + outage)
    assert ([f"{BERLIN.key(each.window)[5:]}" for each in due.slots], due.skipped) == (run, skipped)
    assert due.coming.due_at > slot.due_at


@given(policy=st.sampled_from(["all", "latest", "none"]), outage=st.timedeltas(timedelta(), timedelta(days=200)))
def test_every_slot_that_was_due_is_run_or_counted(policy: str, outage: timedelta) -> None:
    schedule, made = daily(catch_up=policy), daily(catch_up="all")
    slot = first_slot(schedule, now=NOW)
    due = due_slots(schedule, slot, now=slot.due_at + outage)
    days = (due.coming.window.start.astimezone(BERLIN.zone).date() - local(3, 11).date()).days
    assert len(due.slots) + due.skipped == days
    assert due.coming == due_slots(made, slot, now=slot.due_at + outage).coming
    assert len(due.slots) <= {"all": 31, "latest": 1, "none": 1}[policy]


def test_a_cron_line_fires_in_local_time() -> None:
    schedule = daily("0 8 * * *")
    slots = upcoming(schedule, first_slot(schedule, now=local(3, 28)), 3)
    assert [slot.due_at for slot in slots] == [local(3, 28, 8), local(3, 29, 8), local(3, 30, 8)]
    assert [BERLIN.key(slot.window) for slot in slots] == ["2026-03-27", "2026-03-28", "2026-03-29"]


def test_a_changed_sla_moves_the_due_time_of_the_window_that_is_next() -> None:
    slot = moved_slot(daily(freshness=2 * HOUR), BERLIN.window("2026-03-10"), now=NOW)
    assert (BERLIN.key(slot.window), slot.due_at) == ("2026-03-10", slot.window.end + 2 * HOUR)


@pytest.mark.parametrize(
    ("line", "granularity", "length"),
    [
        ("partition", Granularity.HOUR, HOUR),
        ("partition", Granularity.DAY, 24 * HOUR),
        ("weekly", Granularity.DAY, timedelta(days=7)),
        ("weekly", None, timedelta(days=7)),
        ("*/30 * * * *", Granularity.DAY, HOUR / 2),
    ],
)
def test_the_period_of_a_schedule(line: str, granularity: Granularity | None, length: timedelta) -> None:
    assert period(line, granularity) == length


def test_a_schedule_that_cannot_be_read_is_refused() -> None:
    for line in ("partition", "weekly", "0 6 * * MON"):
        check_line(line)
    with pytest.raises(UnableToSchedule, match="write 'partition', 'weekly' or a cron line"):
        check_line("every day")


def test_jitter_makes_a_slot_due_later_and_leaves_its_window() -> None:
    plain, late = (first_slot(daily(jitter=timedelta(seconds=wait)), now=NOW) for wait in (0, 40))
    assert (late.window, late.due_at) == (plain.window, plain.due_at + timedelta(seconds=40))


@pytest.mark.parametrize("line", ["partition", "weekly", "30 6 * * *"])
def test_slots_with_jitter_are_the_same_each_time_they_are_looked_for(line: str) -> None:
    schedule = daily(line, jitter=timedelta(seconds=40))
    first = first_slot(schedule, now=NOW)
    second = due_slots(schedule, first, now=first.due_at).coming
    assert due_slots(schedule, first, now=first.due_at).slots == (first,)
    assert due_slots(schedule, second, now=second.due_at).slots == (second,)
    assert second.due_at > first.due_at


@given(st.text(max_size=50))
def test_jitter_is_below_its_bound_and_always_the_same(name: str) -> None:
    most = timedelta(seconds=60)
    assert timedelta() <= jitter_of(name, most) < most
    assert jitter_of(name, most) == jitter_of(name, most)
    assert jitter_of(name, timedelta()) == timedelta()


YEAR = timedelta(days=366)
SCHEDULES = [
    daily(),
    daily("weekly", whole_table=True, retention_start=local(1, 5)),
    daily("0 6 * * *"),
    daily("0 0 1 1 *"),
    daily(partitioning=Partitioning(granularity=Granularity.MONTH, time_zone="Europe/Berlin")),
]


@pytest.mark.parametrize("schedule", SCHEDULES)
@given(hours=st.integers(min_value=0, max_value=500 * 24))
def test_no_cursor_that_time_has_moved_on_stands_ahead(schedule: Schedule, hours: int) -> None:
    now = NOW + hours * HOUR
    coming = due_slots(schedule, first_slot(schedule, now=NOW), now=now).coming
    assert not is_ahead(schedule, coming, now=now)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_cursor_that_was_moved_on_a_year_ahead_stands_ahead(schedule: Schedule) -> None:
    coming = due_slots(schedule, first_slot(schedule, now=NOW), now=NOW + YEAR).coming
    assert is_ahead(schedule, coming, now=NOW)


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_slot_after_the_last_one_is_the_one_that_would_have_come(schedule: Schedule) -> None:
    first, second = upcoming(schedule, first_slot(schedule, now=NOW), 2)
    assert slot_after(schedule, first, since=NOW - YEAR, now=NOW) == second


def test_a_test_that_never_ran_begins_anew_when_it_was_written() -> None:
    assert slot_after(daily(), None, since=local(3, 9), now=NOW) == first_slot(daily(), now=local(3, 9))
    assert slot_after(daily(), None, since=NOW + YEAR, now=NOW) == first_slot(daily(), now=NOW)


def test_the_last_run_of_an_earlier_schedule_says_nothing_of_the_next_slot() -> None:
    last = Slot(window=Window(start=local(3, 2), end=local(3, 9)), due_at=local(3, 9, 6))
    assert slot_after(daily(), last, since=local(3, 1), now=NOW) == first_slot(daily(), now=NOW)


LOOK = datetime(2026, 3, 10, 12, 3, tzinfo=UTC)


@pytest.mark.parametrize(
    ("age", "closely", "expected"),
    [
        (timedelta(days=1), True, "03-10 12:05"),
        (timedelta(days=1), False, "03-10 13:00"),
        (timedelta(days=34), False, "03-10 13:00"),
        (timedelta(days=36), False, "03-11 00:00"),
        (timedelta(days=36), True, "03-10 12:05"),
    ],
)
def test_how_often_a_window_is_looked_at(age: timedelta, closely: bool, expected: str) -> None:
    assert f"{next_look(window_end=LOOK - age, closely=closely, now=LOOK):%m-%d %H:%M}" == expected


@given(st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)), st.booleans())
def test_the_next_look_is_always_later(now: datetime, closely: bool) -> None:
    assert now < next_look(window_end=now, closely=closely, now=now) <= now + timedelta(hours=1)


BOUNDS = {"dataset_id": 2, "owner": 3, "engine": 0}


def running(*scans: tuple[int, str], datacenter: str = "sea") -> list[dict[str, object]]:
    return [
        {"datacenter": datacenter, "dataset_id": dataset, "owner": owner, "engine": "spark"} for dataset, owner in scans
    ]


def test_nothing_is_full_where_nothing_runs() -> None:
    assert at_bound([], BOUNDS) == []


def test_a_dataset_with_two_scans_begins_no_third() -> None:
    found = at_bound(running((1, "ada"), (1, "ada"), (2, "bob")), BOUNDS)
    assert found == [("sea", "dataset_id", 1)]


def test_an_owner_is_bounded_over_all_datasets() -> None:
    found = at_bound(running((1, "ada"), (2, "ada"), (3, "ada"), (4, "bob")), BOUNDS)
    assert found == [("sea", "owner", "ada")]


def test_datacenters_are_bounded_apart() -> None:
    assert at_bound(running((1, "ada")) + running((1, "ada"), datacenter="phx"), BOUNDS) == []


def test_a_bound_of_zero_bounds_nothing() -> None:
    assert at_bound(running(*((each, f"owner {each}") for each in range(100))), BOUNDS) == []


def test_what_is_made_up_for_comes_after_all_that_is_current_and_by_tier_too() -> None:
    current = [turn(tier.level) for tier in TIERS]
    made_up_for = [turn(tier.level, is_made_up_for=True) for tier in TIERS]
    assert [*current, *made_up_for] == sorted({*current, *made_up_for})
    assert not any(map(is_made_up_for, current))
    assert all(map(is_made_up_for, made_up_for))
