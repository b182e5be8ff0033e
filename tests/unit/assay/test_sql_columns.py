"""Which columns upstream each column of a query is made of, and which choose its rows."""

import pytest

from assay.catalog.edges import ANY
from assay.catalog.sql_columns import Table, columns_of_query

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
        "select (((",
        "select 1 as x " + " " * 50_000,
        "with recursive r as (select id from raw.trips union all select id + 1 from r) select * from r",
    ],
)
def test_what_cannot_be_resolved_says_nothing(sql: str) -> None:
    assert columns_of_query(sql, "duckdb", TABLES) == {}
