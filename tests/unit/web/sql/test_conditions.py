"""Which partitions a query reads."""

from datetime import UTC, datetime

import pytest

from assay.time.stored_times import Holds, StoredTimes
from assay.time.windows import Granularity, Partitioning, Window
from web.sql.narrowing import PartitionColumn, ranges
from web.sql.tables import UnableToReadQuery, table_uses

DAYS = Partitioning(granularity=Granularity.DAY)
MARCH = Window(start=datetime(2026, 3, 1, tzinfo=UTC), end=datetime(2026, 4, 1, tzinfo=UTC))


NOW = datetime(2026, 3, 20, 10, tzinfo=UTC)


def _days(sql: str, table: str = "raw.trips") -> list[str]:
    """The days of March that the query reads of ``table``, as ``first..last`` of each stretch."""
    uses = tuple(use for use in table_uses(sql) if use.name == table)
    parts = ranges(uses, PartitionColumn(name="datestr", partitioning=DAYS), MARCH, now=NOW)
    return [f"{part.start.day}..{DAYS.previous(DAYS.at(part.end))[0].start.day}" for part in parts]


CONDITIONS = [
    ("datestr = '2026-03-09'", ["9..9"]),
    ("'2026-03-09' = datestr", ["9..9"]),
    ("DATESTR = date '2026-03-09'", ["9..9"]),
    ("t.datestr between '2026-03-03' and '2026-03-05'", ["3..5"]),
    ("datestr >= '2026-03-03' and datestr < '2026-03-05'", ["3..4"]),
    ("datestr > '2026-03-03' and '2026-03-06' >= datestr", ["4..6"]),
    ("(datestr > '2026-03-03' and fare > 1) and datestr <= '2026-03-06'", ["4..6"]),
    ("datestr in ('2026-03-03', '2026-03-04', '2026-03-09')", ["3..4", "9..9"]),
    ("datestr in ('2026-03-03', '2026-03-09') and datestr > '2026-03-05'", ["9..9"]),
    ("datestr = '2026-03-03' and datestr = '2026-03-04'", []),
    ("datestr = '2026-03-03' or fare > 3", ["1..31"]),
    ("not datestr = '2026-03-03'", ["1..31"]),
    ("datestr != '2026-03-03'", ["1..31"]),
    ("datestr = current_date()", ["19..21"]),
    ("datestr = 'monday'", ["1..31"]),
    ("substr(datestr, 1, 9) = '2026-03-1'", ["10..19"]),
    ("fare = '2026-03-03'", ["1..31"]),
    ("datestr >= '2025-01-01'", ["1..31"]),
    ("datestr > '2026-05-01'", []),
    ("datestr < timestamp '9999-12-31 23:30:00' at time zone 'UTC'", ["1..31"]),
    ("datestr < date '9999-12-31' + interval '9' year", ["1..31"]),
]


@pytest.mark.parametrize(("condition", "days"), CONDITIONS)
def test_a_condition_on_the_partition_column_narrows_the_range(condition: str, days: list[str]) -> None:
    assert _days(f"select * from raw.trips t where {condition}") == days


TIMES = StoredTimes(
    partitioning=Partitioning(granularity=Granularity.DAY, time_zone="Europe/Berlin"),
    holds=Holds.TIME,
    time_zone="Europe/Berlin",
)
OCTOBER = Window(start=datetime(2026, 9, 30, 22, tzinfo=UTC), end=datetime(2026, 10, 31, 23, tzinfo=UTC))
OF_TIMES = [
    ("created_at >= '2026-10-25' and created_at < '2026-10-26'", "24T22:00 25T23:00"),
    ("created_at > '2026-10-25' and created_at <= '2026-10-25 12:00'", "24T22:00 25T11:00"),
    ("created_at >= timestamp '2026-10-25 02:30:00' and created_at < '2026-10-25 03:00'", "25T00:30 25T02:00"),
    ("created_at < '2026-10-25 02:30' and created_at >= '2026-10-25'", "24T22:00 25T01:30"),
    ("created_at = '2026-10-25 12:00:00'", "24T22:00 25T23:00"),
    ("created_at >= '2026-10-31 20:00+00:00'", "31T20:00 31T23:00"),
    ("date(created_at) = '2026-10-25'", "24T22:00 25T23:00"),
    ("created_at >= 'yesterday'", "30T22:00 31T23:00"),
    ("created_at <= '9999-12-31 23:59:59.999999'", "30T22:00 31T23:00"),
    ("created_at >= '0001-01-01 00:00+00:00' and created_at <= '9999-12-31 22:30'", "30T22:00 31T23:00"),
    ("date(created_at) <= '9999-12-31'", "30T22:00 31T23:00"),
    ("created_at in ('9999-12-31 12:00', '2026-10-25 12:00')", "24T22:00 25T23:00"),
]


