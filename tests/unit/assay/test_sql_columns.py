"""Which columns upstream each column of a query is made of, and which choose its rows."""

from time import process_time

import pytest

from assay.catalog.edges import ANY
from assay.catalog.sql_columns import Table, columns_of_job, columns_of_query

TRIPS, CITIES, VIEW = ("raw", "trips"), ("raw", "cities"), ("raw", "far")
TABLES: dict[Table, tuple[str, ...]] = {TRIPS: ("id", "fare", "city", "tip"), CITIES: ("city", "country")}
VIEWS: dict[Table, str] = {VIEW: "select id, fare as price from raw.trips where city = 'x'"}


@pytest.mark.parametrize(
    ("sql", "trips", "cities"),
    [
        ("select id, fare * 2 as price from raw.trips where tip > 0", {"id": "id", "price": "fare", ANY: "tip"}, {}),
        (
            "with t as (select * from raw.trips) select id, country, fare + tip as paid from t join raw.cities c"
            " on t.city = c.city",
            {"id": "id", "paid": "fare tip", ANY: "city"},
            {"country": "country", ANY: "city"},
        ),
        (
            "select city, sum(fare) as paid from raw.trips group by 1 order by 2",
            {"city": "city", "paid": "fare", ANY: "city"},
            {},
        ),
        ("select id from raw.trips order by tip limit 9", {"id": "id", ANY: "tip"}, {}),
        (
            "select id, fare from raw.trips union all select city, country from raw.cities",
            {"id": "id", "fare": "fare"},
            {"id": "city", "fare": "country"},
        ),
        (
            "select id, (select max(country) from raw.cities c where c.city = t.city) as m from raw.trips t",
            {"id": "id", ANY: "city"},
            {ANY: "city country"},
        ),
        ("insert into x (a, b) select id, fare from raw.trips", {"a": "id", "b": "fare"}, {}),
        ("with t as (select fare as b from raw.trips) insert into x (a) select b from t", {"a": "fare"}, {}),
        ("create table x (a, b) as select id, fare from raw.trips", {"a": "id", "b": "fare"}, {}),
        ("insert into raw.cities select city, fare as country from raw.trips", {"city": "city", "country": "fare"}, {}),
        ("create table x as select price from raw.far", {"price": "fare", ANY: "city"}, {}),
    ],
)
def test_a_query_says_what_its_columns_are_made_of(sql: str, trips: dict[str, str], cities: dict[str, str]) -> None:
    columns = columns_of_query(sql, "duckdb", TABLES, VIEWS)
    texts = {table: {name: " ".join(sorted(names)) for name, names in own.items()} for table, own in columns.items()}
    assert texts == {table: own for table, own in ((TRIPS, trips), (CITIES, cities)) if own}


@pytest.mark.parametrize(
    "sql",
    [
        "select * from raw.unknown",
        "select a, b from raw.unknown, raw.other",
        "insert into x select id, fare from raw.trips",  # by place: nobody knows the names there
        "select id from raw.trips except select city from raw.cities",
        "drop table raw.trips",
        "create table t as select 1 as a; select id from raw.trips",
        "create table x (a, b) as select id from raw.trips",
        "select id from raw.trips where " + " or ".join(["fare = 1"] * 5000),
        "select * from raw.trips t0" + "".join(f" join raw.trips t{n} on t{n}.id = t0.id" for n in range(1, 2000)),
        "select (((",
        "select 1 as x " + " " * 50_000,
        "with recursive r as (select id from raw.trips union all select id + 1 from r) select * from r",
    ],
)
def test_what_cannot_be_resolved_says_nothing(sql: str) -> None:
    assert columns_of_query(sql, "duckdb", TABLES) == {}


WIDE = ("with t0 as (select * from raw.wide)", *(f"t{n} as (select * from t{n - 1})" for n in range(1, 30)))


def test_columns_that_pass_many_steps_by_a_star_take_no_more_than_seconds() -> None:
    """They take less than two; each step looked through all columns for each, which took a minute."""
    wide: dict[Table, tuple[str, ...]] = {("raw", "wide"): tuple(f"c{number}" for number in range(600))}
    started = process_time()
    columns = columns_of_query(f"{', '.join(WIDE)} select * from t29", "", wide)
    assert columns["raw", "wide"]["c599"] == ("c599",)
    assert process_time() - started < 15


# The SQL of a job names its tables as its session sees them; an event names datasets.

INPUTS = {"postgres://db:5432.shop.raw.trips": ("id", "fare", "city"), "raw.users": ()}
FARES = {"mart.fares": ("id", "total")}
OF_TRIPS = {"id": ("id",), "total": ("fare",)}


@pytest.mark.parametrize(
    "sql",
    [
        "select id, fare as total from shop.raw.trips",
        "select id, fare as total from TRIPS",
        "with trips as (select id, fare from raw.trips) select id, fare as total from trips",
        "insert into lake.mart.fares select t.id, t.fare as total from raw.trips t, stage.users u",
        "create table mart.fares as select id, fare as total from raw.trips",
        "select id, fare as total from raw.trips; -- daily",
    ],
)
def test_a_table_of_a_job_is_the_only_input_that_its_name_fits(sql: str) -> None:
    written, columns = columns_of_job(sql, "no such", INPUTS, FARES)
    assert (written, columns) == ("mart.fares", {"postgres://db:5432.shop.raw.trips": OF_TRIPS})


@pytest.mark.parametrize(
    ("sql", "inputs", "outputs"),
    [
        ("select id, fare as total from stage.trips", INPUTS, FARES),
        ("select id, fare as total from trips", {**INPUTS, "stage.trips": ()}, FARES),
        ("select id, fare as total from trips", {"raw.trips": ()}, {"mart.trips": ()}),
        ("select a.id, b.fare as total from raw.trips a, shop.raw.trips b", INPUTS, FARES),
        ("select id, fare as total from raw.trips", INPUTS, {**FARES, "mart.tips": ()}),
        ("create table swap as select id, fare as total from raw.trips", INPUTS, FARES),
        ("insert into mart.fares select fare, id from raw.trips", INPUTS, FARES),
        ("merge into mart.fares using raw.trips t on t.id = fares.id when matched then delete", INPUTS, FARES),
    ],
)
def test_a_table_that_may_be_another_or_none_of_the_inputs_says_nothing(
    sql: str, inputs: dict[str, tuple[str, ...]], outputs: dict[str, tuple[str, ...]]
) -> None:
    assert columns_of_job(sql, "postgres", inputs, outputs)[1] == {}


def test_a_query_may_name_its_tables_with_other_numbers_of_parts() -> None:
    inputs = {"raw.trips": ("id", "city"), "raw.cities": ("city", "country")}
    sql = "select id, country from trips join lake.raw.cities using (city)"
    assert columns_of_job(sql, "", inputs, {"mart.far": ()})[1] == {
        "raw.trips": {"id": ("id",), ANY: ("city",)},
        "raw.cities": {"country": ("country",), ANY: ("city",)},
    }
