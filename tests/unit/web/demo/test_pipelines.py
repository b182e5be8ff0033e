from collections import Counter
from datetime import timedelta

import pytest

from web.demo.faults import FAULTS, fault_named
from web.demo.replay import Writing, lands_at, writings
from web.demo.world import (
    BY_NAME,
    COPY,
    DAYS,
    ENDS_AT,
    HOME,
    LAKE_FLIGHTS,
    MART,
    RAW_FLIGHTS,
    TABLES,
    day,
    local,
    window_of,
)

WRITINGS = writings()


def of(table: str, on: str, datacenter: str = HOME) -> list[Writing]:
    return [w for w in WRITINGS if (w.table, w.day, w.datacenter) == (table, day(on), datacenter)]


def test_every_partition_lands_in_both_datacenters() -> None:
    written = {(writing.table, writing.day, writing.datacenter) for writing in WRITINGS}
    assert written == {(table.name, day, place) for table in TABLES for day in DAYS for place in (HOME, COPY)}


def test_a_day_without_faults_is_written_once_and_in_order() -> None:
    ordinary = set(DAYS) - {fault.day for fault in FAULTS}
    counts = Counter((w.table, w.day, w.datacenter) for w in WRITINGS if w.day in ordinary)
    assert set(counts.values()) == {1}
    landed = [lands_at(table, day("03-07")) for table in TABLES]
    assert landed == [local("03-08 00:20"), local("03-08 00:30"), local("03-08 00:50"), local("03-08 01:20")]


def test_the_shortest_day_has_23_hours_and_lands_as_early_after_its_end_as_any_other() -> None:
    window = window_of(day("03-10"))
    assert window.duration == timedelta(hours=23)
    assert lands_at(BY_NAME[RAW_FLIGHTS], day("03-10")) - window.end == timedelta(minutes=30)


@pytest.mark.parametrize(("table", "at"), [(RAW_FLIGHTS, "10:32"), (LAKE_FLIGHTS, "10:52"), (MART, "11:22")])
def test_what_is_built_from_a_late_table_is_as_late(table: str, at: str) -> None:
    assert lands_at(BY_NAME[table], day("03-25")) == local(f"03-26 {at}")


def test_a_backfill_tells_nobody_and_builds_the_mart_anew() -> None:
    fault = fault_named("dropped-rows")
    landing, dropped, repaired = of(LAKE_FLIGHTS, "03-15")
    assert [landing.announced, dropped.announced, repaired.announced] == [True, False, False]
    assert (dropped.fault, repaired.fault) == (fault, None)
    assert [writing.at for writing in of(MART, "03-15")][1:] == [fault.started_at, fault.ended_at]


def test_a_loss_in_one_datacenter_leaves_the_other_alone() -> None:
    assert len(of(LAKE_FLIGHTS, "03-20", COPY)) == 3
    assert len(of(LAKE_FLIGHTS, "03-20", HOME)) == 1


def test_copies_take_what_lands_wrong_at_home() -> None:
    home, copy = of(LAKE_FLIGHTS, "03-27")[0], of(LAKE_FLIGHTS, "03-27", COPY)[0]
    assert (home.fault, copy.fault) == (fault_named("kilometres"), None)
    assert home.at < copy.at


def test_all_but_what_the_last_fault_spoils_is_written_half_a_day_before_the_demo_ends() -> None:
    late = [writing for writing in WRITINGS if writing.at >= ENDS_AT - timedelta(hours=12)]
    last = fault_named("lost-again")
    assert [(w.table, w.day, w.datacenter) for w in late] == [(last.table, last.day, COPY)] * 2
    assert [w.at for w in late] == [last.started_at, last.ended_at]
    assert last.started_at < ENDS_AT < last.ended_at