@pytest.mark.parametrize(("condition", "stretch"), OF_TIMES)
def test_a_condition_on_a_column_of_times_narrows_the_range_to_these(condition: str, stretch: str) -> None:
    column = PartitionColumn(name="created_at", partitioning=TIMES.partitioning, times=TIMES)
    (part,) = ranges(table_uses(f"select * from app.orders where {condition}"), column, OCTOBER, now=NOW)
    assert f"{part.start:%dT%H:%M} {part.end:%dT%H:%M}" == stretch


def test_a_condition_on_a_column_of_seconds_narrows_the_range_to_these() -> None:
    times = StoredTimes(partitioning=DAYS, holds=Holds.EPOCH_SECONDS)
    uses = table_uses("select * from app.orders where made >= 1773014400 and made < 1773018000")
    (part,) = ranges(uses, PartitionColumn(name="made", partitioning=DAYS, times=times), MARCH, now=NOW)
    assert part.text == "2026-03-09T00:00:00Z/2026-03-09T01:00:00Z"


SHAPES = [
    ("with x as (select * from raw.trips where datestr = '2026-03-02') select * from x", ["2..2"]),
    ("select * from (select * from raw.trips where datestr = '2026-03-02') y where fare > 1", ["2..2"]),
    ("select 1 from a.b where id in (select id from raw.trips where datestr = '2026-03-02')", ["2..2"]),
    ("create table c.d as select * from raw.trips where datestr = '2026-03-02'", ["2..2"]),
    ("insert into c.d select * from raw.trips where datestr = '2026-03-02'", ["2..2"]),
    ("select * from raw.trips t, a.b where datestr = '2026-03-02'", ["2..2"]),
    ("select * from raw.trips t, a.b where t.datestr = '2026-03-02'", ["2..2"]),
    ("select * from raw.trips t join a.b u on t.id = u.id where u.datestr = '2026-03-02'", ["1..31"]),
    ("select 1 from a.b o where exists (select 1 from raw.trips t where t.datestr = k and "
     "(k = '2026-03-02' or o.k = '2026-03-04'))", ["1..31"]),
    ("select * from raw.trips where datestr = '2026-03-02' union select * from raw.trips where datestr = '2026-03-04'",
     ["2..2", "4..4"]),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "days"), SHAPES)
def test_tables_are_found_wherever_they_stand(sql: str, days: list[str]) -> None:
    assert _days(sql) == days


def test_a_common_table_expression_is_no_table() -> None:
    assert [use.name for use in table_uses("with x as (select 1 from raw.trips) select * from x")] == ["raw.trips"]


@pytest.mark.parametrize("sql", ["", "select from where", "select (", "drop everything((", "drop table raw.trips"])
def test_what_is_no_query_is_refused(sql: str) -> None:
    with pytest.raises(UnableToReadQuery):
        table_uses(sql)


@pytest.mark.parametrize("sql", ["optimize table raw.trips", "call load()", "replace into a.b select * from a.c"])
def test_a_statement_that_may_read_what_nobody_sees_is_refused_by_its_name(sql: str) -> None:
    with pytest.raises(UnableToReadQuery, match=r"Cannot read the statement .*: send the SELECT in it"):
        table_uses(f"select 1 from raw.trips; {sql}", "mysql")


def test_a_table_under_the_alias_of_a_common_table_expression_is_still_read() -> None:
    sql = "with c as (select 1 as k) select x.fare from raw.trips as x cross join c as x"
    assert _days(sql) == ["1..31"]


def test_a_common_table_expression_hides_its_name_only_where_spark_says_so() -> None:
    sql = "with trips as (select * from trips where datestr = '2026-03-09') select * from trips"
    assert _days(sql, "trips") == ["9..9"]
